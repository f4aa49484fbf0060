#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "models/job.h"

namespace muster::test {

// What the jobs of one pool must look like, told in the simplest way: all jobs in a list, every
// rule by looking through all of them. Retries wait 400 ms, doubled each time; leases last 60 s.
class JobModel {
 public:
  struct Entry {
    std::string id;
    JobStatus status = JobStatus::kPending;
    int priority = 0;
    int attempts = 0;
    int max_retries = 0;
    std::string tenant;
    std::string unique_key;
    bool needs_gpu = false;
    std::string host;  // that it is pinned to; empty: none
    Time available_at;
    std::optional<Time> expires_at;
    std::optional<Time> finished_at;
    std::string worker;
    std::string token;
    Time lease_until;
    bool cancel_requested = false;
  };

  static constexpr int kTenantLimit = 2;

  std::vector<Entry> jobs;           // in the order of creation
  std::vector<std::string> events;   // "type id", in order
  std::set<std::string> tenants;     // that had a job of late
  std::map<std::string, int> turns;  // of tenants and of '', when they were last served
  int last_turn = 0;

  Entry* find(const std::string& id);
  Entry* living(const std::string& unique_key);
  void pushed(Entry entry);

  // Ids in the order of the claim; tokens are noted by the caller.
  std::vector<std::string> claim(const std::string& worker, bool has_gpu, const std::string& host,
                                 int max, Time now);
  bool claimable(const Entry& job, bool has_gpu, const std::string& host, Time now) const;
  void take(Entry& job, const std::string& worker, Time now);

  void complete(Entry& job, Time now);
  void fail(Entry& job, bool retryable, bool no_penalty, Time now);
  void release(Entry& job, Time now);
  void lose(Entry& job, Time now);
  void cancel(Entry& job, Time now);
  void retry(Entry& job, Time now);
  int retryPoisoned(Time now);

  int expirePending(Time now);
  int expireLeases(Time now);
  int releaseByWorker(const std::string& worker, Time now);
  int removeIf(const std::function<bool(const Entry&)>& unwanted);

  // Tenants of which nothing is left lose their turn.
  void forgetTenants();

  int count(JobStatus status) const;
  int claimedBy(const std::string& tenant) const;
  int runnable(Time now) const;
  int waitingForGpu(Time now) const;

 private:
  void note(std::string_view type, const Entry& job);
  void endTry(Entry& job, JobStatus status, Time now);
  static Millis backoff(int attempts);
};

}  // namespace muster::test
