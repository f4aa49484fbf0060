#pragma once

#include <atomic>
#include <memory>

#include "app/blobs/blob_place.h"
#include "app/blobs/part_writer.h"
#include "app/config/settings.h"
#include "app/launch/process_launcher.h"
#include "app/leadership/cluster_node.h"
#include "app/log/log.h"
#include "app/log/system_clock.h"
#include "app/metrics/load_record.h"
#include "app/metrics/metrics.h"
#include "app/scaling/checker.h"
#include "app/scaling/simulator.h"
#include "app/server/service_machines.h"
#include "app/server/trigger_actions.h"
#include "app/upkeep/duties.h"
#include "app/upkeep/flow_settler.h"
#include "app/waits/wait_list.h"
#include "app/webhooks/webhook_outbox.h"
#include "app/worker/folder_tending.h"
#include "controllers/access.h"
#include "controllers/affinity_controller.h"
#include "controllers/artifact_controller.h"
#include "controllers/buffer_budget.h"
#include "controllers/check_controller.h"
#include "controllers/cluster_controller.h"
#include "controllers/content_controller.h"
#include "controllers/event_controller.h"
#include "controllers/flow_controller.h"
#include "controllers/gateway.h"
#include "controllers/head_check.h"
#include "controllers/hook_controller.h"
#include "controllers/job_controller.h"
#include "controllers/lease_controller.h"
#include "controllers/pool_controller.h"
#include "controllers/resource_controller.h"
#include "controllers/router.h"
#include "controllers/service_controller.h"
#include "controllers/simulation_controller.h"
#include "controllers/token_controller.h"
#include "controllers/trigger_controller.h"
#include "controllers/upkeep_controller.h"
#include "controllers/uploads.h"
#include "controllers/webhook_controller.h"
#include "controllers/worker_controller.h"
#include "models/store/storage.h"
#include "triggers/dispatch.h"
#include "triggers/trigger_registry.h"

namespace muster {

// All parts of a running service, wired together. The only place that knows them all.
class Service {
 public:
  // The error is for a person.
  static tl::expected<std::unique_ptr<Service>, std::string> open(const Settings& settings,
                                                                  const Log& log,
                                                                  const Clock& clock);

  Gateway& gateway() { return *gateway_; }
  const Router& router() const { return router_; }
  const HeadCheck& headCheck() const { return *head_check_; }
  const std::shared_ptr<BufferBudget>& buffers() const { return buffers_; }

  // The service answers at this address now, so workers can be launched; those of an earlier run
  // are recognised again.
  // Others reach it on `port`.
  void begin(ServiceAddress own, int port);

  // Where launched workers write.
  std::string workerFolder() const;

  // Runs the periodic duties once, in the background, as far as they are this node's.
  void tick();

  // Writes what this node's jobs did since the last time, in the background.
  void writeLoad();

  // Fires the triggers whose time has come.
  void fireDueTriggers();

  // Takes over tokens and templates; the other settings stay as they were at the start. The error
  // says why nothing was changed.
  std::optional<std::string> reload(const Settings& settings);

  // Launches nobody any more and asks the workers of this host to finish. How long the last of them
  // may take.
  Millis retireWorkers();
  // Whether a launched worker of this host is still there.
  bool hasWorkers() const { return !retired_ || launcher_->running() > 0; }

  // Leaves leading to others and ends all waiting, so that drain() can come to an end.
  void endWaits();
  void close();

 private:
  Service(const Settings& settings, const Log& log, const Clock& clock);
  std::optional<std::string> openPlace();
  std::optional<std::string> openStore();
  std::optional<std::string> applyConfiguredPools();
  std::optional<std::string> applyConfiguredTriggers();
  void wireTriggers();
  void wireWebhooks();
  void decide(const PoolId& pool, const std::string& trigger,
              const std::function<void(const std::string&)>& then);
  void wire(std::string worker_key, const std::string& address_key);
  void wireResources(const std::string& address_key);
  void wireLaunching();
  using LaunchUnit = std::function<std::optional<Worker>(Store&)>;
  void noteLaunch(LaunchUnit unit, std::function<void(const Worker&)> then = {});
  void launch(const LaunchOrder& order);
  void adopt(const RunningProcess& process);
  void onCommit(std::span<const Event> events);
  void onForeignCommit(std::span<const Event> events);
  void wake(std::span<const Event> events);
  void tendWorkers(const Event& event);
  void tendHost();
  void announcePlace();
  void tendPlace();
  void tendHostFolder();
  tl::expected<FolderAnswer, Refusal> syncHere(const FolderPage& page);
  void tendStrays(std::vector<std::string> blobs, std::vector<std::string> uploads);
  void runDutiesAsLeader();
  void sampleLoad(const LeaderLease& leader, Store& store);
  void refreshTriggers();
  void readWorkerKey();
  static Retention retentionOf(const Settings& settings) {
    return {settings.retention, settings.audit_retention};
  }

