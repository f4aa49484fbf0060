#include "tests/store/store_fixture.h"

#include <array>
#include <stdexcept>

namespace muster::test {

StoreTest::StoreTest() {
  rules.pool_defaults.retry_jitter = 0.0;
  reopen();
}

void StoreTest::TearDown() { expectCountersEqualARecount(); }

void StoreTest::reopen() {
  storage.reset();
  StorageOptions options;
  options.url = place->url();
  options.durability = GetParam().durability;
  options.rules = rules;
  options.own_clock = true;
  auto opened = openStorage(options, clock);
  if (!opened) throw std::runtime_error(opened.error());
  storage = *std::move(opened);
}

void StoreTest::require(const Status& status) {
  if (!status) throw std::runtime_error("the unit of work failed: " + status.error().detail);
}

void StoreTest::setPool(const PoolSettings& settings, const std::string& pool) {
  write([&](Store& store) { return store.pools().put(PoolId(pool), settings); }).value();
}

Jobs::Pushed StoreTest::tryPush(const NewJob& job, const std::string& pool) {
  return share([&](Store& store) {
    return store.jobs().push(*store.pools().findOrCreate(PoolId(pool)).value(), job);
  });
}

Job StoreTest::push(const NewJob& job, const std::string& pool) { return tryPush(job, pool).job; }

std::vector<Job> StoreTest::claim(int max, const std::string& worker, const std::string& pool) {
  return share([&](Store& store) {
    const auto claimer = store.workers().claimer(WorkerId(worker)).value();
    const auto found = store.pools().find(PoolId(pool));
    return found ? store.jobs().claim(*found, worker, claimer.traits, max) : std::vector<Job>();
  });
}

Result<Job> StoreTest::claimOne(const JobId& id, const std::string& worker) {
  return share([&](Store& store) {
    const auto claimer = store.workers().claimer(WorkerId(worker)).value();
    return store.jobs().claimOne(*store.pools().find(PoolId("p")), worker, claimer.traits, id);
  });
}

Job StoreTest::pushAndClaim(const NewJob& job, const std::string& worker) {
  return claimOne(push(job).id, worker).value();
}

Result<Job> StoreTest::complete(const Job& job, std::optional<std::string> result) {
  return share([&](Store& store) {
    return store.jobs().complete(job.id, {job.lease_token, ""}, result, "");
  });
}

Result<Job> StoreTest::fail(const Job& job, const FailureReport& report) {
  return share([&](Store& store) {
    return store.jobs().fail(job.id, {job.lease_token, ""}, report);
  });
}

Result<Job> StoreTest::release(const Job& job) {
  return share([&](Store& store) { return store.jobs().release(job.id, {job.lease_token, ""}); });
}

Job StoreTest::job(const JobId& id) {
  return read([&](Store& store) { return store.jobs().find(id); }).value();
}

std::vector<Attempt> StoreTest::attempts(const JobId& id) {
  return read([&](Store& store) { return store.jobs().attempts(id); });
}

std::int64_t StoreTest::purge(const std::vector<JobStatus>& statuses, const std::string& pool) {
  return write([&](Store& s) {
    return s.jobs().purgeMany(PoolId(pool), {.statuses = statuses}, {}, 10'000, 10'000).count;
  });
}

Worker StoreTest::registerWorker(const NewWorker& worker) {
  return write([&](Store& store) { return store.workers().registerWorker(worker); });
}

PoolStats StoreTest::stats(const std::string& pool) {
  return read([&](Store& store) { return store.pools().stats(PoolId(pool)); });
}

std::int64_t StoreTest::lastEvent() {
  return read([](Store& store) { return store.events().last(); });
}

std::vector<Event> StoreTest::eventsAfter(std::int64_t seq, const EventFilter& filter) {
  return read([&](Store& store) { return store.events().list(seq, filter, 100'000); })
      .value()
      .events;
}

Names StoreTest::eventTypesAfter(std::int64_t seq, const EventFilter& filter) {
  Names types;
  for (const Event& event : eventsAfter(seq, filter)) types.push_back(event.type);
  return types;
}

std::vector<Job> StoreTest::allJobs(const std::string& pool, const JobFilter& filter) {
  std::vector<Job> all;
  std::string cursor;
  do {
    auto page =
        read([&](Store& store) { return store.jobs().list(PoolId(pool), filter, cursor, 200); });
    for (Job& job : page.jobs) all.push_back(std::move(job));
    cursor = page.next_cursor;
  } while (!cursor.empty());
  return all;
}

void StoreTest::expectCountersEqualARecount() {
  const auto pools = read([](Store& store) { return store.pools().list("", 1000); });
  for (const auto& pool : pools) {
    const std::string id = pool->id.str();
    std::array<std::int64_t, kJobStatuses> recount{};
    for (const Job& job : allJobs(id)) ++recount[static_cast<std::size_t>(job.status)];
    const PoolStats counted = stats(id);
    EXPECT_EQ((std::array{counted.pending, counted.claimed, counted.done, counted.poisoned,
                          counted.cancelled, counted.blocked}),
              recount)
        << "pending, claimed, done, poisoned, cancelled, blocked of pool " << id;
  }
}

Names idsOf(const std::vector<Job>& jobs) {
  Names ids;
  for (const Job& job : jobs) ids.push_back(job.id.str());
  return ids;
}

NewWorker newWorker(const std::string& id, const std::string& host, const Names& capabilities,
                    const std::string& pool) {
  NewWorker worker;
  worker.id = WorkerId(id);
  worker.pool = pool;
  worker.host = host;
  worker.capabilities = capabilities;
  return worker;
}

FailureReport failure(const std::string& error) {
  FailureReport report;
  report.error = error;
  return report;
}

std::optional<ErrorCode> codeOf(const Status& status) {
  return status ? std::nullopt : std::optional(status.error().code);
}

}  // namespace muster::test
