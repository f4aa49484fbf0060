#include "app/server/service.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "app/blobs/blob_folder.h"
#include "app/config/environment.h"
#include "app/config/zone_files.h"
#include "app/launch/process_table.h"
#include "app/launch/program_beside.h"
#include "app/launch/worker_process.h"
#include "app/server/openapi_json.h"
#include "app/upkeep/duties.h"
#include "controllers/host_controller.h"
#include "models/audit.h"
#include "models/embedded_file.h"
#include "models/json/decision_json.h"
#include "models/json/event_json.h"
#include "models/operations/resources.h"
#include "models/operations/tokens.h"
#include "models/policy/wake_rules.h"

namespace muster {
namespace {

constexpr Millis kKillAfter = Seconds(5);  // from TERM to KILL

std::string hostName(const Settings& settings) {
  if (!settings.host_name.empty()) return settings.host_name;
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

// Nodes that share a database write apart from each other.
std::string outputFolder(const Settings& settings, const ClusterNode& node) {
  const std::string folder = workerOutputFolder(settings);
  if (settings.store == "memory:") return makeFreshFolder(folder);
  return node.alone() ? folder : (std::filesystem::path(folder) / ("node-" + node.id())).string();
}

LaunchTemplates::Map launchTemplatesOf(const Settings& settings) {
  LaunchTemplates::Map templates;
  for (const auto& [name, made] : settings.templates) {
    templates[name] = {templateVersion(made), made.capabilities, made.executors};
  }
  return templates;
}

InlineRules inlineRules(const Settings& settings) {
  const auto& forced = settings.forced_reference_types;
  return {static_cast<std::size_t>(settings.inline_payload_limit_bytes),
          {forced.begin(), forced.end()}};
}

// Without the place, which is there when its folder is.
ResourceRules resourceRules(const Settings& settings) {
  ResourceRules rules;
  rules.max_disk_bytes = settings.resource_max_disk_bytes;
  rules.max_mem_bytes = settings.resource_max_mem_bytes;
  rules.hosts = {settings.host_stale, settings.host_grace};
  rules.high_watermark_pct = settings.resource_high_watermark_pct;
  rules.low_watermark_pct = settings.resource_low_watermark_pct;
  rules.default_ttl = settings.default_resource_ttl;
  rules.upload_ttl = settings.upload_ttl;
  rules.blob_grace = settings.blob_grace;
  rules.tenant_max_disk_bytes = settings.tenant_max_disk_bytes;
  rules.part_bytes = std::min(rules.part_bytes, settings.max_body_bytes);
  return rules;
}

StoreRules rulesOf(const Settings& settings, const std::string& host, const ClusterNode& node,
                   const LaunchTemplates& templates) {
  StoreRules rules;
  rules.host = host;
  if (!node.alone()) rules.node = node.id();
  rules.templates = templates;
  rules.pool_defaults = poolDefaults(settings);
  rules.auto_create_pools = settings.auto_create_pools;
  rules.max_pools = settings.max_pools;
  rules.max_answer_bytes = static_cast<std::size_t>(settings.max_body_bytes);
  rules.flow_max_jobs = settings.flow_max_jobs;
  rules.flow_max_depth = settings.flow_max_depth;
  // An answer with one job must not be larger than others may be.
  rules.upstream_inline_limit_bytes = std::min(
      static_cast<std::size_t>(settings.upstream_inline_limit_bytes), rules.max_answer_bytes);
  rules.inline_rules = inlineRules(settings);
  rules.affinities = {settings.affinity_ttl, settings.affinity_grace, settings.affinity_wait,
                      settings.affinity_max_failures};
  rules.resources = resourceRules(settings);
  rules.strict_workers = settings.strict_workers;
  rules.region = settings.current_region;
  rules.zones = findZone;
  return rules;
}

bool changesAPool(const Event& event) {
  return event.type == event_type::kPoolResumed || event.type == event_type::kPoolUpdated;
}

// From now on jobs are given out, or the time at which one will be is known.
bool turnsACircuit(const Event& event) {
  return event.type == event_type::kPoolCircuitOpened ||
         event.type == event_type::kPoolCircuitClosed;
}

// It may be waiting for a job, and is to hear of it now.
bool tellsAWorker(const Event& event) { return event.type == event_type::kWorkerTerminating; }

}  // namespace

Service::Service(const Settings& settings, const Log& log, const Clock& clock)
    : settings_(settings),
      log_(log),
      clock_(clock),
      host_(hostName(settings)),
      node_(settings, host_, clock, log),
      checks_itself_(!settings.triggers || !settings.triggers->empty()),
      templates_(std::make_shared<const Templates>(settings.templates)),
      process_(settings.worker_environment),
      call_(AddressGuard(settings.webhook_allow)),
      registry_(findZone) {}

tl::expected<std::unique_ptr<Service>, std::string> Service::open(const Settings& settings,
                                                                  const Log& log,
                                                                  const Clock& clock) {
  auto service = std::unique_ptr<Service>(new Service(settings, log, clock));
  if (auto fault = service->openPlace()) return tl::unexpected(*fault);
  if (auto fault = service->openStore()) return tl::unexpected(*fault);
  if (auto fault = service->node_.obstacle(*service->storage_)) return tl::unexpected(*fault);
  if (service->node_.observes()) return service;
  if (auto fault = service->applyConfiguredPools()) return tl::unexpected(*fault);
  if (auto fault = service->applyConfiguredTriggers()) return tl::unexpected(*fault);
  return service;
}

std::optional<std::string> Service::openPlace() {
  const std::string folder = blobFolder(settings_);
  auto place = folder.empty() ? BlobPlace::openTemporary() : BlobPlace::open(folder);
  if (!place) return place.error();
  place_ = *std::move(place);
  part_writer_ = std::make_unique<PartWriter>(*place_);
  return std::nullopt;
}

std::optional<std::string> Service::openStore() {
  StorageOptions options;
  options.url = settings_.store;
  options.durability = settings_.durability;
  launch_templates_.replace(launchTemplatesOf(settings_));
  options.rules = rulesOf(settings_, host_, node_, launch_templates_);
  options.rules.resources.blobs = place_.get();
  options.rules.on_unsettled = [this] {
    if (settler_) settler_->request();
  };
  options.on_commit = [this](std::span<const Event> events) { onCommit(events); };
  options.on_foreign_commit = [this](std::span<const Event> events) { onForeignCommit(events); };
  auto storage = openStorage(options, clock_);
  if (!storage) return storage.error();
  storage_ = *std::move(storage);

  Result<std::string> worker_key, address_key;
  const auto status = storage_->writeAndWait([&worker_key, &address_key](Store& store) {
    worker_key = run(ReadWorkerKey{}, store);
    address_key = run(ReadAddressKey{}, store);
  });
  if (!status) return status.error().detail;
  wire(*std::move(worker_key), *address_key);
  return std::nullopt;
}

void Service::wire(std::string worker_key, const std::string& address_key) {
  access_ = std::make_unique<Access>(settings_, std::move(worker_key),
                                     node_.advertisedUrl(settings_.listen.port), clock_);
  limits_ = std::make_unique<RateLimits>(
      RateLimits::Rates{settings_.global_qps_limit, settings_.token_qps_limit,
                        settings_.tenant_qps_limit},
      clock_);
  metrics_ = std::make_unique<Metrics>();
  const auto max_body_bytes = static_cast<std::size_t>(settings_.max_body_bytes);
  head_check_ = std::make_unique<HeadCheck>(router_, *access_, max_body_bytes);
  buffers_ = std::make_shared<BufferBudget>(static_cast<std::size_t>(settings_.max_buffered_bytes),
                                            max_body_bytes);
  gateway_ = std::make_unique<Gateway>(Gateway::Parts{
      router_, *access_, *limits_, *storage_, *metrics_, log_, clock_, *head_check_, *buffers_,
      node_.refusesWrites() ? [this] { return node_.admitWrite(); } : std::function<Status()>()});
  jobs_ = std::make_unique<JobController>(*gateway_, *limits_, job_waits_, clock_);
  leases_ =
      std::make_unique<LeaseController>(*gateway_, pool_waits_, clock_, inlineRules(settings_));
  flows_ = std::make_unique<FlowController>(*gateway_, *limits_, flow_waits_, clock_);
  wireResources(address_key);
  pools_ = std::make_unique<PoolController>(*gateway_, load_);
  wireLaunching();
  checks_ = std::make_unique<CheckController>(*gateway_, *checker_, poolDefaults(settings_));
  simulator_ = std::make_unique<Simulator>(
      *storage_, Simulator::Options{static_cast<double>(settings_.launch_rate),
                                    settings_.worker_idle_timeout, settings_.worker_max_jobs});
  simulations_ = std::make_unique<SimulationController>(*simulator_);
  workers_ = std::make_unique<WorkerController>(*gateway_, *access_, *launcher_, host_,
                                                resourceRules(settings_));
  events_ = std::make_unique<EventController>(*gateway_, *storage_, event_waits_);
  upkeep_ = std::make_unique<UpkeepController>(retentionOf(settings_), [this](Store& store) {
    load_.writeTo(store);
    store.load().sample();
    checker_->requestAll("tick");
    settler_->look();
    tendPlace();
  });
  wireWebhooks();
  wireTriggers();  // behind all that hears of commits: onCommit() waits for it
  cluster_ = std::make_unique<ClusterController>(*gateway_, node_);
  tokens_ = std::make_unique<TokenController>(*gateway_, *access_);
  affinities_ = std::make_unique<AffinityController>();
  service_ = std::make_unique<ServiceController>(
      *gateway_, *storage_, *metrics_, node_,
      ServiceController::Documents{yamlToJson(kOpenapiYaml.front().content),
                                   std::string(kDocsPage.front().content)});
  jobs_->addRoutes(router_);
  leases_->addRoutes(router_);
  flows_->addRoutes(router_);
  resources_->addRoutes(router_);
  content_->addRoutes(router_);
  artifacts_->addRoutes(router_);
  pools_->addRoutes(router_);
  workers_->addRoutes(router_);
  HostController::addRoutes(router_);
  events_->addRoutes(router_);
  upkeep_->addRoutes(router_);
  checks_->addRoutes(router_);
  simulations_->addRoutes(router_);
  triggers_->addRoutes(router_);
  hooks_->addRoutes(router_);
  webhooks_->addRoutes(router_);
  cluster_->addRoutes(router_);
  tokens_->addRoutes(router_);
  affinities_->addRoutes(router_);
  service_->addRoutes(router_);
  std::vector<std::pair<std::string, std::string>> names;
  for (const auto& route : router_.routes()) names.emplace_back(route->method, route->pattern);
  metrics_->setRoutes(std::move(names));
}

void Service::wireResources(const std::string& address_key) {
  uploads_ = std::make_unique<Uploads>(*gateway_, *place_, *part_writer_, *metrics_);
  resources_ = std::make_unique<ResourceController>([this] { return node_.advertisedUrl(port_); },
                                                    address_key);
  content_ = std::make_unique<ContentController>(*gateway_, *uploads_, *place_, address_key);
  artifacts_ = std::make_unique<ArtifactController>(*gateway_, *uploads_, *content_);
}

// `then` is told of the worker after the commit, unless it is unknown.
void Service::noteLaunch(LaunchUnit unit, std::function<void(const Worker&)> then) {
  const auto worker = std::make_shared<std::optional<Worker>>();
  storage_->note([worker, unit = std::move(unit)](Store& store) { *worker = unit(store); },
                 [this, worker, then = std::move(then)](const Status& status) {
                   if (!status) {
                     log_.error("a launch was not noted", {{"detail", status.error().detail}});
                   } else if (*worker && then) {
                     then(**worker);
                   }
                 });
}

void Service::wireLaunching() {
  ProcessLauncher::Listener listener;
  listener.started = [this](const ProcessSpec& spec, const std::string& key) {
    metrics_->countLaunch(spec.env.at("MUSTER_POOL_ID"), "started");
    noteLaunch([name = spec.name, key](Store& store) {
      store.launches().started(WorkerId(name), key);
      return std::nullopt;
    });
  };
  listener.failed = [this](const std::string& name, const std::string& why) {
    log_.error("launch failed", {{"worker", name}, {"detail", why}});
    noteLaunch(
        [name, why](Store& store) { return store.launches().notStarted(WorkerId(name), why); },
        [this](const Worker& worker) { metrics_->countLaunch(worker.pool, "failed"); });
  };
  listener.ended = [this](const std::string& name, const ProcessEnd& end) {
    noteLaunch([name, end](Store& store) { return store.launches().exited(WorkerId(name), end); },
               [this, end](const Worker& worker) {
                 metrics_->countExit(worker.pool, exitReason(worker.status, end));
               });
  };
  launcher_ = std::make_unique<ProcessLauncher>(outputFolder(settings_, node_), std::move(listener),
                                                clock_, log_);
  checker_ = std::make_unique<Checker>(
      *storage_, [this](const LaunchOrder& order) { launch(order); },
      Checker::Options{settings_.worker_start_timeout, static_cast<double>(settings_.launch_rate),
                       [this](const Decision& decision, std::chrono::nanoseconds took) {
                         metrics_->countCheck(decision, took);
                       },
                       [this](Store& store) { load_.writeTo(store); },
                       [this] { return node_.lease(); }},
      clock_, log_);
  machines_ = std::make_unique<ServiceMachines>(*checker_, *storage_, log_);
  settler_ = std::make_unique<FlowSettler>(*storage_, clock_, log_);
}

void Service::launch(const LaunchOrder& order) {
  const auto templates = templates_.load();
  const auto made = templates->find(order.template_name);
  if (!begun_ || made == templates->end()) {
    const std::string why =
        begun_ ? "its template was removed from the settings" : "the service was not listening yet";
    noteLaunch(
        [id = order.worker, why](Store& store) { return store.launches().notStarted(id, why); });
    return;
  }
  const WorkerSurroundings surroundings{
      programBeside("muster"),
      address_,
      [this](const LaunchOrder& launched) {
        return access_->tokenFor(
            {launched.worker.str(), launched.pool.str(), launched.registration});
      },
      settings_.worker_shutdown_timeout,
      settings_.worker_idle_timeout,
      settings_.worker_max_jobs,
      ownEnvironment(),
      settings_.worker_environment,
      host_,
      hostFolderOf(settings_)};
  launcher_->launch(workerProcess(order, made->second, surroundings));
}

std::optional<std::string> Service::reload(const Settings& settings) {
  if (access_->hasTokens() && settings.tokens.empty() && settings.tls_clients.empty()) {
    return "no tokens are left, so that everybody would be let in: to want that, start it anew";
  }
  access_->replaceTokens(settings.tokens, settings.tls_clients);
  templates_ = std::make_shared<const Templates>(settings.templates);
  launch_templates_.replace(launchTemplatesOf(settings));
  if (begun_ && checks_itself_ && node_.works()) checker_->requestAll("settings_reloaded");
  return std::nullopt;
}

std::string Service::workerFolder() const { return outputFolder(settings_, node_); }

void Service::begin(ServiceAddress own, int port) {
  process_.setAddress(own);
  address_ = std::move(own);
  port_ = port;
  begun_ = true;
  node_.begin(*storage_, port);
  if (!node_.works()) return;
  announcePlace();
  outbox_->look();
  auto running = std::make_shared<std::vector<RunningProcess>>();
  storage_->read([running](Store& store) { *running = store.launches().running(); },
                 [this, running](const Status& status) {
                   if (!status) {
                     log_.error("workers of an earlier run were not looked for",
                                {{"detail", status.error().detail}});
                   }
                   for (const RunningProcess& process : *running) adopt(process);
                   if (checks_itself_) checker_->requestAll("started");
                 });
}

// What was under way when the service went goes on.
void Service::adopt(const RunningProcess& process) {
  // Nobody knows of a process: its deadline will end the worker.
  if (process.process_key.empty()) return;
  launcher_->adopt(process.worker.str(), process.process_key);
  if (worker_status::isEnded(process.status)) {
    launcher_->stop(process.worker.str(), Millis(0), kKillAfter);
  } else if (process.status == worker_status::kTerminating) {
    launcher_->stop(process.worker.str(), settings_.worker_shutdown_timeout, kKillAfter);
  }
}

Millis Service::retireWorkers() {
  constexpr Millis kToNotice = Seconds(1);
  node_.retire();
  checker_->stop();
  storage_->write(
      [](Store& store) { store.launches().drainHost(); },
      [this](const Status& status) {
        retired_ = true;
        if (status) return;
        log_.error("workers were not told to finish", {{"detail", status.error().detail}});
      });
  return settings_.worker_shutdown_timeout + kKillAfter + kToNotice;
}

void Service::wireTriggers() {
  const ErrandFailed failed = [this](const std::string& trigger, const std::string& what) {
    log_.warn("trigger failed", {{"trigger", trigger}, {"detail", what}});
  };
  processes_ = std::make_unique<SubprocessTrigger>(process_, failed);
  functions_ = std::make_unique<LambdaTrigger>(call_, failed);
  dispatch_ = std::make_unique<Dispatch>(
      Dispatch::Parts{registry_, *storage_, clock_, *machines_, *processes_, *functions_, failed,
                      [this](const std::string& trigger) { metrics_->countTrigger(trigger); },
                      [this] { return node_.lease(); }});
  triggers_ = std::make_unique<TriggerController>(*gateway_, registry_, *dispatch_);
  const auto variable = [](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  hooks_ = std::make_unique<HookController>(
      HookController::Parts{*gateway_, *storage_, *access_, *limits_, registry_, *dispatch_,
                            *metrics_, variable, log_, clock_,
                            [this](const PoolId& pool, const std::string& trigger,
                                   const std::function<void(const std::string&)>& then) {
                              decide(pool, trigger, then);
                            }});
}

void Service::wireWebhooks() {
  WebhookOutbox::Options options;
  options.rules = {settings_.webhook_retry_base, settings_.webhook_disable_after};
  options.lease = [this] { return node_.lease(); };
  options.on_try = [this](std::string_view result) { metrics_->countWebhook(result); };
  outbox_ = std::make_unique<WebhookOutbox>(
      *storage_,
      callsOverNetwork(AddressGuard(settings_.webhook_allow), settings_.webhook_timeout, clock_),
      std::move(options), clock_, log_);
  webhooks_ = std::make_unique<WebhookController>(*gateway_, *outbox_);
}

// Checks the pool and tells the decision as JSON; "" for a pool that is not there.
void Service::decide(const PoolId& pool, const std::string& trigger,
                     const std::function<void(const std::string&)>& then) {
  const auto run = checker_->begin(pool, trigger);
  const auto text = std::make_shared<std::string>();
  storage_->write(
      [run, text](Store& store) {
        text->clear();
        const auto decision = run->perform(store);
        if (!decision) return;
        JsonWriter out;
        writeDecision(out, *decision);
        *text = out.take();
      },
      [run, text, then](const Status& status) {
        if (!status) text->clear();
        run->finish(!text->empty());
        then(*text);
      },
      &currentLoop());
}

std::optional<std::string> Service::applyConfiguredTriggers() {
  std::vector<Trigger> triggers;
  const auto status = storage_->writeAndWait([this, &triggers](Store& store) {
    store.triggers().replaceConfigured(configuredTriggers(settings_));
    triggers = store.triggers().all();
  });
  if (!status) return status.error().detail;
  registry_.replace(std::move(triggers), registry_.stamp());
  return std::nullopt;
}

// Pools in the file are what they say there after each start; others are left alone. A pause that
// the file does not speak of stays: whoever made it had a reason, and a restart is none to end it.
std::optional<std::string> Service::applyConfiguredPools() {
  std::string fault;
  const auto status = storage_->writeAndWait([this, &fault](Store& store) {
    fault.clear();
    for (auto [name, settings] : settings_.pools) {
      const auto known = store.pools().find(PoolId(name));
      if (known && !settings.paused && *known->settings.paused) settings.paused = true;
      const auto saved = store.pools().put(PoolId(name), settings);
      if (!saved) fault += fmt::format("pool '{}': {}\n", name, saved.error().detail);
    }
  });
  if (!status) return status.error().detail;
  return fault.empty() ? std::nullopt : std::optional(fault);
}

void Service::onCommit(std::span<const Event> events) {
  if (!dispatch_) return;  // the first commits are our own
  metrics_->countEvents(events);
  load_.hear(events);
  for (const Event& event : events) {
    tendWorkers(event);
    if (begun_ && checks_itself_ && changesAPool(event)) {
      checker_->request(PoolId(event.pool), "policy_changed");
    }
    if (begun_ && checks_itself_ && turnsACircuit(event)) {
      checker_->request(PoolId(event.pool), "circuit");
    }
    // Those of hooks and flows are as many as the requests for them.
    const bool is_frequent = event.type.starts_with("trigger.") || event.type.starts_with("flow.");
    if (event.job.empty() && !is_frequent) {
      const Caller caller = parseCaller(event.caller);
      log_.info(event.type, {{"pool", event.pool},
                             {"worker", event.worker},
                             {"node", event.node},
                             {"by", caller.name},
                             {"address", caller.address}});
    }
  }
  wake(events);
  if (!node_.works()) return;
  outbox_->wake();
  checker_->hear(events);
  dispatch_->onCommit(events);
}

// What another service on the same database did: its triggers and checks are its own, but those
// who wait may wait here, so may the processes of workers it has ended, and only this one may be
// able to launch workers for the jobs.
void Service::onForeignCommit(std::span<const Event> events) {
  if (!dispatch_) return;
  for (const Event& event : events) {
    tendWorkers(event);
    if (event.type == event_type::kLeaderLost) node_.tryToLead();
    if (event.type == event_type::kPoolDeleted) metrics_->forgetPool(event.pool);
    if (event.type == event_type::kWorkerTokensRotated) readWorkerKey();
    if (event.type.starts_with("webhook.")) outbox_->look();
  }
  wake(events);
  outbox_->wake();
  if (!begun_ || !checks_itself_ || !node_.works()) return;
  std::set<std::string_view> pools;
  for (const Event& event : events) {
    if (mayBringWork(event)) pools.insert(event.pool);
  }
  for (const std::string_view pool : pools) {
    checker_->requestIfBound(PoolId(std::string(pool)), "work_added_elsewhere");
  }
}

// Another node has made a new one.
void Service::readWorkerKey() {
  const auto key = std::make_shared<std::string>();
  storage_->read([key](Store& store) { *key = run(ReadWorkerKey{}, store).value_or(""); },
                 [this, key](const Status& status) {
                   if (status && !key->empty()) return access_->replaceWorkerKey(*key);
                   log_.error("the new key of worker tokens could not be read");
                 });
}

void Service::wake(std::span<const Event> events) {
  std::map<std::string_view, std::size_t> pools;
  for (const Event& event : events) {
    if (mayBringWork(event) || mayFreeAPlace(event)) ++pools[event.pool];
    if (changesAPool(event) || turnsACircuit(event) || tellsAWorker(event)) {
      pools[event.pool] += 1'000'000;
    }
    if (endsAJob(event)) job_waits_.wake(event.job, 1'000'000);
    if (endsAFlow(event)) flow_waits_.wake(flowOf(event), 1'000'000);
  }
  for (const auto& [pool, count] : pools) pool_waits_.wake(pool, count);
  event_waits_.wake("", 1'000'000);
}

// What the registered triggers do not see to.
void Service::tendWorkers(const Event& event) {
  if (!begun_) return;
  if (event.type == event_type::kWorkerLost) launcher_->stop(event.worker, Millis(0), kKillAfter);
  if (event.type == event_type::kWorkerTerminating) {
    launcher_->stop(event.worker, settings_.worker_shutdown_timeout, kKillAfter);
  }
}

void Service::endWaits() {
  node_.retire();
  simulator_->stop();
  outbox_->retire();
  pool_waits_.close();
  job_waits_.close();
  flow_waits_.close();
  event_waits_.close();
}

// What writes to the store ends before it.
void Service::close() {
  outbox_->stop();
  node_.stop();
  simulator_->stop();
  processes_->stop();
  functions_->stop();
  checker_->stop();
  settler_->stop();
  launcher_->close();
  part_writer_->stop();
  writeLoad();
  storage_->stop();
}

}  // namespace muster