  const Settings& settings_;
  const Log& log_;
  const Clock& clock_;
  const std::string host_;
  ClusterNode node_;
  const bool checks_itself_;  // false: only when it is asked to
  using Templates = std::map<std::string, WorkerTemplate>;
  std::atomic<std::shared_ptr<const Templates>> templates_;
  LaunchTemplates launch_templates_;  // the same, as the store knows them
  ServiceAddress address_;            // set by begin(), before anything is launched
  WaitList pool_waits_;
  WaitList job_waits_;
  WaitList flow_waits_;
  WaitList event_waits_;
  Router router_;
  std::unique_ptr<Metrics> metrics_;
  LoadRecord load_;
  std::unique_ptr<Access> access_;
  std::unique_ptr<RateLimits> limits_;
  std::unique_ptr<HeadCheck> head_check_;
  std::shared_ptr<BufferBudget> buffers_;
  std::unique_ptr<Gateway> gateway_;
  std::unique_ptr<JobController> jobs_;
  std::unique_ptr<LeaseController> leases_;
  std::unique_ptr<FlowController> flows_;
  std::unique_ptr<BlobPlace> place_;
  std::unique_ptr<PartWriter> part_writer_;
  std::unique_ptr<Uploads> uploads_;
  std::unique_ptr<ResourceController> resources_;
  std::unique_ptr<ContentController> content_;
  std::unique_ptr<ArtifactController> artifacts_;
  std::unique_ptr<PoolController> pools_;
  std::unique_ptr<WorkerController> workers_;
  std::unique_ptr<EventController> events_;
  std::unique_ptr<UpkeepController> upkeep_;
  std::unique_ptr<ServiceController> service_;
  std::unique_ptr<ClusterController> cluster_;
  std::unique_ptr<TokenController> tokens_;
  std::unique_ptr<AffinityController> affinities_;
  std::unique_ptr<CheckController> checks_;
  std::unique_ptr<Simulator> simulator_;
  std::unique_ptr<SimulationController> simulations_;
  MusterProcess process_;
  NetworkCall call_;
  TriggerRegistry registry_;
  std::unique_ptr<SubprocessTrigger> processes_;
  std::unique_ptr<LambdaTrigger> functions_;
  std::unique_ptr<Dispatch> dispatch_;
  std::unique_ptr<TriggerController> triggers_;
  std::unique_ptr<HookController> hooks_;
  std::atomic<bool> ticking_ = false;
  std::atomic<bool> tending_ = false;
  std::atomic<bool> tending_place_ = false;
  std::chrono::nanoseconds tending_since_{};  // guarded by tending_place_
  Time place_settled_;  // of a step of it whose commit is on the disk; guarded by tending_place_
  std::atomic<bool> tending_folder_ = false;
  std::atomic<int> port_ = 0;             // set by begin()
  std::chrono::nanoseconds announced_{};  // when the place was last announced; the main loop's
  std::chrono::nanoseconds tended_{};     // when it was last tended; likewise
  std::atomic<bool> writing_load_ = false;
  std::atomic<Time> sampled_{};  // the step in which jobs and workers were last counted from here
  std::mutex fingerprint_mutex_;
  std::string trigger_fingerprint_;  // guarded by fingerprint_mutex_
  std::atomic<bool> begun_ = false;
  std::atomic<bool> retired_ = false;  // the workers know that they are to finish
  int ticks_ = 0;                      // the main loop's
  std::unique_ptr<ProcessLauncher> launcher_;
  std::unique_ptr<Checker> checker_;
  std::unique_ptr<ServiceMachines> machines_;
  std::unique_ptr<FlowSettler> settler_;
  std::unique_ptr<WebhookOutbox> outbox_;
  std::unique_ptr<WebhookController> webhooks_;
  std::unique_ptr<Storage> storage_;  // last: its threads call into the rest
};

}  // namespace muster
