#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/json/worker_json.h"
#include "models/pool.h"
#include "models/result.h"
#include "models/store/sql/jobs.h"
#include "models/store/sql/session.h"
#include "models/version.h"
#include "models/worker.h"

namespace muster {

struct WorkerPage {
  std::vector<Worker> workers;
  std::string next_cursor;  // empty: that was the last page
};

struct Heartbeat {
  std::string status;
  std::vector<Lease> leases;  // renewed, with the cancels that were asked for
  std::vector<ResourceCommand> commands = {};
};

struct Reaped {
  std::vector<std::string> workers;
  std::int64_t jobs_released = 0;
};

// The worker registry. An ended worker (terminated, lost) is final: every call in its name gets
// kGone, unless it registers anew.
class Workers {
 public:
  explicit Workers(Session& session) : s_(session) {}

  // A known id becomes a new incarnation: active, metadata and task cleared, old claims given back.
  Worker registerWorker(const NewWorker& worker);

  // Whether the heartbeat ends resources, or has some end; it is exclusive then.
  static bool changesResources(const WorkerChange& beat, const ResourceRules& rules);
  // Never revives: kNotFound, kGone.
  Result<Heartbeat> heartbeat(const WorkerId& id, const WorkerChange& change);
  // What it is to do with the resources that it holds.
  std::vector<ResourceCommand> commandsOf(const WorkerId& id);
  // kNotFound, kVersionMismatch, kGone (an ended worker can only be given its own status again).
  Result<Worker> change(const WorkerId& id, const WorkerChange& change, IfVersion if_version = {});
  // Forgets an ended worker: kNotFound, kVersionMismatch, kWorkerActive.
  Status remove(const WorkerId& id, IfVersion if_version = {});

  std::optional<Worker> find(const WorkerId& id);
  // For people: one that does not say what it is doing is shown with the oldest job it holds. So is
  // each of list().
  std::optional<Worker> show(const WorkerId& id);
  WorkerPage list(const WorkerFilter& filter, const std::string& cursor, int limit);

  std::optional<std::string> poolOf(const WorkerId& id);

  // kGone for an ended worker, or one that has registered anew since `registration`;
  // kWorkerUnknown for an unregistered one where the rules are strict.
  Result<Claimer> claimer(const WorkerId& id, std::optional<std::int64_t> registration = {});
  // kGone unless the worker is there, and has not registered anew since.
  Status checkRegistration(const WorkerId& id, std::int64_t registration);

  // The workers silent for longer than the threshold (given, or each one's own), in the pool or in
  // all. `reap` marks them lost and gives back their jobs in all pools; without it only lists them.
  Reaped stale(const std::string& pool, std::optional<Millis> threshold, bool reap, int limit);

  void countByStatus(const PoolId& pool, PoolStats& stats);
  // What the workers of the pool are like that may claim, now or once they have registered.
  std::vector<WorkerTraits> traitsInPool(const PoolId& pool);

  std::int64_t removeEnded(Time before, int limit);

  // The worker's jobs go back to their pools, each keeping its counted try unless the report says
  // otherwise; how many there were. What it holds is lost, after a grace unless it is `proven` that
  // the worker has ended.
  std::int64_t end(const Worker& worker, std::string_view status, std::string_view reason,
                   const FailureReport& report = {}, bool proven = false);

 private:
  WorkerPage readPage(const WorkerFilter& filter, const std::string& cursor, int limit);
  void addHeldJob(Worker& worker);
  static Worker readRow(const SqlRows& row);
  static Error gone(const WorkerId& id, std::string_view status);
  std::optional<Claimer> claimerRow(const WorkerId& id);
  void readForetoldClaimers();

  Session& s_;
};

}  // namespace muster
