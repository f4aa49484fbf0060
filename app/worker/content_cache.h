#pragma once

#include <string>
#include <tl/expected.hpp>

#include "app/client/content.h"

namespace muster {

// How to wait for another worker that fetches the same content.
struct CacheWait {
  std::function<bool()> stop;
  std::function<void()> pause;
};

// The content at `path` as a file of the folder `cache`, which is named by its sum; fetched unless
// it is there. What an earlier try has fetched of it is gone on with. The error is a refusal of the
// service, `stopped`, or `cannot_write`.
tl::expected<std::string, Refusal> fetchIntoCache(const AskService& ask, const std::string& path,
                                                  const std::string& cache,
                                                  const std::string& sha256, const CacheWait& wait);

// The content at `path` as a new file.
tl::expected<void, Refusal> fetchIntoFile(const AskService& ask, const std::string& path,
                                          const std::string& file, const CacheWait& wait);

}  // namespace muster
