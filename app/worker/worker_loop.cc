#include "app/worker/worker_loop.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <ostream>
#include <random>

#include "app/log/log.h"
#include "app/log/system_clock.h"
#include "app/worker/command_environment.h"
#include "app/worker/folder_tending.h"
#include "app/worker/heartbeat_thread.h"
#include "app/worker/job_command.h"
#include "app/worker/job_files.h"
#include "app/worker/retry_pause.h"
#include "app/worker/upstream_file.h"

namespace muster {
namespace {

constexpr Millis kLongestWait = Seconds(20);  // of one claim; the service allows 30
constexpr Millis kLastTries = Seconds(5);     // to give a job back before the end
constexpr Millis kLookAgain(100);             // at what another worker of this host fetches

// By name: to look for the generator of the processor takes longer than to read from this one.
std::random_device randomDevice() { return std::random_device("/dev/urandom"); }

std::string randomKey() {
  auto random = randomDevice();
  return fmt::format("worker-{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

std::string temporaryFolder(const std::map<std::string, std::string>& environment) {
  const auto found = environment.find("TMPDIR");
  return found == environment.end() || found->second.empty() ? "/tmp" : found->second;
}

JobEnd notReady(std::string_view why) {
  JobEnd end{
      .kind = JobEnd::Kind::kNotReady, .output = CommandOutput(0), .errors = CommandOutput(0)};
  end.errors.add(why);
  return end;
}

class WorkerLoop {
 public:
  WorkerLoop(const WorkerOptions& options, std::ostream& out)
      : options_(options),
        out_(out),
        log_(clock_, LogLevel::kInfo),
        watch_(clock_, options.shutdown_timeout) {}

  WorkerExit run();

 private:
  using Moment = WorkerWatch::Moment;
  template <class T>
  using Answer = ServiceClient::Answer<T>;

  // Asks again while the answer may become another one, until `until` or `enough` says so.
  template <class Call, class Enough>
  auto persist(const Call& call, Moment until, const Enough& enough) -> decltype(call());

  WorkerExit refuse(const char* what, const Refusal& refusal);
  WorkerExit work(ServiceClient& client);
  Answer<ClaimAnswer> claim(ServiceClient& client, Moment idle_since);
  JobEnd perform(ServiceClient& client, const ClaimedJob& job);
  // All that the jobs before `job` left, or how its try ends without that.
  tl::expected<UpstreamFile, JobEnd> writeUpstream(ServiceClient& client, const ClaimedJob& job);
  HostFolder& hostFolder();
  // Looks after the folder of this host if there is one, and nobody did for a while.
  void tendFolderIfDue(ServiceClient& client);
  std::optional<std::uint64_t> mostDiskBytes() const;
  FileTransport transport(ServiceClient& client, const ClaimedJob& job);
  JobEnd runWithFiles(JobFiles& files, const ClaimedJob& job, const std::string& upstream);
  // What the command left becomes artifacts, or its try ends otherwise than it did.
  void handOver(JobFiles& files, const FileTransport& transport, const ClaimedJob& job,
                JobEnd& end);
  void report(ServiceClient& client, const ClaimedJob& job, const JobEnd& end);
  void giveBackUnheld(ServiceClient& client);

  const WorkerOptions& options_;
  std::size_t max_result_bytes_ = options_.max_result_bytes;  // or fewer, if the service says so
  std::ostream& out_;
  SystemClock clock_;
  Log log_;
  WorkerWatch watch_;
  std::string worker_;
  std::string worker_token_;
  std::optional<HeartbeatThread> heartbeat_;  // while it is registered
  std::optional<Registration> registration_;
  std::optional<HostFolder> host_;  // from the first command on
  // The service may believe that we hold a job we know nothing of (any more).
  bool may_hold_unknown_ = false;
};

template <class Call, class Enough>
auto WorkerLoop::persist(const Call& call, Moment until, const Enough& enough) -> decltype(call()) {
  for (int failures = 1;; ++failures) {
    auto answer = call();
    if (answer || !answer.error().mayPass() || enough()) return answer;
    auto random = randomDevice();
    const double dice = std::generate_canonical<double, 32>(random);
    const auto again = watch_.now() + retryPause(failures, answer.error().retry_after, dice);
    if (again >= until) return answer;
    log_.warn("trying again", {{"code", answer.error().code}, {"detail", answer.error().detail}});
    if (heartbeat_) heartbeat_->begin();
    while (watch_.now() < again && !enough()) watch_.wait(again);
    if (enough()) return answer;
  }
}

WorkerExit WorkerLoop::refuse(const char* what, const Refusal& refusal) {
  if (refusal.isGone()) {
    log_.warn("the service told this worker to stop", {{"detail", refusal.detail}});
    return WorkerExit::kOk;
  }
  log_.error(what, {{"url", options_.url}, {"code", refusal.code}, {"detail", refusal.detail}});
  return refusal.status == 0 ? WorkerExit::kUnreachable : WorkerExit::kFailed;
}

WorkerExit WorkerLoop::run() {
  const WorkerIdentity identity{options_.worker_id,   options_.pool, hostNameOr(options_.host),
                                ::getpid(),           options_.loop, options_.launch_token,
                                options_.capabilities};
  // A launch token is a key already.
  const std::string key = options_.launch_token.empty() ? randomKey() : "";
  // Who was given no token has none to keep: the worker's own goes wherever the service leads.
  ServiceTrust trust = options_.trust;
  if (options_.token.empty()) trust.nodes = std::string(1, '*');
  ServiceClient client(options_.url, options_.token, trust);
  const auto registration =
      persist([&] { return client.registerWorker(identity, key); },
              watch_.now() + options_.connect_timeout, [this] { return !watch_.mayClaim(); });
  if (!registration) {
    if (!watch_.mayClaim()) return WorkerExit::kOk;
    return refuse("cannot register", registration.error());
  }
  registration_ = *registration;
  worker_ = registration->worker_id;
  worker_token_ = registration->worker_token.empty() ? options_.token : registration->worker_token;
  max_result_bytes_ = std::min(max_result_bytes_, registration->most_result_bytes);
  log_.info("registered", {{"worker", worker_}, {"pool", options_.pool}});
  client.setToken(worker_token_);
  heartbeat_.emplace(ServiceClient(options_.url, registration->worker_token, trust), *registration,
                     watch_, log_);
  const WorkerExit exit = work(client);
  heartbeat_.reset();
  if (watch_.isGone()) {
    log_.warn("the service has written this worker off", {{"worker", worker_}});
    return exit;
  }
  giveBackUnheld(client);
  // Whoever launched this process sees it end, and how.
  if (!options_.launch_token.empty()) return exit;
  // Best effort: a service that cannot be reached finds out by itself.
  if (const auto ended = client.end(worker_); !ended) {
    log_.warn("could not say goodbye", {{"code", ended.error().code}});
  } else {
    log_.info("ended", {{"worker", worker_}});
  }
  return exit;
}

WorkerExit WorkerLoop::work(ServiceClient& client) {
  int jobs = 0;
  if (options_.loop) heartbeat_->begin();  // its claims wait for work
  Moment idle_since = watch_.now();
  while (watch_.mayClaim()) {
    tendFolderIfDue(client);
    const auto claimed = claim(client, idle_since);
    if (!claimed) {
      if (claimed.error().isGone() || claimed.error().code == "worker_unknown") {
        watch_.noteGone();
      }
      if (!watch_.mayClaim()) break;
      return refuse("cannot claim", claimed.error());
    }
    if (claimed->terminating) watch_.noteDrain();
    if (!claimed->job) {
      const bool waited = options_.loop && (options_.idle_timeout == Millis(0) ||
                                            watch_.now() < idle_since + options_.idle_timeout);
      if (waited || claimed->terminating) continue;
      if (jobs == 0) out_ << "no_work_available" << std::endl;
      return WorkerExit::kOk;
    }
    const ClaimedJob& job = *claimed->job;
    watch_.hold(job);
    heartbeat_->keepAlive(job.lease);
    log_.info("claimed", {{"job", job.id}, {"attempt", job.attempt}});
    const JobEnd end = perform(client, job);
    report(client, job, end);
    watch_.letGo();
    tendFolderIfDue(client);
    if (end.kind == JobEnd::Kind::kNotStarted) return WorkerExit::kFailed;
    ++jobs;
    if (!options_.loop || (options_.max_jobs > 0 && jobs >= options_.max_jobs)) break;
    idle_since = watch_.now();
  }
  return WorkerExit::kOk;
}

ServiceClient::Answer<ClaimAnswer> WorkerLoop::claim(ServiceClient& client, Moment idle_since) {
  const bool for_ever = options_.loop && options_.idle_timeout == Millis(0);
  const Moment until = for_ever        ? Moment::max()
                       : options_.loop ? idle_since + options_.idle_timeout
                                       : watch_.now() + options_.connect_timeout;
  const auto stop = [this] { return !watch_.mayClaim(); };
  return persist(
      [&]() -> Answer<ClaimAnswer> {
        giveBackUnheld(client);
        Millis wait{0};
        if (options_.loop) {
          wait =
              std::min(kLongestWait, for_ever ? kLongestWait : Millis(watch_.millisUntil(until)));
        }
        auto answer = client.claim(options_.pool, worker_, wait, stop);
        if (!answer && answer.error().status == 0) may_hold_unknown_ = true;
        return answer;
      },
      until, stop);
}

JobEnd WorkerLoop::perform(ServiceClient& client, const ClaimedJob& job) {
  if (options_.command.empty()) {
    const EchoJob echo = readEcho(job.data);
    if (echo.delay > Millis(0)) heartbeat_->begin();
    return runEcho(echo, job.data, max_result_bytes_, watch_);
  }
  heartbeat_->begin();
  std::optional<UpstreamFile> upstream;
  if (job.upstream.truncated || !job.upstream.items.empty()) {
    auto written = writeUpstream(client, job);
    if (!written) return std::move(written).error();
    upstream.emplace(*std::move(written));
  }
  JobFiles files(hostFolder(), job);
  const FileTransport by = transport(client, job);
  if (!job.inputs.empty()) {
    if (const auto fetched = files.fetchInputs(by); !fetched) {
      JobEnd end = notReady(fetched.error().what);
      if (fetched.error().is_missing) end.kind = JobEnd::Kind::kMissing;
      end.stopped = watch_.stopReason();
      return end;
    }
  }
  JobEnd end = runWithFiles(files, job, upstream ? upstream->path() : "");
  handOver(files, by, job, end);
  return end;
}

HostFolder& WorkerLoop::hostFolder() {
  if (!host_) {
    host_.emplace(hostFolderPath(options_.data_dir, registration_->data_dir,
                                 registration_->folder_id, options_.environment));
    host_->sweepJobs(clock_.now());
  }
  return *host_;
}

std::optional<std::uint64_t> WorkerLoop::mostDiskBytes() const {
  const auto own = options_.max_disk_bytes, told = registration_->most_disk_bytes;
  return own && told ? std::min(own, told) : own ? own : told;
}

void WorkerLoop::tendFolderIfDue(ServiceClient& client) {
  // A folder without this file keeps nothing.
  const std::string path = host_ ? host_->path()
                                 : hostFolderPath(options_.data_dir, registration_->data_dir,
                                                  registration_->folder_id, options_.environment);
  if (!watch_.mayClaim() || !isTendingDue(path, options_.gc_interval, clock_.now())) return;
  heartbeat_->begin();
  const AskService ask = [&client](const HttpRequest& request) { return client.exchange(request); };
  const auto tended = tendFolder(path, {.service = options_.url, .most_bytes = mostDiskBytes()},
                                 syncBy(ask, hostNameOr(options_.host)), clock_.now());
  if (!tended) {
    log_.warn("the folder of this host was not tended",
              {{"folder", path}, {"code", tended.error().code}, {"detail", tended.error().detail}});
  } else if (tended->deleted > 0) {
    log_.info("deleted files that nobody needs",
              {{"folder", path}, {"count", std::to_string(tended->deleted)}});
  }
}

FileTransport WorkerLoop::transport(ServiceClient& client, const ClaimedJob& job) {
  const auto stop = [this] { return watch_.stopReason() != StopReason::kNone; };
  return {.ask =
              [this, &client, &job, stop](const HttpRequest& request) {
                HttpRequest stoppable = request;
                stoppable.given_up = stop;
                // Heartbeats go on meanwhile: a service that takes no file would be asked for ever.
                return persist([&] { return client.exchange(stoppable); }, watch_.now() + job.lease,
                               stop);
              },
          .stop = stop,
          .pause = [this] { watch_.wait(watch_.now() + kLookAgain); },
          .ttl_seconds = options_.artifact_ttl_seconds,
          .most_cache_bytes = mostDiskBytes()};
}

JobEnd WorkerLoop::runWithFiles(JobFiles& files, const ClaimedJob& job,
                                const std::string& upstream) {
  const bool has_inputs = !job.inputs.empty();
  JobCommand command{
      .argv = options_.command,
      .env = commandEnvironment(
          options_.environment, job, {options_.url, options_.pool, worker_, worker_token_},
          {.upstream = upstream,
           .inputs = has_inputs ? files.inputDir() : "",
           .resources = has_inputs ? files.resourcesFile() : "",
           .outputs = files.outputDir(),
           .scope = job.flow_id.empty() ? "job:" + job.id : "flow:" + job.flow_id,
           .data_dir = host_->path(),
           .host = hostNameOr(options_.host)}),
      .input = job.data,
      .max_output = max_result_bytes_,
      .meanwhile = [&files] { files.guard(); }};
  if (options_.spill_result) {
    command.spill = [&files](std::string_view bytes) { files.spill(bytes); };
  }
  JobEnd end = runCommand(command, watch_);
  // Escapes can make a text longer than it was written.
  if (options_.spill_result && !files.spilled()) {
    const auto result = resultOf(end.output.beginning());
    if (result && result->size() > max_result_bytes_) files.spill(end.output.beginning());
  }
  return end;
}

void WorkerLoop::handOver(JobFiles& files, const FileTransport& transport, const ClaimedJob& job,
                          JobEnd& end) {
  if (end.stopped != StopReason::kNone || end.kind == JobEnd::Kind::kNotStarted) return;
  const bool did_well = end.kind == JobEnd::Kind::kExited && end.code == 0;
  if (!did_well && !options_.keep_failed_outputs) return;
  const auto uploaded = files.uploadOutputs(transport);
  if (uploaded) {
    end.result_is_artifact = did_well && files.spilled();
    return;
  }
  log_.warn("could not hand over the files of a job",
            {{"job", job.id}, {"detail", uploaded.error().what}});
  end.stopped = watch_.stopReason();
  if (!did_well) return;
  end.kind = JobEnd::Kind::kNotTaken;
  end.fault = uploaded.error().what;
}

tl::expected<UpstreamFile, JobEnd> WorkerLoop::writeUpstream(ServiceClient& client,
                                                             const ClaimedJob& job) {
  const std::string folder = temporaryFolder(options_.environment);
  const auto cannotWrite = [&folder](int error) {
    return tl::unexpected(
        notReady(fmt::format("cannot write the results of upstream jobs into a file in {}: {}",
                             folder, std::strerror(error))));
  };
  auto file = UpstreamFile::create(folder);
  if (!file) return cannotWrite(file.error());
  if (!job.upstream.truncated) {
    if (const int error = file->add(job.upstream.items); error != 0) return cannotWrite(error);
    return *std::move(file);
  }
  const auto stop = [this] { return watch_.stopReason() != StopReason::kNone; };
  std::string cursor;
  do {
    const auto page = persist([&] { return client.upstream(job.id, cursor, stop); },
                              watch_.now() + options_.connect_timeout, stop);
    if (!page && page.error().isGone()) watch_.noteGone();
    if (stop()) {
      JobEnd end = notReady("stopped before its command was started");
      end.stopped = watch_.stopReason();
      return tl::unexpected(std::move(end));
    }
    if (!page) {
      return tl::unexpected(
          notReady(fmt::format("cannot read the results of upstream jobs from {}: {}", options_.url,
                               page.error().detail)));
    }
    if (const int error = file->add(page->items); error != 0) return cannotWrite(error);
    cursor = page->next_cursor;
  } while (!cursor.empty());
  return *std::move(file);
}

// A report is the same however often it is sent, so it is sent until it is answered or the job
// cannot be ours any more.
void WorkerLoop::report(ServiceClient& client, const ClaimedJob& job, const JobEnd& end) {
  auto report = reportOf(end, options_.command.empty() ? "echo" : options_.command.front(),
                         job.lease_token, max_result_bytes_);
  if (!report) {
    may_hold_unknown_ = true;
    log_.warn("the job is not ours any more, it was stopped", {{"job", job.id}});
    return;
  }
  const bool hurry = end.stopped == StopReason::kShutdown;
  const Moment until = hurry ? watch_.now() + kLastTries : Moment::max();
  const auto enough = [this, hurry] {
    const bool told_to_end = watch_.stopReason() == StopReason::kShutdown && !hurry;
    return watch_.isGone() || watch_.leaseIsOver() || told_to_end;
  };
  const auto send = [&] {
    return persist([&] { return client.report(job.id, *report); }, until, enough);
  };
  auto answer = send();
  const auto refused = [&answer] {
    if (answer || answer.error().mayPass() || answer.error().isGone()) return false;
    return answer.error().status != 409 && answer.error().status != 404;
  };
  if (refused() && report->verb == "complete") {
    report = refusedResult(job.lease_token,
                           "the service did not take the result: " + answer.error().detail);
    answer = send();
  }
  if (refused()) {
    report = releaseOf(job.lease_token);
    answer = send();
  }
  if (answer) {
    log_.info("reported", {{"job", job.id}, {"outcome", report->verb}});
    return;
  }
  if (answer.error().isGone()) watch_.noteGone();
  may_hold_unknown_ = true;
  log_.warn("could not report", {{"job", job.id},
                                 {"outcome", report->verb},
                                 {"code", answer.error().code},
                                 {"detail", answer.error().detail}});
}

// The answer to a claim may get lost, and then heartbeats would hold a job that nobody works on.
void WorkerLoop::giveBackUnheld(ServiceClient& client) {
  if (!may_hold_unknown_) return;
  const auto beat = client.heartbeat(worker_, Seconds(3));
  if (!beat) return;
  for (const auto& job : beat->held) {
    if (const auto released = client.releaseAs(worker_, job); !released) return;
    log_.info("gave back", {{"job", job}});
  }
  may_hold_unknown_ = false;
}

}  // namespace

WorkerExit runWorker(const WorkerOptions& options, std::ostream& out) {
  return WorkerLoop(options, out).run();
}

}  // namespace muster
