#include <random>

#include "models/operations/affinities.h"
#include "tests/store/job_model.h"
#include "tests/store/store_fixture.h"

namespace muster::test {
namespace {

// Thousands of operations chosen at random, each compared with what the model says.
class RandomWalkTest : public StoreTest {
 protected:
  RandomWalkTest() {
    rules.affinities.max_failures = 1'000'000;
    reopen();
  }
  static constexpr int kOperations = 3000;

  int roll(int sides) { return std::uniform_int_distribution(0, sides - 1)(dice); }
  bool chance(int percent) { return roll(100) < percent; }
  Time now() const { return clock.now(); }
  static std::string hostName(int number) { return "h" + std::to_string(number); }

  JobModel::Entry* anyJob() {
    return model.jobs.empty()
               ? nullptr
               : &model.jobs[static_cast<std::size_t>(roll(static_cast<int>(model.jobs.size())))];
  }
  JobModel::Entry* anyClaimed() {
    std::vector<JobModel::Entry*> claimed;
    for (auto& each : model.jobs) {
      if (each.status == JobStatus::kClaimed) claimed.push_back(&each);
    }
    return claimed.empty()
               ? nullptr
               : claimed[static_cast<std::size_t>(roll(static_cast<int>(claimed.size())))];
  }

  void pushOne(Store& s) {
    NewJob given{.data = "1", .max_retries = roll(4), .priority = roll(3)};
    given.tenant = chance(60) ? "t" + std::to_string(roll(3)) : "";
    given.unique_key = chance(20) ? "u" + std::to_string(roll(4)) : "";
    if (chance(20)) given.placement.capabilities = {"gpu"};
    const std::string host = given.placement.empty() && chance(30) ? hostName(roll(2)) : "";
    if (!host.empty()) {
      given.affinity = host;  // is bound to the host of this name
      given.affinity_mode = PinMode::kRequired;
    }
    if (chance(25)) given.delay = Millis(1 + roll(5000));
    if (chance(20)) given.expires_at = now() + given.delay + Millis(1 + roll(8000));
    const auto* twin = model.living(given.unique_key);
    if (twin != nullptr && twin->status == JobStatus::kPending && twin->expires_at &&
        *twin->expires_at <= now()) {
      return;  // a case of its own, in the tests of push
    }
    const auto answer = s.jobs().push(*s.pools().find(PoolId("p")), given);
    EXPECT_EQ(answer.created, twin == nullptr);
    if (twin != nullptr) {
      EXPECT_EQ(answer.job.id.str(), twin->id);
      return;
    }
    JobModel::Entry entry;
    entry.id = answer.job.id.str();
    entry.priority = given.priority;
    entry.max_retries = *given.max_retries;
    entry.tenant = given.tenant;
    entry.unique_key = given.unique_key;
    entry.needs_gpu = !given.placement.empty();
    entry.host = host;
    entry.available_at = now() + given.delay;
    entry.expires_at = given.expires_at;
    model.pushed(std::move(entry));
  }

  void claimSome(Store& s) {
    const std::string worker = "w" + std::to_string(roll(4));
    const bool has_gpu = chance(50);
    const int max = 1 + roll(4);
    EXPECT_EQ(s.jobs().expirePending(9999), model.expirePending(now()));
    WorkerTraits traits;
    if (has_gpu) traits.capabilities = {"gpu"};
    if (chance(70)) traits.node = hostName(roll(2));
    const auto taken = s.jobs().claim(*s.pools().find(PoolId("p")), worker, traits, max);
    EXPECT_EQ(idsOf(taken), model.claim(worker, has_gpu, traits.node, max, now()));
    for (const Job& each : taken) {
      if (auto* entry = model.find(each.id.str())) entry->token = each.lease_token;
    }
  }

  void claimThis(Store& s) {
    auto* entry = anyJob();
    if (entry == nullptr) return;
    const auto answer = s.jobs().claimOne(*s.pools().find(PoolId("p")), "w0", {}, JobId(entry->id));
    ASSERT_EQ(answer.has_value(), model.claimable(*entry, false, "", now()));
    if (!answer) return;
    model.take(*entry, "w0", now());
    entry->token = answer->lease_token;
  }

