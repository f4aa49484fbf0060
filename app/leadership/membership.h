#pragma once

#include <atomic>

#include "app/leadership/elector.h"
#include "models/store/storage.h"

namespace muster {

// This node among the others, in the store. Thread-safe.
class Membership : public Ballot {
 public:
  struct Options {
    Node self;             // id, role, url, version and host
    std::string instance;  // names this process for good
    Millis lease = Seconds(30);
    NodeSilence silence;
  };
  Membership(Storage& storage, Options options, const Log& log);

  void beat(Answer<std::optional<Leader>> answer) override;
  void campaign(Answer<Standing> answer) override;
  void renew(const LeaderLease& held, Answer<bool> answer) override;
  void resign(const LeaderLease& held, Answer<void> answer) override;
  void leave(Answer<void> answer) override;

 private:
  template <class T, class Work>
  void write(Work work, Answer<T> answer);

  Storage& storage_;
  const Options options_;
  const Log& log_;
  std::atomic<bool> joined_ = false;
};

}  // namespace muster
