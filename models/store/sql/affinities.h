#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/affinity.h"
#include "models/store/sql/session.h"

namespace muster {

struct AffinityRow {
  std::int64_t seq = 0;
  Affinity affinity;

  bool isBound() const { return affinity.state != AffinityState::kUnbound; }
};

// The columns of an affinity in the order Affinities::read() takes them.
#define MUSTER_AFFINITY_COLUMNS                                                        \
  "a.affinity_seq, a.tenant, a.affinity_key, a.state, a.holder, a.worker_id, a.host, " \
  "a.acquired_at, a.expires_at, a.ttl_ms, a.failures, a.metadata, a.version"
constexpr int kAffinityColumns = 13;

// Keys of jobs, and who has them. A row is made with the first job of a key, and is unbound until a
// claim or a request binds it. Whoever changes what a key is bound to holds its row; so does who
// pushes a job with the key, so that none is left behind in the lane of an earlier holder.
class Affinities {
 public:
  explicit Affinities(Session& session) : s_(session) {}

  static AffinityRow read(const SqlRows& row, int first = 0);
  // Held until the transaction ends.
  std::optional<AffinityRow> hold(const std::string& tenant, const std::string& key);
  std::optional<AffinityRow> holdAt(std::int64_t seq);
  // The same; made, and unbound, if there is none.
  AffinityRow holdOrMake(const std::string& tenant, const std::string& key);
  std::optional<AffinityRow> find(const std::string& tenant, const std::string& key);

  struct Page {
    std::vector<AffinityRow> rows;
    bool more = false;
  };
  struct Filter {
    std::optional<std::string> tenant = {};
    std::string holder = {};
    std::optional<AffinityState> state = {};
  };
  // Bound ones, in the order of their making.
  Page list(const Filter& filter, std::int64_t after, int limit);
  // Sets inflight_count and waiting_count.
  void countJobs(AffinityRow& row);

  // Gives the key to this holder. Jobs that wait for it go to the lanes of the holder, but for one
  // that is being claimed.
  void bind(AffinityRow& row, const Holder& holder, const std::string& worker,
            const std::string& host, std::int64_t claimed = 0);
  // Its time to live begins anew.
  void touch(AffinityRow& row);
  void saveDetails(AffinityRow& row);  // ttl and metadata
  // Nobody has it any more. Jobs that waited for the holder go back to open lanes.
  void release(AffinityRow& row, std::string_view reason);
  void setState(const std::string& holder, AffinityState from, AffinityState to);
  // At most so many that this holder has; how many.
  int releaseOf(const std::string& holder, std::string_view reason, int limit);
  bool hasAny(const std::string& holder);

  // A try of a job with a key failed: too many in a row on the holder release it.
  void failedTry(std::int64_t job, const std::string& worker);
  // Past their time to live, and without jobs: released, or forgotten if they were unbound.
  int expire(int limit);

 private:
  void emit(std::string_view type, const AffinityRow& row, std::string_view reason = {});
  bool hasLivingJobs(std::int64_t seq);

  Session& s_;
};

}  // namespace muster