  void reportOne(Store& s) {
    auto* entry = anyClaimed();
    if (entry == nullptr) return;
    const JobId id(entry->id);
    const Reporter holder{chance(80) ? entry->token : "", entry->worker};
    FailureReport report;
    switch (roll(6)) {
      case 0:
      case 1:
        EXPECT_TRUE(s.jobs().complete(id, holder, "1", ""));
        model.complete(*entry, now());
        break;
      case 2:
        EXPECT_TRUE(s.jobs().release(id, holder));
        model.release(*entry, now());
        break;
      case 3:
        EXPECT_EQ(codeOf(s.jobs().complete(id, {"wrong", ""}, "1", "")), ErrorCode::kLeaseLost);
        model.events.push_back("job.late_result_dropped " + entry->id);
        break;
      default:
        report.retryable = !chance(10);
        report.no_penalty = chance(20);
        EXPECT_TRUE(s.jobs().fail(id, holder, report));
        model.fail(*entry, report.retryable, report.no_penalty, now());
    }
  }

  void renewOne(Store& s) {
    auto* entry = anyClaimed();
    if (entry == nullptr) return;
    const bool in_time = entry->lease_until >= now();
    EXPECT_EQ(s.jobs().renew(JobId(entry->id), entry->token, {}).has_value(), in_time);
    if (in_time) entry->lease_until = now() + 60s;
  }

  void operateOne(Store& s) {
    auto* entry = anyJob();
    if (entry == nullptr) return;
    const JobId id(entry->id);
    const JobStatus status = entry->status;
    switch (roll(3)) {
      case 0:
        EXPECT_EQ(s.jobs().cancel(id, "").has_value(),
                  status != JobStatus::kDone && status != JobStatus::kPoisoned);
        model.cancel(*entry, now());
        break;
      case 1: {
        const bool dead = status == JobStatus::kPoisoned || status == JobStatus::kCancelled;
        const bool possible = dead && model.living(entry->unique_key) == nullptr;
        EXPECT_EQ(s.jobs().retry(id).has_value(), possible);
        if (possible) model.retry(*entry, now());
        break;
      }
      default:
        EXPECT_EQ(s.jobs().remove(id).has_value(), status != JobStatus::kClaimed);
        model.removeIf(
            [&](const auto& j) { return j.id == id.str() && status != JobStatus::kClaimed; });
    }
  }

  void upkeep(Store& s) {
    switch (roll(8)) {
      case 0:
        EXPECT_EQ(s.jobs().expireLeases(9999), model.expireLeases(now()));
        break;
      case 1:
        EXPECT_EQ(s.jobs().expirePending(9999), model.expirePending(now()));
        break;
      case 2:
        s.jobs().promoteDue(9999);
        break;
      case 3:
        s.pools().removeEmptyLanes(9999);
        model.forgetTenants();
        break;
      case 4:
        EXPECT_EQ(s.jobs().releaseByWorker("w1", "x"), model.releaseByWorker("w1", now()));
        break;
      case 5:
        if (!chance(20)) break;
        EXPECT_EQ(
            s.jobs().purgeMany(PoolId("p"), {.statuses = {JobStatus::kDone}}, {}, 9999, 9999).count,
            model.removeIf([](const auto& j) { return j.status == JobStatus::kDone; }));
        break;
      case 6:
        EXPECT_EQ(s.jobs().removeFinished(now() - 60s, 9999), model.removeIf([&](const auto& j) {
          return j.finished_at && *j.finished_at < now() - 60s;
        }));
        break;
      default:
        heartbeatOf("w2", s);
    }
  }

  void heartbeatOf(const std::string& worker, Store& s) {
    std::size_t renewed = 0;
    for (auto& each : model.jobs) {
      if (each.status != JobStatus::kClaimed || each.worker != worker || each.lease_until < now())
        continue;
      each.lease_until = std::max(each.lease_until, now() + 60s);
      ++renewed;
    }
    EXPECT_EQ(s.jobs().renewByWorker(worker).size(), renewed);
  }

  void step(Store& s) {
    const int choice = roll(100);
    if (choice < 30) return pushOne(s);
    if (choice < 50) return claimSome(s);
    if (choice < 54) return claimThis(s);
    if (choice < 76) return reportOne(s);
    if (choice < 80) return renewOne(s);
    if (choice < 88) return operateOne(s);
    upkeep(s);
  }

