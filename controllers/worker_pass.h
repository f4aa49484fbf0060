#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

// What the token of a worker says: who it is for, since which registration, and in which pool.
struct WorkerPass {
  std::string worker;
  std::string pool;  // empty: any
  std::int64_t registration = 0;

  bool operator==(const WorkerPass&) const = default;
};

// mw.WORKER/POOL/REGISTRATION/MAC, signed with the key.
std::string workerToken(std::string_view key, const WorkerPass& pass);
// Nothing if it is no such token, or another key has signed it.
std::optional<WorkerPass> readWorkerToken(std::string_view key, std::string_view token);

}  // namespace muster
