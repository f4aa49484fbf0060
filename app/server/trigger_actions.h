#pragma once

#include <mutex>
#include <string>
#include <utility>

#include "app/http/address_guard.h"
#include "triggers/ports.h"

namespace muster {

// Runs `muster check` and `muster reap`, from the binary we are, against our own address.
class MusterProcess : public MachineProcess {
 public:
  std::optional<std::string> run(const std::string& machine, const Machines::Run& run,
                                 const std::stop_token& stop) override;

  // Where the service listens; before that nothing can be run.
  void setUrl(std::string url);

 private:
  std::mutex mutex_;
  std::string url_;  // guarded by mutex_
};

// Calls functions on the network; private addresses only where the guard, or the target, allows it.
class NetworkCall : public FunctionCall {
 public:
  explicit NetworkCall(AddressGuard guard) : guard_(std::move(guard)) {}
  std::optional<Failure> post(const Target& target, const std::string& json,
                              const std::stop_token& stop) override;

 private:
  const AddressGuard guard_;
};

}  // namespace muster