  // As if the worker with the GPU were leaving.
  std::int64_t unplaceableWithoutGpu() {
    std::int64_t count = -1;
    EXPECT_FALSE(storage->writeAndWait([&](Store& s) {
      WorkerChange leaving;
      leaving.status = "terminating";
      s.workers().change(WorkerId("with-gpu"), leaving).value();
      count = s.pools().stats(PoolId("p")).unplaceable;
      throw std::runtime_error("undo it all");
    }));
    return count;
  }

  void compare() {
    auto listed = allJobs();
    std::reverse(listed.begin(), listed.end());
    ASSERT_EQ(listed.size(), model.jobs.size());
    for (std::size_t i = 0; i < listed.size(); ++i) {
      const Job& seen = listed[i];
      const auto& meant = model.jobs[i];
      ASSERT_EQ(seen.id.str(), meant.id);
      EXPECT_EQ(seen.status, meant.status) << seen.id.str();
      EXPECT_EQ(seen.attempts, meant.attempts) << seen.id.str();
      EXPECT_EQ(seen.available_at, meant.available_at) << seen.id.str();
      EXPECT_EQ(seen.finished_at, meant.finished_at) << seen.id.str();
      EXPECT_EQ(seen.cancel_requested, meant.cancel_requested) << seen.id.str();
      EXPECT_EQ(seen.lease_expires_at, meant.status == JobStatus::kClaimed
                                           ? std::optional(meant.lease_until)
                                           : std::nullopt);
    }
    const PoolStats counted = stats();
    EXPECT_EQ(counted.pending, model.count(JobStatus::kPending));
    EXPECT_EQ(counted.claimed, model.count(JobStatus::kClaimed));
    EXPECT_EQ(counted.runnable, model.runnable(now()));
    EXPECT_EQ(counted.unplaceable, 0);
    EXPECT_EQ(unplaceableWithoutGpu(), model.waitingForGpu(now()));
    Names told;
    for (const Event& event : eventsAfter(begin)) told.push_back(event.type + " " + event.job);
    const auto [seen, meant] =
        std::mismatch(told.begin(), told.end(), model.events.begin(), model.events.end());
    EXPECT_EQ(seen == told.end() ? "the end" : *seen,
              meant == model.events.end() ? "the end" : *meant)
        << "event " << seen - told.begin();
  }

  void walk(unsigned seed) {
    dice.seed(seed);
    setPool(with<PoolSettings>([](auto& s) { s.per_tenant_concurrency = JobModel::kTenantLimit; }));
    registerWorker(newWorker("with-gpu", "", {"gpu"}));
    for (int host = 0; host < 2; ++host) {
      const std::string name = hostName(host);
      registerWorker(newWorker("on-" + name, name));
      for (const char* tenant : {"", "t0", "t1", "t2"}) {
        const PutAffinity op{.key = name,
                             .tenant = tenant,
                             .holder = {Holder::Kind::kHost, name},
                             .by = {.is_admin = true}};
        write([&](Store& s) { run(op, s).value(); });
      }
    }
    begin = lastEvent();
    for (int done = 0; done < kOperations && !HasFailure();) {
      const int together = 1 + roll(4);
      if (chance(5)) {
        const JobModel before = model;
        EXPECT_FALSE(storage->writeAndWait([&](Store& s) {
          for (int i = 0; i < together; ++i) step(s);
          throw std::runtime_error("undo it all");
        }));
        model = before;
      } else {
        write([&](Store& s) {
          for (int i = 0; i < together; ++i) step(s);
        });
      }
      done += together;
      if (chance(40)) clock.advance(Millis(roll(chance(5) ? 70'000 : 2000)));
      if (chance(3)) compare();
    }
    compare();
  }

  std::mt19937 dice;
  JobModel model;
  std::int64_t begin = 0;
};
MUSTER_ON_EVERY_BACKEND(RandomWalkTest);

// Keys of jobs stay with their hosts all the way.
TEST_P(RandomWalkTest, agreesWithTheModelAllTheWay) { walk(20'260'301); }

}  // namespace
}  // namespace muster::test
