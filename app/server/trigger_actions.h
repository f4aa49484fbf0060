#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "app/http/address_guard.h"
#include "app/launch/worker_process.h"
#include "triggers/ports.h"

namespace muster {

// Runs `muster check` and `muster reap`, from the binary we are, against our own address.
class MusterProcess : public MachineProcess {
 public:
  // `passed` names the variables of our environment that the process gets.
  explicit MusterProcess(const std::vector<std::string>& passed) : passed_(passed) {}

  std::optional<std::string> run(const std::string& machine, const Machines::Run& run,
                                 const std::stop_token& stop) override;

  // Where the service listens; before that nothing can be run.
  void setAddress(ServiceAddress address);

 private:
  const std::vector<std::string> passed_;
  std::mutex mutex_;
  ServiceAddress address_;  // guarded by mutex_
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
