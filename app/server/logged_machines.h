#pragma once

#include "app/log/log.h"
#include "triggers/ports.h"

namespace muster {

// Stands in for the machines: says in the log what was asked of them.
class LoggedMachines : public Machines {
 public:
  explicit LoggedMachines(const Log& log) : log_(log) {}
  void check(const Run& run) override {
    log_.debug("check requested", {{"trigger", run.trigger}, {"pool", run.pool.str()}});
  }
  void reap(const Run& run, std::optional<Millis>) override {
    log_.debug("reap requested", {{"trigger", run.trigger}, {"pool", run.pool.str()}});
  }

 private:
  const Log& log_;
};

}  // namespace muster
