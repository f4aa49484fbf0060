#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models/job.h"
#include "models/policy/pins.h"
#include "models/pool.h"
#include "models/result.h"
#include "models/store/sql/session.h"
#include "models/version.h"

namespace muster {

struct Lease {
  JobId job;
  Time expires_at;
  bool cancel_requested;
};

struct JobFilter {
  std::vector<JobStatus> statuses;  // empty: all
  std::optional<std::string> tenant;
  std::optional<Time> created_after;
};

// Which jobs are retried or purged together.
struct BulkFilter {
  std::vector<JobStatus> statuses = {};
  std::optional<std::string> tenant = {};
  std::optional<std::string> error_class = {};     // of the last try
  std::optional<std::string> error_contains = {};  // this text
  std::optional<Time> created_after = {}, created_before = {};
  std::optional<Time> failed_after = {};  // or were cancelled
  std::optional<Time> ended_before = {};

  bool matches(const Job& job, std::string_view last_class) const;
};

// Where to go on, in the order of tenants and placements, statuses and creation.
struct BulkPlace {
  std::int64_t lane = 0;
  std::size_t status = 0;  // of the filter's
  std::int64_t seq = 0;
};

struct BulkStep {
  std::int64_t count = 0;              // jobs that were changed
  std::optional<BulkPlace> next = {};  // absent: there are no more
};

struct JobPage {
  std::vector<Job> jobs;
  std::string next_cursor;  // empty: that was the last page
};

// The jobs of every pool. Each method is one whole state change with its event and counters; an
// error means nothing was changed, but for the event job.late_result_dropped.
class Jobs {
 public:
  explicit Jobs(Session& session) : s_(session) {}

  struct Pushed {
    Job job;
    bool created;          // false: a living job has the same unique_key
    std::int64_t seq = 0;  // of one that was created
  };
  // The caller has checked the job's times (expiresBeforeItBegins). `links` is a sum of job_link;
  // `refs` say who has what the job refers to. One that nobody could run (Pins::check) ends at
  // once.
  Pushed push(const Pool& pool, const NewJob& job, std::int64_t links = 0,
              std::vector<PinRef> refs = {});
  // How many bytes of data of jobs that have the unique_key of one of these already would be shown
  // if all of them were pushed: living ones, and earlier ones among these.
  std::size_t twinBytes(const PoolId& pool, const std::vector<NewJob>& jobs);

  // Takes up to `max` jobs for the worker: highest priority first, then of the tenant that was
  // served longest ago (those without a tenant count as one more), then in the order of creation;
  // passing over what is delayed, paused, not for this worker, or over its tenant's limit. Stops
  // before the job with which their payload would be more than the rules let an answer have.
  // `only_pinned`: it has too much already, and gets nothing but what waits for it alone.
  std::vector<Job> claim(const Pool& pool, const std::string& worker, const WorkerTraits& traits,
                         int max, bool only_pinned = false);
  // Takes this one; kNotFound, or kNotClaimable with the reason.
  Result<Job> claimOne(const Pool& pool, const std::string& worker, const WorkerTraits& traits,
                       const JobId& id);
  // When the pool's next delayed job comes due, if there is one.
  std::optional<Time> nextDue(const PoolId& pool);

  // Only the holder of the lease can end a job: kLeaseLost, kNotClaimed, kAlreadyFinished. The same
  // report again gets the same answer. `with_data` false leaves out what the job was given.
  Result<Job> complete(const JobId& id, const Reporter& by,
                       const std::optional<std::string>& result, const std::string& artifacts,
                       bool with_data = true);
  Result<Job> fail(const JobId& id, const Reporter& by, const FailureReport& report,
                   bool with_data = true);
  Result<Job> release(const JobId& id, const Reporter& by, bool with_data = true);
  Result<Job> renew(const JobId& id, const std::string& token, std::optional<Millis> extend);
  Result<Job> progress(const JobId& id, const std::string& token, double progress,
                       const std::string& message);

