#pragma once

#include "app/log/log.h"
#include "app/scaling/checker.h"
#include "models/store/storage.h"
#include "triggers/ports.h"

namespace muster {

// What triggers set in motion in this process.
class ServiceMachines : public Machines {
 public:
  ServiceMachines(Checker& checker, Storage& storage, const Log& log)
      : checker_(checker), storage_(storage), log_(log) {}
  void check(const Run& run) override;
  void reap(const Run& run) override;

 private:
  Checker& checker_;
  Storage& storage_;
  const Log& log_;
};

}  // namespace muster
