#pragma once

#include <cstdint>
#include <string>

#include "models/result.h"

namespace muster {

class Store;

// The key that signs the tokens of workers; made when it is first asked for.
struct ReadWorkerKey {
  using Reply = std::string;
};
Result<std::string> run(const ReadWorkerKey& op, Store& store);

// The key that signs addresses of content; made when it is first asked for.
struct ReadAddressKey {
  using Reply = std::string;
};
Result<std::string> run(const ReadAddressKey& op, Store& store);

// Makes another key, so that no token of a worker is valid any more.
struct RotateWorkerKey {
  struct Reply {
    std::string key;
    std::int64_t workers = 0;  // that were alive, and have to register again
  };
};
Result<RotateWorkerKey::Reply> run(const RotateWorkerKey& op, Store& store);

}  // namespace muster
