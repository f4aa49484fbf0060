#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/clock.h"
#include "models/store/migrator.h"

namespace muster {

// What a look at a store found. Nothing in it is changed.
struct StoreFindings {
  std::string store;     // what is there, for a person
  std::string hint;      // the service can begin, but this is to be known
  std::string fault;     // not empty: it cannot be used, and why; what could not be seen is absent
  std::string remedy;    // what to do about the fault
  std::string exposure;  // not empty: what of it is open to other users of the machine
  std::string exposure_remedy;  // what to do about that
  std::optional<tl::expected<MigrationPlan, std::string>> migrations;
  std::optional<std::chrono::microseconds> flush;  // how long a write takes to be durable
  // What ended jobs of flows have left to do.
  struct Unsettled {
    std::int64_t count = 0;
    std::optional<Millis> oldest;  // for how long, where that is known
  };
  std::optional<Unsettled> unsettled;
  // The bytes of resources, if somebody asked for them.
  struct Resources {
    std::int64_t stored = 0;                // resources with bytes in the folder
    std::int64_t missing = 0;               // of these, without a file
    std::int64_t damaged = 0;               // of these, with a file of another length
    std::string example = {};               // the id of one without its file
    std::int64_t elsewhere = 0;             // resources with bytes in other folders
    std::int64_t nowhere = 0;               // of these, in folders that no service has had
    std::string other_place = {};           // the id of one such folder
    std::int64_t blob_bytes = 0;            // of all files in the folder
    std::int64_t uploads = 0;               // that are not complete
    std::int64_t silent_uploads = 0;        // of these, for longer than they may be
    std::optional<Millis> silent_for = {};  // the longest of all
  };
  std::optional<Resources> resources;
  // Of PostgreSQL only.
  std::optional<Millis> clock_ahead;    // this machine's clock before the server's
  std::optional<bool> shared_sessions;  // a pooler gives each transaction another session
  bool pgbouncer_on = false;            // the address says so
};

// The folder of blobs, for a look at what belongs into it.
struct BlobFolderView {
  std::string place_id;  // empty: there is no folder yet
  // Of the file with this sum; nothing if there is none.
  std::function<std::optional<std::int64_t>(const std::string& sha256)> length_of;
  Millis upload_ttl{};
};

// A database file, or ":memory:". A service may be at work with it. Without a folder nothing is
// said of resources.
StoreFindings probeSqlite(const std::string& path, const Clock& clock,
                          const BlobFolderView* folder = nullptr);
StoreFindings probePostgres(const std::string& url, const Clock& clock,
                            const BlobFolderView* folder = nullptr);

// The median of up to 20 runs, fewer when they take long.
inline std::chrono::microseconds medianDuration(const Clock& clock,
                                                const std::function<void()>& run) {
  constexpr std::size_t kRuns = 20;
  constexpr std::chrono::seconds kEnough{5};
  std::vector<std::chrono::nanoseconds> took;
  const auto start = clock.monotonic();
  while (took.size() < kRuns && (took.empty() || clock.monotonic() - start < kEnough)) {
    const auto begin = clock.monotonic();
    run();
    took.push_back(clock.monotonic() - begin);
  }
  const auto middle = took.begin() + static_cast<std::ptrdiff_t>(took.size() / 2);
  std::nth_element(took.begin(), middle, took.end());
  return std::chrono::round<std::chrono::microseconds>(*middle);
}

// What connections that were open all the while saw, in order: each time the number of the
// connection and the session it had. Whoever has a session of its own always has the same one, and
// has it alone.
using SeenSessions = std::vector<std::pair<int, std::string>>;
inline bool areShared(const SeenSessions& seen) {
  return std::any_of(seen.begin(), seen.end(), [&seen](const auto& one) {
    return std::any_of(seen.begin(), seen.end(), [&one](const auto& other) {
      return (one.first == other.first) != (one.second == other.second);
    });
  });
}

}  // namespace muster
