#pragma once

#include <mutex>
#include <string>

#include "app/launch/worker_process.h"
#include "triggers/ports.h"

namespace muster {

// Runs `muster check` and `muster reap`, from the binary we are, against our own address.
class MusterProcess : public MachineProcess {
 public:
  std::optional<std::string> run(const std::string& machine, const Machines::Run& run,
                                 const std::stop_token& stop) override;

  // Where the service listens; before that nothing can be run.
  void setAddress(ServiceAddress address);

 private:
  std::mutex mutex_;
  ServiceAddress address_;  // guarded by mutex_
};

// Calls functions on the network.
class NetworkCall : public FunctionCall {
 public:
  std::optional<Failure> post(const Target& target, const std::string& json,
                              const std::stop_token& stop) override;
};

}  // namespace muster