  // A pending job ends at once; the holder of a claimed one is asked to stop. kAlreadyFinished.
  Result<Job> cancel(const JobId& id, const std::string& reason);
  // Poisoned or cancelled → pending with all tries before it; kNotRetryable. In a flow also what is
  // downstream of it (FlowRetrying).
  Result<Job> retry(const JobId& id);
  // kJobActive, kJobInFlow.
  Status remove(const JobId& id, IfVersion if_version = {});

  std::optional<Job> find(const JobId& id);
  std::optional<std::string> poolOf(const JobId& id);
  // The last ones, oldest first: fewer when their texts grow large.
  std::vector<Attempt> attempts(const JobId& id);
  // Newest first. A page ends early when its payloads grow large.
  JobPage list(const PoolId& pool, const JobFilter& filter, const std::string& cursor, int limit);

  // Poisoned or cancelled jobs become pending, but for those whose unique_key a living job has.
  // Looks at `looks` jobs and changes up to `most` of them.
  BulkStep retryMany(const PoolId& pool, const BulkFilter& filter, const BulkPlace& from, int looks,
                     std::int64_t most);
  // Removes jobs, whatever their status; those of flows only `with_flow_jobs`.
  BulkStep purgeMany(const PoolId& pool, const BulkFilter& filter, const BulkPlace& from, int looks,
                     std::int64_t most, bool with_flow_jobs = false);

  // All leases of the worker that have not run out yet.
  std::vector<Lease> renewByWorker(const std::string& worker);
  std::vector<Lease> leasesOf(const std::string& worker);
  // Gives back all its jobs; each keeps its counted try, unless the report says otherwise. `reason`
  // is the outcome in the attempts.
  std::int64_t releaseByWorker(const std::string& worker, std::string_view reason,
                               const FailureReport& report = {});

  // Duties of the tick, each for up to `limit` jobs; how many there were.
  std::int64_t promoteDue(int limit);
  // Without those that are blocked where others may be at work on what these wait for.
  std::int64_t expirePending(int limit, bool with_blocked = true);
  std::int64_t expireLeases(int limit);
  std::int64_t removeFinished(Time before, int limit);

  // The rest is for what else of the store deals with jobs.
  using Row = JobRow;
  static Row readRow(const SqlRows& row, bool with_data);
  static std::vector<Row> readAll(SqlCursor rows);
  std::optional<Row> load(const JobId& id, bool with_data);
  // The same, and nobody else changes it until the transaction ends.
  std::optional<Row> hold(const JobId& id, bool with_data);
  static bool holds(const Row& row, const Reporter& by);
  Error refuse(const Row& row, const Reporter& by);
  // The job that lives with this key; one that has expired is ended here.
  std::optional<Row> liveTwin(const PoolId& pool, const std::string& unique_key);
  // As it is pushed; it is not in the store yet.
  Row newRow(const Pool& pool, const NewJob& job, std::vector<PinRef> refs = {});
  // Sets Job::flow where the job has to do with one.
  void attachFlow(Row& row);
  // The same for the worker that has claimed them.
  void attachClaimed(std::span<Row> rows);
  // Writes new rows, in few steps where the database is far away, with their events and counters,
  // and gives them their numbers.
  void insert(std::span<Row> rows);
  void removeRow(const Row& row);
  // A job that has not started can never run.
  void poisonWaiting(Row& row, std::string_view reason);
  // `due` is when the try that ended could begin; not given: the job says it.
  void emit(std::string_view type, const Row& row, std::string details = {},
            std::optional<Time> due = {});

 private:
  static constexpr int kDataColumn = 26;  // of MUSTER_SELECT_JOB_WITH_DATA
  void insertTogether(std::span<Row> rows);
  // The same for a report: nothing if the job is not in the reporter's pool.
  std::optional<Row> holdFor(const JobId& id, const Reporter& by, bool with_data);
  std::vector<std::int64_t> newest(const std::vector<std::int64_t>& lanes,
                                   const std::vector<JobStatus>& statuses, std::int64_t below,
                                   std::int64_t from, std::size_t count);
  std::vector<std::int64_t> lanesOf(const PoolId& pool, const std::optional<std::string>& tenant);

