#include "tests/store/job_model.h"

#include <algorithm>
#include <map>

namespace muster::test {

void JobModel::note(std::string_view type, const Entry& job) {
  events.push_back(std::string(type) + " " + job.id);
}

JobModel::Entry* JobModel::find(const std::string& id) {
  const auto found =
      std::find_if(jobs.begin(), jobs.end(), [&](const Entry& j) { return j.id == id; });
  return found == jobs.end() ? nullptr : &*found;
}

JobModel::Entry* JobModel::living(const std::string& unique_key) {
  for (Entry& job : jobs) {
    if (!unique_key.empty() && job.unique_key == unique_key && !isFinished(job.status)) return &job;
  }
  return nullptr;
}

void JobModel::pushed(Entry entry) {
  if (!entry.tenant.empty()) tenants.insert(entry.tenant);
  jobs.push_back(std::move(entry));
  note("job.created", jobs.back());
}

bool JobModel::claimable(const Entry& job, bool has_gpu, const std::string& host, Time now) const {
  if (!job.host.empty() && job.host != host) return false;
  return job.status == JobStatus::kPending && job.available_at <= now &&
         (!job.expires_at || *job.expires_at > now) && (has_gpu || !job.needs_gpu) &&
         (job.tenant.empty() || claimedBy(job.tenant) < kTenantLimit);
}

void JobModel::take(Entry& job, const std::string& worker, Time now) {
  job.status = JobStatus::kClaimed;
  job.attempts += 1;
  job.worker = worker;
  job.lease_until = now + Seconds(60);
  if (!tenants.empty()) turns[job.tenant] = ++last_turn;
  note("job.claimed", job);
}

std::vector<std::string> JobModel::claim(const std::string& worker, bool has_gpu,
                                         const std::string& host, int max, Time now) {
  std::vector<std::string> taken;
  while (taken.size() < static_cast<std::size_t>(max)) {
    Entry* best = nullptr;
    for (Entry& job : jobs) {
      if (!claimable(job, has_gpu, host, now)) continue;
      const auto rank = [this](const Entry& each) {
        return std::pair(-each.priority, turns[each.tenant]);
      };
      if (best == nullptr || rank(job) < rank(*best)) best = &job;
    }
    if (best == nullptr) break;
    take(*best, worker, now);
    taken.push_back(best->id);
  }
  return taken;
}

void JobModel::forgetTenants() {
  std::erase_if(tenants, [&](const std::string& tenant) {
    const bool empty = std::none_of(jobs.begin(), jobs.end(),
                                    [&](const Entry& job) { return job.tenant == tenant; });
    if (empty) turns.erase(tenant);
    return empty;
  });
}

Millis JobModel::backoff(int attempts) {
  return std::min(Millis(400) * (1 << std::min(attempts - 1, 20)), Millis(60'000));
}

void JobModel::endTry(Entry& job, JobStatus status, Time now) {
  job.status = status;
  job.worker.clear();
  job.token.clear();
  job.cancel_requested = false;
  if (isFinished(status)) job.finished_at = now;
}

void JobModel::complete(Entry& job, Time now) {
  job.status = JobStatus::kDone;
  job.finished_at = now;
  note("job.completed", job);
}

void JobModel::fail(Entry& job, bool retryable, bool no_penalty, Time now) {
  if (job.cancel_requested) {
    endTry(job, JobStatus::kCancelled, now);
    note("job.cancelled", job);
  } else if (!retryable || (!no_penalty && job.attempts >= job.max_retries)) {
    endTry(job, JobStatus::kPoisoned, now);
    note("job.poisoned", job);
  } else {
    job.available_at = now + backoff(job.attempts);
    if (no_penalty) job.attempts -= 1;
    endTry(job, JobStatus::kPending, now);
    note("job.failed", job);
  }
}

void JobModel::release(Entry& job, Time now) {
  const bool cancelled = job.cancel_requested;
  job.attempts -= 1;
  if (!cancelled) job.available_at = now;
  endTry(job, cancelled ? JobStatus::kCancelled : JobStatus::kPending, now);
  note(cancelled ? "job.cancelled" : "job.released", job);
}

void JobModel::lose(Entry& job, Time now) {
  if (job.cancel_requested) {
    endTry(job, JobStatus::kCancelled, now);
    note("job.cancelled", job);
  } else if (job.attempts >= job.max_retries) {
    endTry(job, JobStatus::kPoisoned, now);
    note("job.poisoned", job);
  } else {
    job.available_at = now + backoff(job.attempts);
    endTry(job, JobStatus::kPending, now);
    note("job.reassigned", job);
  }
}

void JobModel::cancel(Entry& job, Time now) {
  if (job.status == JobStatus::kClaimed) {
    job.cancel_requested = true;
  } else if (job.status == JobStatus::kPending) {
    job.status = JobStatus::kCancelled;
    job.finished_at = now;
    note("job.cancelled", job);
  }
}

void JobModel::retry(Entry& job, Time now) {
  job.status = JobStatus::kPending;
  job.attempts = 0;
  job.available_at = now;
  job.expires_at.reset();
  job.finished_at.reset();
  note("job.retried", job);
}

int JobModel::retryPoisoned(Time now) {
  int retried = 0;
  for (Entry& job : jobs) {
    if (job.status != JobStatus::kPoisoned || living(job.unique_key) != nullptr) continue;
    retry(job, now);
    ++retried;
  }
  return retried;
}

int JobModel::expirePending(Time now) {
  std::vector<Entry*> expired;
  for (Entry& job : jobs) {
    if (job.status == JobStatus::kPending && job.expires_at && *job.expires_at <= now) {
      expired.push_back(&job);
    }
  }
  std::stable_sort(expired.begin(), expired.end(),
                   [](const Entry* a, const Entry* b) { return *a->expires_at < *b->expires_at; });
  for (Entry* job : expired) {
    job->status = JobStatus::kCancelled;
    job->finished_at = now;
    note("job.expired", *job);
  }
  return static_cast<int>(expired.size());
}

int JobModel::expireLeases(Time now) {
  std::vector<Entry*> expired;
  for (Entry& job : jobs) {
    if (job.status == JobStatus::kClaimed && job.lease_until < now) expired.push_back(&job);
  }
  std::stable_sort(expired.begin(), expired.end(),
                   [](const Entry* a, const Entry* b) { return a->lease_until < b->lease_until; });
  for (Entry* job : expired) lose(*job, now);
  return static_cast<int>(expired.size());
}

int JobModel::releaseByWorker(const std::string& worker, Time now) {
  int released = 0;
  for (Entry& job : jobs) {
    if (job.status != JobStatus::kClaimed || job.worker != worker) continue;
    lose(job, now);
    ++released;
  }
  return released;
}

int JobModel::removeIf(const std::function<bool(const Entry&)>& unwanted) {
  return static_cast<int>(std::erase_if(jobs, unwanted));
}

int JobModel::count(JobStatus status) const {
  return static_cast<int>(std::count_if(jobs.begin(), jobs.end(),
                                        [&](const Entry& job) { return job.status == status; }));
}

int JobModel::claimedBy(const std::string& tenant) const {
  return static_cast<int>(std::count_if(jobs.begin(), jobs.end(), [&](const Entry& job) {
    return job.status == JobStatus::kClaimed && job.tenant == tenant;
  }));
}

// What workers could claim now, one of them with a GPU, and one on each host.
int JobModel::runnable(Time now) const {
  std::map<std::string, int> due;
  for (const Entry& job : jobs) {
    if (claimable(job, true, job.host, now)) ++due[job.tenant];
  }
  int sum = 0;
  for (const auto& [tenant, jobs_due] : due) {
    sum += tenant.empty() ? jobs_due : std::min(jobs_due, kTenantLimit - claimedBy(tenant));
  }
  return sum;
}

int JobModel::waitingForGpu(Time now) const {
  return static_cast<int>(std::count_if(jobs.begin(), jobs.end(), [&](const Entry& job) {
    const bool due = job.available_at <= now && (!job.expires_at || *job.expires_at > now);
    return job.status == JobStatus::kPending && job.needs_gpu && due;
  }));
}

}  // namespace muster::test
