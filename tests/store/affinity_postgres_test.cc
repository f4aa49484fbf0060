// Keys where several services claim on one database at the same instant.
#include <barrier>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "models/operations/affinities.h"
#include "tests/store/store_fixture.h"
#include "tests/support/postgres_server.h"

namespace muster::test {
namespace {

// Moves on by itself.
class WallClock : public Clock {
 public:
  Time now() const override {
    return std::chrono::time_point_cast<Millis>(std::chrono::system_clock::now());
  }
  std::chrono::nanoseconds monotonic() const override {
    return std::chrono::steady_clock::now().time_since_epoch();
  }
};

class AffinityPostgresTest : public testing::Test {
 protected:
  std::unique_ptr<Storage> open() {
    StorageOptions options;
    options.url = database_.url();
    auto opened = openStorage(options, clock_);
    if (!opened) throw std::runtime_error(opened.error());
    return *std::move(opened);
  }
  template <class Work>
  static auto run(Storage& storage, Work work, Isolation isolation = Isolation::kShared) {
    std::optional<std::invoke_result_t<Work&, Store&>> answer;
    const auto status =
        storage.writeAndWait([&](Store& store) { answer.emplace(work(store)); }, isolation);
    if (!status) throw std::runtime_error(status.error().detail);
    return *std::move(answer);
  }
  static void addWorker(Storage& storage, const std::string& id) {
    run(
        storage,
        [&](Store& s) {
          NewWorker worker = newWorker(id, "host-of-" + id);
          worker.mode = "loop";
          return s.workers().registerWorker(worker).version;
        },
        Isolation::kAlone);
  }
  static void push(Storage& storage, const std::string& key) {
    run(storage, [&](Store& s) {
      NewJob job{.data = "1", .affinity = key};
      job.affinity_mode = PinMode::kRequired;
      return s.jobs().push(*s.pools().findOrCreate(PoolId("p")).value(), job).created;
    });
  }
  static std::vector<Job> claim(Storage& storage, const std::string& worker, int max) {
    return run(storage, [&](Store& s) {
      const auto traits = s.workers().claimer(WorkerId(worker)).value().traits;
      return s.jobs().claim(*s.pools().find(PoolId("p")), worker, traits, max);
    });
  }

  PostgresDatabase database_;
  WallClock clock_;
};

TEST_F(AffinityPostgresTest, two_nodes_that_claim_at_once_bind_a_key_to_one_of_them) {
  constexpr int kRounds = 25, kJobs = 4;
  const auto one = open(), other = open();
  addWorker(*one, "w1");
  addWorker(*other, "w2");
  for (int round = 0; round < kRounds; ++round) {
    const std::string key = "k" + std::to_string(round);
    for (int i = 0; i < kJobs; ++i) push(*one, key);
    std::barrier ready(2);
    std::vector<Job> first, second;
    {
      std::jthread racer([&] {
        ready.arrive_and_wait();
        second = claim(*other, "w2", 2);
      });
      ready.arrive_and_wait();
      first = claim(*one, "w1", 2);
    }
    EXPECT_NE(first.empty(), second.empty()) << "round " << round << ": one of them has the key";
    const std::string holder = first.empty() ? "w2" : "w1";
    const auto bound = run(*one, [&](Store& s) { return muster::run(FindAffinity{key}, s); });
    ASSERT_TRUE(bound);
    EXPECT_EQ(bound->worker, holder);
    Storage& its = first.empty() ? *other : *one;
    const std::size_t taken = first.size() + second.size();
    EXPECT_EQ(claim(its, holder, 10).size(), kJobs - taken) << "the rest of its jobs";
  }
}

TEST_F(AffinityPostgresTest, counts_hold_while_keys_are_bound_and_jobs_move_on_two_nodes) {
  constexpr int kKeys = 10, kJobs = 12;
  const auto one = open(), other = open();
  addWorker(*one, "w1");
  addWorker(*other, "w2");
  for (int i = 0; i < kKeys * kJobs; ++i) push(*one, "k" + std::to_string(i % kKeys));
  std::map<std::string, std::set<std::string>> holders;
  std::size_t done = 0;
  std::mutex mutex;
  const auto work = [&](Storage& storage, const std::string& worker) {
    for (int empty = 0; empty < 3;) {
      const auto jobs = claim(storage, worker, 3);
      empty = jobs.empty() ? empty + 1 : 0;
      for (const Job& job : jobs) {
        const auto ended = run(storage, [&](Store& s) {
          return s.jobs().complete(job.id, {job.lease_token, ""}, std::nullopt, "");
        });
        EXPECT_TRUE(ended);
        const std::lock_guard lock(mutex);
        holders[job.affinity].insert(worker);
        ++done;
      }
    }
  };
  {
    std::jthread racer([&] { work(*other, "w2"); });
    work(*one, "w1");
  }
  EXPECT_EQ(done, static_cast<std::size_t>(kKeys * kJobs));
  for (const auto& [key, workers] : holders) EXPECT_EQ(workers.size(), 1U) << key;
  const PoolStats counted = run(
      *one, [](Store& s) { return s.pools().stats(PoolId("p")); }, Isolation::kAlone);
  EXPECT_EQ(counted.done, kKeys * kJobs);
  EXPECT_EQ(counted.pending, 0);
  EXPECT_EQ(counted.claimed, 0);
}

}  // namespace
}  // namespace muster::test
