#include "controllers/lease_controller.h"

#include <fmt/format.h>

#include <algorithm>

#include "controllers/job_controller.h"
#include "controllers/long_wait.h"
#include "models/json/artifact_json.h"
#include "models/json/json_reader.h"
#include "models/json/worker_json.h"

namespace muster {
namespace {

constexpr std::size_t kMaxReports = 1000;

struct Claimed {
  std::vector<Job> jobs;
  std::string worker_status = std::string(worker_status::kActive);
  bool may_wait = false;  // nothing now, but there could be
  std::optional<Millis> next_due_in;
  std::vector<ResourceCommand> commands;  // for the worker
};

// When there may be something to claim without anybody doing anything.
std::optional<Time> nextChance(Store& store, const PoolId& id, const Pool* pool) {
  if (pool != nullptr) {
    if (*pool->settings.paused) return std::nullopt;  // its resumption is told
    // What comes due before a probe is not given out. One that is due waits for a job, as anybody.
    const auto probe = store.circuits().nextProbe(*pool);
    if (probe && *probe > store.now()) return probe;
  }
  return store.jobs().nextDue(id);
}

Result<Claimed> claimJobs(Store& store, const PoolId& pool_id, const ClaimRequest& request) {
  auto claimer = store.workers().claimer(request.worker, request.registration);
  if (!claimer) return tl::unexpected(std::move(claimer).error());
  Claimed claimed;
  if (!claimer->status.empty()) claimed.worker_status = claimer->status;
  if (claimer->holds) claimed.commands = store.workers().commandsOf(request.worker);
  if (claimer->status == worker_status::kTerminating) return claimed;
  const auto pool = store.pools().find(pool_id);
  if (!request.job.empty()) {
    if (!pool) {
      return fail(ErrorCode::kNotFound, "there is no pool '" + pool_id.str() + "'");
    }
    auto job = store.jobs().claimOne(*pool, request.worker.str(), claimer->traits, request.job);
    if (!job) return tl::unexpected(std::move(job).error());
    claimed.jobs.push_back(*std::move(job));
    if (claimer->launch_open) store.launches().tookAJob(request.worker);
    return claimed;
  }
  if (pool) {
    const bool has_too_much = isOverLimit(claimer->use, store.rules().resources.workerLimits());
    claimed.jobs =
        store.jobs().claim(*pool, request.worker.str(), claimer->traits, request.max, has_too_much);
  }
  if (claimer->launch_open && !claimed.jobs.empty()) store.launches().tookAJob(request.worker);
  claimed.may_wait = claimed.jobs.empty();
  if (claimed.may_wait && request.wait > Millis(0)) {
    const auto next = nextChance(store, pool_id, pool.get());
    if (next) claimed.next_due_in = *next - store.now();
  }
  return claimed;
}

void writeClaimed(JsonWriter& out, std::string_view key, const Claimed& claimed) {
  out.key(key).beginArray();
  for (const Job& job : claimed.jobs) writeClaimedJob(out, job);
  out.endArray();
}

Result<Job> judge(Store& store, const OutcomeReport& report, bool with_data) {
  using Kind = OutcomeReport::Kind;
  const Reporter& by = report.reporter;
  if (by.registration && by.lease_token.empty()) {
    if (auto ok = store.workers().checkRegistration(WorkerId(by.worker), *by.registration); !ok) {
      return tl::unexpected(std::move(ok).error());
    }
  }
  switch (report.kind) {
    case Kind::kDone:
      return store.jobs().complete(report.job, report.reporter, report.result, report.artifacts,
                                   with_data);
    case Kind::kReleased:
      return store.jobs().release(report.job, report.reporter, with_data);
    case Kind::kFailed:
    case Kind::kCancelled:
      return store.jobs().fail(report.job, report.reporter, report.failure, with_data);
  }
  return fail(ErrorCode::kInternal, "an unknown outcome");
}

void writeJudged(JsonWriter& out, Store& store, const OutcomeReport& report) {
  const Result<Job> job =
      report.refusal ? tl::unexpected(*report.refusal) : judge(store, report, false);
  out.beginObject().field("job_id", report.job);
  if (job) {
    out.field("status", name(job->status));
  } else {
    const auto now =
        job.error().code == ErrorCode::kNotFound ? std::nullopt : store.jobs().find(report.job);
    out.field("status", now ? name(now->status) : std::string_view("unknown"));
    const Error& error = job.error();
    // Of one that was refused for what stands in it, what is wrong says more than that it is.
    const std::string_view code =
        error.fields.empty() ? describe(error.code).name : std::string_view(error.fields[0].code);
    out.field("code", code).field("detail", error.detail);
  }
  out.endObject();
}

// A worker's own token speaks for that worker; the lease token proves the rest.
Status speakFor(Reporter& reporter, const Principal& principal) {
  if (principal.worker.empty()) return {};
  if (reporter.worker.empty()) reporter.worker = principal.worker;
  reporter.registration = principal.registration;
  return principal.mayActAs(reporter.worker);
}

}  // namespace

void LeaseController::addRoutes(Router& router) {
  const auto method = [this](auto member) {
    return [this, member](const Request& request) { return (this->*member)(request); };
  };
  const auto later = [this](auto member) {
    return [this, member](const RequestPtr& request, Respond respond) {
      (this->*member)(request, std::move(respond));
    };
  };
  const auto shared = [&method](auto member) {
    return Handler{.write = method(member), .routine = true, .isolation = Isolation::kShared};
  };
  using C = LeaseController;
  router.add("POST", "/v1/pools/{pool_id}/claim", Scope::kWork,
             {.answer = later(&C::claim), .routine = true});
  router.add("POST", "/v1/pools/{pool_id}/reports", Scope::kWork,
             {.answer = later(&C::reports), .routine = true});
  router.add("POST", "/v1/jobs/{job_id}/complete", Scope::kWork,
             {.answer = later(&C::complete), .routine = true});
  router.add("POST", "/v1/jobs/{job_id}/fail", Scope::kWork, shared(&C::fail));
  router.add("POST", "/v1/jobs/{job_id}/renew", Scope::kWork, shared(&C::renew));
  router.add("POST", "/v1/jobs/{job_id}/release", Scope::kWork, shared(&C::release));
  router.add("POST", "/v1/jobs/{job_id}/progress", Scope::kWork, shared(&C::progress));
}

struct LeaseController::Waiting {
  RequestPtr request;
  Respond respond;
  PoolId pool;
  std::vector<OutcomeReport> reports;  // judged once, in the first run
  std::optional<ClaimRequest> claim;
  bool bulk = false;
  std::string judged;  // the answers to the reports, once they are given
  Time deadline;
};

// What a job hands over may be registered with its report; then no other may register the same.
Isolation LeaseController::isolationOf(const std::vector<OutcomeReport>& reports) {
  const bool may = std::any_of(reports.begin(), reports.end(), [](const OutcomeReport& report) {
    return report.kind == OutcomeReport::Kind::kDone &&
           mayRegister(report.result, report.artifacts);
  });
  return may ? Isolation::kAlone : Isolation::kShared;
}

Wish LeaseController::wishOf(const Waiting& waiting) {
  const auto& claim = waiting.claim;
  if (waiting.bulk || !claim || claim->max != 1 || !claim->job.empty()) return {};
  return {.kind = Wish::Kind::kClaim, .pool = waiting.pool, .worker = claim->worker.str()};
}

void LeaseController::run(const std::shared_ptr<Waiting>& waiting) {
  if (!waiting->request->clientIsThere()) {
    // Nobody would learn of the claim; the framework drops the answer.
    return waiting->respond(muster::fail(ErrorCode::kDraining, "the client has gone"));
  }
  struct Found {
    bool may_wait = false;
    std::optional<Millis> next_due_in;  // the store's clock may be another than ours
    std::string judged;
  };
  auto found = std::make_shared<Found>();
  const auto generation = waits_.generation(waiting->pool.str());
  const bool last_look = waiting->deadline <= clock_.now() || gateway_.draining();
  gateway_.write(
      waiting->request,
      [waiting, found, last_look](Store& store) -> Outcome {
        *found = {};
        Claimed claimed;
        if (waiting->claim && waiting->bulk) {
          // Refused before the reports are judged: all of it or nothing.
          if (auto ok =
                  store.workers().claimer(waiting->claim->worker, waiting->claim->registration);
              !ok) {
            return tl::unexpected(std::move(ok).error());
          }
        }
        found->judged = waiting->judged;
        if (waiting->bulk && found->judged.empty()) {
          JsonWriter items;
          items.beginArray();
          for (const OutcomeReport& report : waiting->reports) writeJudged(items, store, report);
          items.endArray();
          found->judged = items.take();
        }
        if (waiting->claim) {
          // So that it finds the jobs that waited for those which were reported just now.
          if (waiting->bulk) store.settleEnded();
          auto result = claimJobs(store, waiting->pool, *waiting->claim);
          if (!result) return tl::unexpected(std::move(result).error());
          claimed = *std::move(result);
        }
        found->may_wait = claimed.may_wait;
        found->next_due_in = claimed.next_due_in;
        JsonWriter out;
        out.beginObject();
        if (waiting->bulk) out.key("items").raw(found->judged);
        writeClaimed(out, waiting->bulk ? "claimed" : "items", claimed);
        if (waiting->claim) out.field("worker_status", claimed.worker_status);
        if (!claimed.commands.empty()) {
          out.key("commands").beginArray();
          writeCommands(out, claimed.commands);
          out.endArray();
        }
        out.endObject();
        Reply reply = Reply::json(200, std::move(out));
        reply.final = last_look || !found->may_wait;
        return reply;
      },
      [this, waiting, found, generation, last_look](Outcome outcome) {
        if (!outcome || !found->may_wait || last_look) {
          waiting->respond(std::move(outcome));
          return;
        }
        waiting->judged = found->judged;
        Millis wait = waiting->deadline - clock_.now();
        if (found->next_due_in) wait = std::min(wait, *found->next_due_in);
        waitOnLoop(waits_, waiting->pool.str(), generation, wait,
                   [this, waiting] { run(waiting); });
      },
      waiting->judged.empty() ? isolationOf(waiting->reports) : Isolation::kShared,
      wishOf(*waiting));
}

void LeaseController::claim(const RequestPtr& request, Respond respond) {
  auto pool = request->pathId<PoolId>("pool_id");
  if (!pool) return respond(tl::unexpected(std::move(pool).error()));
  const auto body = parseBody(*request);
  if (!body) return respond(tl::unexpected(body.error()));
  std::vector<FieldError> faults;
  ClaimRequest claim = readClaim(body->root(), "", faults);
  if (auto ok = checkFaults(std::move(faults)); !ok) return respond(tl::unexpected(ok.error()));
  if (auto ok = request->principal.mayActAs(claim.worker.str()); !ok) {
    return respond(tl::unexpected(ok.error()));
  }
  claim.registration = request->principal.registration;
  auto waiting = std::make_shared<Waiting>();
  waiting->request = request;
  waiting->respond = std::move(respond);
  waiting->pool = *std::move(pool);
  waiting->deadline = clock_.now() + claim.wait;
  waiting->claim = std::move(claim);
  run(waiting);
}

void LeaseController::reports(const RequestPtr& request, Respond respond) {
  auto pool = request->pathId<PoolId>("pool_id");
  if (!pool) return respond(tl::unexpected(std::move(pool).error()));
  const auto body = parseBody(*request);
  if (!body) return respond(tl::unexpected(body.error()));
  auto waiting = std::make_shared<Waiting>();
  waiting->bulk = true;
  std::vector<FieldError> faults;
  ObjectReader in(body->root(), "", faults);
  if (const auto items = in.array("items", 0, kMaxReports)) {
    for (auto it = items->begin(); it != items->end(); ++it) {
      const std::string pointer = fmt::format("/items/{}", waiting->reports.size());
      waiting->reports.push_back(readBulkItem(*it, pointer, faults));
    }
  } else if (!in.has("items")) {
    in.fault("items", "required", "is required");
  }
  if (const auto claim = in.object("claim")) {
    waiting->claim = readClaim(*claim, "/claim", faults);
    if (!waiting->claim->job.empty()) {
      faults.push_back({"/claim/job_id", "unknown_field", "is not a known field"});
    }
  }
  in.finish();
  if (auto ok = checkFaults(std::move(faults)); !ok) return respond(tl::unexpected(ok.error()));
  if (waiting->claim) {
    if (auto ok = request->principal.mayActAs(waiting->claim->worker.str()); !ok) {
      return respond(tl::unexpected(ok.error()));
    }
    waiting->claim->registration = request->principal.registration;
  }
  for (OutcomeReport& report : waiting->reports) {
    if (auto ok = speakFor(report.reporter, request->principal); !ok) {
      return respond(tl::unexpected(ok.error()));
    }
    report.reporter.pool = *pool;
    if (report.kind != OutcomeReport::Kind::kDone) continue;  // nothing of it is kept
    const auto fits = checkInline(report.result, report.inlined, inline_rules_);
    if (!fits) report.refusal = fits.error();
  }
  waiting->request = request;
  waiting->respond = std::move(respond);
  waiting->pool = *std::move(pool);
  waiting->deadline = clock_.now() + (waiting->claim ? waiting->claim->wait : Millis(0));
  run(waiting);
}

namespace {

// The parts every report on one job has: the id in the path, the body, who may send it.
template <class Read>
Result<OutcomeReport> readReport(const Request& request, Read read) {
  auto id = request.pathId<JobId>("job_id");
  if (!id) return tl::unexpected(std::move(id).error());
  const auto body = parseBody(request, true);
  if (!body) return tl::unexpected(body.error());
  std::vector<FieldError> faults;
  OutcomeReport report = read(body->root(), faults);
  if (auto ok = checkFaults(std::move(faults)); !ok) return tl::unexpected(std::move(ok).error());
  if (auto ok = speakFor(report.reporter, request.principal); !ok) {
    return tl::unexpected(std::move(ok).error());
  }
  report.job = *std::move(id);
  return report;
}

Work workOf(OutcomeReport report) {
  return
      [report = std::move(report)](Store& store) { return jobReply(judge(store, report, true)); };
}

template <class Read>
Result<Work> reportWork(const Request& request, Read read) {
  auto report = readReport(request, read);
  if (!report) return tl::unexpected(std::move(report).error());
  return workOf(*std::move(report));
}

OutcomeReport readRelease(JsonValue value, std::vector<FieldError>& faults) {
  ObjectReader in(value, "", faults);
  OutcomeReport report;
  report.kind = OutcomeReport::Kind::kReleased;
  report.reporter.lease_token = in.text("lease_token", 1, 128).value_or("");
  report.reporter.worker = in.id("worker_id").value_or("");
  in.finish();
  return report;
}

}  // namespace

void LeaseController::complete(const RequestPtr& request, Respond respond) {
  auto report = readReport(*request, readComplete);
  if (!report) return respond(tl::unexpected(std::move(report).error()));
  // Before the store is told of it: it completes the jobs of a batch in one step.
  if (auto ok = checkInline(report->result, report->inlined, inline_rules_); !ok) {
    return respond(tl::unexpected(std::move(ok).error()));
  }
  Wish wish;
  const Isolation isolation =
      mayRegister(report->result, report->artifacts) ? Isolation::kAlone : Isolation::kShared;
  if (!report->reporter.lease_token.empty() && isolation == Isolation::kShared) {
    wish.kind = Wish::Kind::kComplete;
    wish.job = report->job;
    wish.lease_token = report->reporter.lease_token;
  }
  gateway_.write(request, workOf(*std::move(report)), std::move(respond), isolation,
                 std::move(wish));
}
Result<Work> LeaseController::fail(const Request& request) { return reportWork(request, readFail); }
Result<Work> LeaseController::release(const Request& request) {
  return reportWork(request, readRelease);
}

Result<Work> LeaseController::renew(const Request& request) {
  std::optional<Millis> extend;
  auto report = readReport(request, [&](JsonValue value, std::vector<FieldError>& faults) {
    ObjectReader in(value, "", faults);
    OutcomeReport lease;
    lease.reporter.lease_token = in.required("lease_token", in.text("lease_token", 1, 128));
    if (const auto seconds = in.integer("extend_seconds", 1, 86'400)) extend = Seconds(*seconds);
    in.finish();
    return lease;
  });
  if (!report) return tl::unexpected(std::move(report).error());
  return [report = *std::move(report), extend](Store& store) {
    return jobReply(store.jobs().renew(report.job, report.reporter.lease_token, extend));
  };
}

Result<Work> LeaseController::progress(const Request& request) {
  double progress = 0;
  std::string message;
  auto report = readReport(request, [&](JsonValue value, std::vector<FieldError>& faults) {
    ObjectReader in(value, "", faults);
    OutcomeReport lease;
    lease.reporter.lease_token = in.required("lease_token", in.text("lease_token", 1, 128));
    progress = in.required("progress", in.number("progress", 0, 1));
    message = in.text("message", 0, 4096).value_or("");
    in.finish();
    return lease;
  });
  if (!report) return tl::unexpected(std::move(report).error());
  return [report = *std::move(report), progress, message](Store& store) {
    return jobReply(
        store.jobs().progress(report.job, report.reporter.lease_token, progress, message));
  };
}

}  // namespace muster
