#include <atomic>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

constexpr int kRounds = 24;
constexpr int kPushers = 2;
constexpr int kWorkers = 2;
const std::string kPool = "crash";

// All that the service has acknowledged, over all its lives.
struct Ledger {
  std::mutex mutex;
  std::map<std::string, int> pushed;           // id → its data
  std::map<std::string, int> completed;        // id → its result
  std::map<std::string, std::set<int>> tries;  // id → attempts handed out
  std::vector<std::string> contradictions;
  std::string last_failure;  // of a request that was not answered

  void contradict(const std::string& what) { contradictions.push_back(what); }
};

// Pushes one job after the other. What was in flight at a crash is sent again with the same key,
// so that in the end every number is there exactly once.
class Pusher {
 public:
  Pusher(int first, Ledger& ledger) : next_(first), ledger_(ledger) {}

  void run(const std::string& url, std::atomic<int>& acknowledged) {
    PoolClient client(url, kPool);
    while (true) {
      const std::string number = std::to_string(next_);
      const Reply reply =
          client.tryPush(R"("data":)" + number, {{"Idempotency-Key", "push-" + number}});
      const std::lock_guard lock(ledger_.mutex);
      if (reply.status == 0) {
        ledger_.last_failure = reply.failure;
        return;
      }
      if (reply.status != 201) return ledger_.contradict("push: " + reply.body);
      ledger_.pushed[reply.json["id"].asString()] = next_;
      next_ += kPushers;
      ++acknowledged;
    }
  }
  int next() const { return next_; }

 private:
  int next_;
  Ledger& ledger_;
};

void workUntilCrash(const std::string& url, int worker, int round, Ledger& ledger,
                    std::atomic<int>& acknowledged) {
  PoolClient client(url, kPool);
  const std::string name = "w" + std::to_string(worker) + "-" + std::to_string(round);
  while (true) {
    const Reply claim = client.tryClaim(name, R"("wait_seconds":1)");
    if (claim.status == 0) return;
    for (const Json::Value& job : claim.json["items"]) {
      const std::string id = job["id"].asString();
      {
        const std::lock_guard lock(ledger.mutex);
        ++acknowledged;
        if (!ledger.tries[id].insert(job["attempt"].asInt()).second) {
          ledger.contradict(id + " was claimed twice in one try");
        }
        if (ledger.completed.contains(id)) ledger.contradict(id + " was claimed after its end");
      }
      const int result = worker * 1000 + round;
      const Reply done = client.report("complete", job, R"("result":)" + std::to_string(result));
      if (done.status == 0) return;
      const std::lock_guard lock(ledger.mutex);
      if (done.status != 200) return ledger.contradict("complete: " + done.body);
      if (!ledger.completed.emplace(id, result).second) ledger.contradict(id + " was done twice");
      ++acknowledged;
    }
  }
}

class Crash : public testing::Test {
 protected:
  // One life of the service: load from all sides, and no warning before it ends.
  void liveAndDie(int round, int acknowledgements) {
    std::atomic<int> acknowledged = 0;
    std::vector<std::jthread> threads;
    for (Pusher& pusher : pushers_) {
      threads.emplace_back(
          [&pusher, &acknowledged, url = service_.url()] { pusher.run(url, acknowledged); });
    }
    for (int i = 0; i < kWorkers; ++i) {
      threads.emplace_back([this, i, round, &acknowledged, url = service_.url()] {
        workUntilCrash(url, i, round, ledger_, acknowledged);
      });
    }
    EXPECT_TRUE(eventually(
        kPatience, [&acknowledged, acknowledgements] { return acknowledged >= acknowledgements; }))
        << "only " << acknowledged << " in round " << round << ": " << ledger_.last_failure;
    service_.kill9();
  }

  void expectPushesKept(const std::map<std::string, Json::Value>& jobs) {
    std::map<int, int> numbers;
    for (const auto& [id, job] : jobs) ++numbers[job["data"].asInt()];
    for (const auto& [number, count] : numbers) {
      EXPECT_EQ(count, 1) << "data " << number << " was pushed " << count << " times";
    }
    for (const auto& [id, number] : ledger_.pushed) {
      const auto found = jobs.find(id);
      ASSERT_NE(found, jobs.end()) << "an acknowledged push is lost: " << id;
      EXPECT_EQ(found->second["data"], number);
    }
  }

  void expectOutcomesKept(const std::map<std::string, Json::Value>& jobs) {
    for (const auto& [id, result] : ledger_.completed) {
      EXPECT_EQ(jobs.at(id)["status"], "done") << id;
      EXPECT_EQ(jobs.at(id)["result"], result) << id;
    }
    for (const auto& [id, tries] : ledger_.tries) {
      EXPECT_GE(jobs.at(id)["attempts"].asInt(), *tries.rbegin()) << id;
      EXPECT_NE(jobs.at(id)["status"], "pending") << "a claim was forgotten: " << id;
    }
  }

  void expectOneEnd(PoolClient& client, const std::map<std::string, Json::Value>& jobs) {
    std::map<std::string, int> ends;
    for (const Json::Value& event : client.events("types=job.completed")) {
      ++ends[event["job_id"].asString()];
    }
    int done = 0;
    for (const auto& [id, job] : jobs) {
      if (job["status"] != "done") continue;
      ++done;
      EXPECT_EQ(ends[id], 1) << id;
    }
    EXPECT_EQ(ends.size(), static_cast<std::size_t>(done));
    EXPECT_EQ(client.stats()["done"], done);
  }

  Ledger ledger_;
  Service service_;
  std::vector<Pusher> pushers_;
};

TEST_F(Crash, what_was_acknowledged_survives_kill_9_in_the_middle_of_load) {
  for (int i = 0; i < kPushers; ++i) pushers_.emplace_back(i, ledger_);
  std::mt19937 dice(20240117);
  for (int round = 0; round < kRounds; ++round) {
    liveAndDie(round, static_cast<int>(20 + dice() % 130));
    service_.start();
  }
  EXPECT_TRUE(ledger_.contradictions.empty()) << ledger_.contradictions.front();
  EXPECT_GT(ledger_.completed.size(), 100U);

  PoolClient client(service_.url(), kPool);
  std::map<std::string, Json::Value> jobs;
  for (const Json::Value& job : client.list()) jobs[job["id"].asString()] = job;
  expectPushesKept(jobs);
  expectOutcomesKept(jobs);
  expectOneEnd(client, jobs);
  EXPECT_EQ(client.stats()["queue_depth"].asInt() + client.stats()["claimed"].asInt() +
                client.stats()["done"].asInt(),
            static_cast<int>(jobs.size()));
  EXPECT_EQ(service_.stop(), 0) << service_.log();
}

}  // namespace
}  // namespace muster::test
