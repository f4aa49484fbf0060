#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/host.h"
#include "models/operations/resources.h"
#include "models/result.h"

namespace muster {

class Store;

// By name. Hosts that hold something or told of their folder.
struct ListHosts {
  std::string cursor = {};
  int limit = 50;
  struct Reply {
    std::vector<Host> hosts;
    std::string next_cursor;  // empty: that was the last page
  };
};
Result<ListHosts::Reply> run(const ListHosts& op, Store& store);

// kNotFound.
struct FindHost {
  std::string host;
  using Reply = Host;
};
Result<Host> run(const FindHost& op, Store& store);

// It will not come back: what it holds is lost, in steps. Exclusive. kNotFound.
struct ForgetHost {
  std::string host;
};
Status run(const ForgetHost& op, Store& store);

// What is in the folder of a host, page by page, and what that host is to do about it. Exclusive.
// kForbidden (a worker tells of its own host only), kHostConflict (the host has another folder, and
// is up).
struct SyncHost {
  struct File {
    std::string uid;
    std::int64_t size_bytes = 0;
    std::string sha256;  // empty: not known
  };
  std::string host;
  std::string folder_id, data_dir;
  std::vector<File> resources = {};
  bool complete = false;  // the last page
  std::int64_t disk_bytes_in_use = 0, disk_bytes_free = 0;
  std::optional<std::int64_t> disk_limit_bytes = {};  // of the host; the lower one counts
  ResourceCaller by = {};
  struct Reply {
    std::vector<std::string> evict;    // uids, to be deleted now
    std::vector<std::string> unknown;  // to be deleted when they are old
  };
};
Result<SyncHost::Reply> run(const SyncHost& op, Store& store);

// A duty of the leader: what hosts and workers hold that are silent is stale, and lost after the
// grace, with the jobs that wait for it (ExpireResources ends those that are left). A step of it;
// exclusive.
struct TendHolders {
  struct Reply {
    std::int64_t changed = 0;
    bool more = false;
  };
};
Result<TendHolders::Reply> run(const TendHolders& op, Store& store);

// Hosts that nobody has heard of since then, and that hold nothing, are removed; how many.
struct RemoveOldHosts {
  Time before;
  int limit = 500;
  using Reply = std::int64_t;
};
Result<std::int64_t> run(const RemoveOldHosts& op, Store& store);

// For the metrics: what the live workers of each pool said last.
struct SumWorkerResources {
  struct Sum {
    std::string pool;
    std::int64_t disk_bytes = 0, mem_bytes = 0;
  };
  using Reply = std::vector<Sum>;
};
Result<std::vector<SumWorkerResources::Sum>> run(const SumWorkerResources& op, Store& store);

}  // namespace muster
