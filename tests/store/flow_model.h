#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "models/job.h"
#include "models/policy/verdict.h"

namespace muster::test {

// What one flow must look like when all is settled, told in the simplest way: verdicts, levels and
// edges are worked out anew each time, by the tables of the contract. Jobs go by their places.
class FlowModel {
 public:
  struct Edge {
    int from;
    EdgeCondition when;
  };
  struct Member {
    std::string id, name;
    int parent = -1;  // top level
    std::vector<Edge> edges = {};
    bool may_fail = false;
    std::string pool = "p";
    std::optional<Time> expires_at = {};

    JobStatus status = JobStatus::kBlocked;
    std::set<std::string> reasons = {};       // of which it has one, when it is cancelled
    std::optional<Verdict> consequence = {};  // of another job's end
    bool cancel_requested = false;
    bool gone = false;
    std::string token = {};
  };

  std::vector<Member> jobs;  // in the order of creation
  bool closed = true;
  bool fail_fast = false;
  std::optional<Time> deadline;
  std::string cause;  // cancel, deadline, fail_fast; empty: none
  std::string text;   // of the cancel call
  std::string status = "running", reason;
  int round = 1;
  std::vector<std::string> callbacks;  // "ended of failed in 1", in order

  bool ended() const { return status != "running" && status != "cancelling"; }
  std::optional<Verdict> verdict(int job) const;
  // What is written on a job that was not started, or stopped when asked to.
  std::string reasonOfCancel() const;
  int remaining(int job) const;

  void poison(int job);
  int loseAll();       // every claimed job, all at once; how many
  void stop(int job);  // ends it as cancelled
  void cancelJob(int job);
  void remove(int job);  // with its pool
  void cancelAll(const std::string& why);
  // The places of the jobs that are put back.
  std::vector<int> retry(const std::optional<std::vector<int>>& chosen);

  // Tells all verdicts. Where two edges of a job can be told in any order, and say different
  // things, `seen` says what came first: the reason on the job, as it is in the store. What is
  // impossible about that is in the answer.
  std::vector<std::string> settle(const std::function<std::string(int)>& seen);

 private:
  static bool isOver(const Member& job) { return isFinished(job.status); }
  // Of the jobs with this parent.
  std::optional<Verdict> levelOf(int parent) const;
  // The reasons for which edges of the job cannot be met; `waits`: one has no verdict yet.
  std::set<std::string> refusals(const Member& job, bool* waits) const;
  void end();
};

}  // namespace muster::test