  // By the tenant's workers, as nobody else can change it until the transaction ends.
  std::int64_t claimedBy(const PoolId& pool, const std::string& tenant);
  // When the first delayed job of any pool comes due, and when the first one expires.
  std::pair<std::optional<Time>, std::optional<Time>> firstDue();
  // How many of the jobs that have a share per node run on the node.
  std::int64_t runningOnNode(const PoolId& pool, const std::string& node);
  // From a pool whose jobs are not all alike to the claim.
  std::vector<Job> claimInTurn(const Pool& pool, const std::string& worker,
                               const WorkerTraits& traits, int max,
                               const std::vector<std::string>& pins, bool only_pinned);
  PoolTurns& turnsOf(const Pool& pool);
  // The same for a worker that is these holders.
  PoolTurns& turnsFor(const Pool& pool, const std::vector<std::string>& pins,
                      bool only_pinned = false);
  struct Servable;
  std::size_t readHeads(const Pool& pool, PoolTurns& turns, Servable& may_serve,
                        const TurnQueue::Place& place, std::int64_t jobs, std::size_t bytes);
  // On a database with other writers: the job at the head of the lane, found and taken in one step,
  // for this worker or for all that are foretold to ask.
  std::optional<Row> takeHead(const Lane& lane, const Pool& pool, const std::string& worker);
  void takeHeads(const Lane& lane, const Pool& pool, const std::string& first);
  bool mayClaim(const std::string& worker) const;
  std::vector<std::string> pinsOf(const PoolId& pool, const std::string& worker);
  // The same for the end: the job as its holder left it.
  std::optional<Row> completeHeld(const JobId& id, const Reporter& by, bool with_data);
  void completeForetold();
  // Whether it stands in a lane of the worker, or of its host.
  bool isPinnedTo(const Row& row, const std::string& worker, const std::string& node);
  void take(Row& row, const Pool& pool, const std::string& worker, const std::string& token);
  // The job's tenant has had its turn.
  void serve(const Row& row);
  // The job is done, and this is what was reported with it, where more is shown.
  bool wasHanded(std::int64_t job, const std::string& artifacts);
  bool repeatsEnding(const Row& row, const Reporter& by, const std::string& outcome,
                     const std::string& error);

  // Looks at the next jobs; `act` says whether it changed one that matches.
  template <class Act>
  BulkStep walk(const PoolId& pool, const BulkFilter& filter, const BulkPlace& from, int looks,
                std::int64_t most, Act act);

  // The pool's, and what the job overrides.
  RetryPolicy retryPolicyOf(const Row& row, const PoolSettings& settings, bool with_data);

  // Ends the running try without success.
  struct Ending {
    JobStatus status;
    int attempts;
    Time available_at;
    std::string_view outcome;  // in the attempts
    std::string_view event;
    std::string_view reason;  // on the job
    bool crashed = false;
    std::string error_class = {};  // empty: it did not fail by itself
    bool excused = false;          // by the pool's circuit
  };
  static std::string endingDetails(const Job& job, const Ending& ending,
                                   const FailureReport& report);
  void endTry(Row& row, const Ending& ending, const FailureReport& report);
  void loseTry(Row& row, std::string_view reason, bool crashed, const FailureReport& report = {});
  void leaveClaimed(const Row& row, JobStatus to);
  std::optional<JobId> livingTwin(const Job& job);
  Result<Job> retryInFlow(Row& row);
  void cancelWaiting(Row& row, std::string_view event, const std::string& reason);
  // The reason of a claimed job that was to stop, and did.
  static std::string stoppedReason(const Row& row);
  void retryRow(Row& row);

  Session& s_;
};

}  // namespace muster
