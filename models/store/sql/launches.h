#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/policy/launch_breaker.h"
#include "models/pool.h"
#include "models/result.h"
#include "models/store/sql/session.h"
#include "models/worker.h"

namespace muster {

// A process that is to be started.
struct LaunchOrder {
  WorkerId worker;
  PoolId pool;
  std::string template_name;
  std::string token;  // good for one registration
  std::int64_t registration = 0;
  bool loop = false;
  bool stays = false;  // waits for a job until it is asked to stop
};

// A process that is, or may be, still there.
struct RunningProcess {
  WorkerId worker;
  std::string process_key;  // empty: it was ordered, and nobody knows whether it was started
  std::string status = {};  // of the worker
};

struct WorkerOutput {
  std::string text;
  bool truncated = false;
};

// Workers as processes: ordered in the transaction that decided on them, started after it, judged
// by how they begin, and ended when their process has.
class Launches {
 public:
  explicit Launches(Session& session) : s_(session) {}

  // Of the pool's template; empty when it has none that is configured.
  std::string versionOf(const Pool& pool) const;

  // A worker that is `starting` and may register until the deadline. The pool's template must be
  // configured.
  LaunchOrder order(const Pool& pool, Millis start_timeout);
  void started(const WorkerId& worker, const std::string& process_key);
  // No process came to be; the worker as it was.
  std::optional<Worker> notStarted(const WorkerId& worker, const std::string& why);
  // The process has ended: whatever the worker still held goes back to its pool; the worker as it
  // was before.
  std::optional<Worker> exited(const WorkerId& worker, const ProcessEnd& end);

  // Registers a worker. One that was launched must show its token in time: kWorkerIdTaken, kGone.
  // What it names of capabilities and executors is added to what its template declares.
  Result<Worker> admit(const NewWorker& worker, const std::string& launch_token);

  // The launch did well: its worker took a job.
  void tookAJob(const WorkerId& worker);
  // The same for workers that have lived long enough; how many.
  std::int64_t judgeSurvivors(int limit);
  // Workers that did not register in time are lost; how many.
  std::int64_t giveUpStarting(int limit);
  // Asks every launched worker of this host to stop.
  void drainHost();

  // Every worker that this node launched and whose process has not been seen to end.
  std::vector<RunningProcess> running();
  // Launched on this host by nodes that are no more: nobody else will see them end.
  std::vector<RunningProcess> orphans(int limit);
  // The live workers on this host that gave a pid, with the key of that process.
  std::vector<RunningProcess> localWorkers(int limit);
  void proveDead(const WorkerId& worker);

  LaunchRecord record(const Pool& pool);
  // Forgets failures, so that launching goes on.
  void resume(const Pool& pool);
  WorkerOutput output(const WorkerId& worker);
  void removeOf(const PoolId& pool);

 private:
  struct Record {
    LaunchRecord launches;
    std::vector<std::string> crashed_jobs;
  };
  const std::string& hostOf(const Worker& worker) const;
  Record load(const std::string& pool, const std::string& version, const std::string& host);
  void save(const std::string& pool, const std::string& version, const std::string& host,
            const Record& record);
  void succeeded(const Worker& worker);
  void failed(const Worker& worker, const ProcessEnd& end, const std::string& why);
  bool chargesTheTemplate(const Worker& worker);
  void forgetCrashes(const Worker& worker);

  Session& s_;
};

}  // namespace muster
