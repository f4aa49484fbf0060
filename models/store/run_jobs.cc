#include <fmt/format.h>

#include <memory>
#include <span>
#include <utility>

#include "models/json/job_json.h"
#include "models/operations/jobs.h"
#include "models/store/sql/resource_refs.h"
#include "models/store/store.h"

namespace muster {
namespace {

std::string pointerOf(const PushJobs& op, std::size_t i) {
  return op.is_batch ? fmt::format("/items/{}", i) : std::string();
}

// What only the time of the store can tell is checked for all jobs before the first is written.
Status checkTimes(const PushJobs& op, Time now) {
  std::vector<FieldError> faults;
  for (std::size_t i = 0; i < op.jobs.size(); ++i) {
    if (!expiresBeforeItBegins(op.jobs[i], now)) continue;
    faults.push_back(
        {pointerOf(op, i) + "/expires_at", "range", "must be after the job becomes available"});
  }
  if (faults.empty()) return {};
  return tl::unexpected(Error{ErrorCode::kInvalid, "the request is not valid", std::move(faults)});
}

Status checkTwins(const PushJobs& op, Store& store) {
  const std::size_t most = store.rules().max_answer_bytes;
  const auto twins = store.jobs().twinBytes(op.pool, op.jobs);
  if (twins <= most) return {};
  return fail(ErrorCode::kBodyTooLarge,
              fmt::format("the jobs that have these unique_keys already hold {} bytes; an answer "
                          "has at most {} (max_body_bytes): push fewer at a time",
                          twins, most));
}

// A job that is there already stays where it is.
Status checkPins(const Pool& pool, const PushJobs& op, std::size_t i, const NewJob& job,
                 std::span<const ResourceRefs::Found> found, Store& store) {
  if (job.affinity.empty() && found.empty()) return {};
  if (store.jobs().liveTwin(pool.id, job.unique_key)) return {};
  return store.pins().check(pool, job, job.tenant, Pins::refsOf(job, found, pointerOf(op, i)),
                            pointerOf(op, i));
}

// Of each job with refs; a job that is there already keeps those it has.
using RefsOfJobs = std::vector<std::vector<ResourceRefs::Found>>;
Result<RefsOfJobs> resolveAll(const Pool& pool, const PushJobs& op, std::vector<NewJob>& jobs,
                              ResourceRefs& refs, Store& store) {
  RefsOfJobs all(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    NewJob& job = jobs[i];
    if (*pool.settings.payload_refs) {
      if (auto ok = addPayloadRefs(job, pointerOf(op, i)); !ok) {
        return tl::unexpected(std::move(ok).error());
      }
    }
    if (job.refs.empty() || store.jobs().liveTwin(pool.id, job.unique_key)) continue;
    auto found = refs.resolve(pool, job, job.tenant, pointerOf(op, i));
    if (!found) return tl::unexpected(std::move(found).error());
    all[i] = *std::move(found);
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (auto ok = checkPins(pool, op, i, jobs[i], all[i], store); !ok) {
      return tl::unexpected(std::move(ok).error());
    }
  }
  return all;
}

Result<PushJobs::Reply> pushWithRefs(const Pool& pool, const PushJobs& op, Store& store) {
  std::vector<NewJob> jobs = op.jobs;
  ResourceRefs refs(store.session);
  auto found = resolveAll(pool, op, jobs, refs, store);
  if (!found) return tl::unexpected(std::move(found).error());
  PushJobs::Reply reply;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const bool keeps = ResourceRefs::keepsAny((*found)[i]);
    auto pushed = store.jobs().push(pool, jobs[i], keeps ? job_link::kHasRefs : 0,
                                    Pins::refsOf(jobs[i], (*found)[i], pointerOf(op, i)));
    if (pushed.created) refs.add(pushed.seq, (*found)[i]);
    reply.push_back({std::move(pushed.job), pushed.created});
  }
  refs.settle();  // so that the next unit of the transaction sees who uses what
  return reply;
}

}  // namespace

Result<PushJobs::Reply> run(const PushJobs& op, Store& store) {
  if (auto ok = checkTimes(op, store.now()); !ok) return tl::unexpected(std::move(ok).error());
  const auto pool = store.pools().findOrCreate(op.pool);
  if (!pool) return tl::unexpected(pool.error());
  if (op.is_batch) {
    if (auto ok = checkTwins(op, store); !ok) return tl::unexpected(std::move(ok).error());
  }
  for (const NewJob& job : op.jobs) {
    if (mayHaveRefs(job)) return pushWithRefs(**pool, op, store);
  }
  for (std::size_t i = 0; i < op.jobs.size(); ++i) {
    if (auto ok = checkPins(**pool, op, i, op.jobs[i], {}, store); !ok) {
      return tl::unexpected(std::move(ok).error());
    }
  }
  PushJobs::Reply reply;
  reply.reserve(op.jobs.size());
  for (const NewJob& job : op.jobs) {
    auto pushed = store.jobs().push(**pool, job);
    reply.push_back({std::move(pushed.job), pushed.created});
  }
  return reply;
}

}  // namespace muster
