#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <thread>

#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

constexpr int kJobs = 500;

// Claims until there is nothing left, in batches of changing size; the ids of all it got.
std::vector<std::string> claimAll(const std::string& url, const std::string& pool,
                                  const std::string& worker) {
  PoolClient client(url, pool);
  std::vector<std::string> claimed;
  for (int round = 0;; ++round) {
    const std::vector<std::string> next =
        ids(client.claim(worker, R"("max":)" + std::to_string(1 + round % 3)));
    if (next.empty()) return claimed;
    claimed.insert(claimed.end(), next.begin(), next.end());
  }
}

class ClaimRace : public ServiceFixture {
 protected:
  void expectEachOnce(std::vector<std::string> claimed, std::vector<std::string> pushed) {
    std::sort(claimed.begin(), claimed.end());
    std::sort(pushed.begin(), pushed.end());
    EXPECT_EQ(claimed, pushed);
    EXPECT_EQ(pool_.stats()["claimed"], kJobs);
    for (const Json::Value& job : pool_.list()) EXPECT_EQ(job["attempts"], 1);
  }
};

TEST_F(ClaimRace, eight_connections_claim_each_job_once) {
  const std::vector<std::string> pushed = pool_.pushMany(kJobs);
  std::vector<std::vector<std::string>> claimed(8);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < claimed.size(); ++i) {
      threads.emplace_back([&mine = claimed.at(i), url = service().url(), pool = pool_.name(), i] {
        mine = claimAll(url, pool, "w" + std::to_string(i));
      });
    }
  }
  std::vector<std::string> all;
  for (const auto& part : claimed) all.insert(all.end(), part.begin(), part.end());
  expectEachOnce(all, pushed);
}

TEST_F(ClaimRace, four_processes_claim_each_job_once) {
  const std::vector<std::string> pushed = pool_.pushMany(kJobs);
  const TempFolder folder;
  const std::string url = service().url();
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      std::ofstream out(folder / std::to_string(i));
      for (const std::string& id : claimAll(url, pool_.name(), "p" + std::to_string(i))) {
        out << id << "\n";
      }
      out.close();
      ::_exit(testing::Test::HasFailure() ? 1 : 0);
    }
    children.push_back(child);
  }
  std::vector<std::string> all;
  for (std::size_t i = 0; i < children.size(); ++i) {
    int status = 0;
    ASSERT_EQ(::waitpid(children[i], &status, 0), children[i]);
    EXPECT_EQ(status, 0);
    std::ifstream in(folder / std::to_string(i));
    for (std::string id; std::getline(in, id);) all.push_back(id);
  }
  expectEachOnce(all, pushed);
}

TEST_F(ClaimRace, the_limit_of_a_tenant_holds_under_load) {
  pool_.configure(R"("limits":{"per_tenant_concurrency":4})");
  for (int i = 0; i < 40; ++i) pool_.push(R"("data":1,"tenant":"t")");
  std::vector<std::size_t> counts(8);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      threads.emplace_back([&count = counts[i], url = service().url(), pool = pool_.name()] {
        count = claimAll(url, pool, "w").size();
      });
    }
  }
  std::size_t total = 0;
  for (const std::size_t count : counts) total += count;
  EXPECT_EQ(total, 4U);
}

// Eight workers in processes of their own whose jobs end in every way; the events, in their order,
// are the witness.
TEST_F(ClaimRace, the_limit_of_a_tenant_holds_however_its_jobs_end) {
  constexpr int kWorkers = 8, kTenants = 4, kLimit = 2, kJobsEach = 15;
  pool_.configure(R"("limits":{"per_tenant_concurrency":2},"lease_seconds":1,)"
                  R"("retry":{"base_ms":0,"max_retries":1000})");
  std::map<std::string, std::string> tenant_of;
  for (int i = 0; i < kTenants * kJobsEach; ++i) {
    const std::string tenant = "t" + std::to_string(i % kTenants);
    const Json::Value job = pool_.push(R"("data":1,"tenant":)" + inQuotes(tenant));
    tenant_of[job["id"].asString()] = tenant;
  }
  const auto work = [this, url = service().url()](int number) {
    PoolClient client(url, pool_.name());
    const std::array verbs{"complete", "fail", "release", "complete", "", "complete"};
    const auto all_done = [&] { return client.stats()["done"] == kTenants * kJobsEach; };
    return eventually(kPatience, [&, turn = number]() mutable {
      for (const Json::Value& job :
           client.claim("w" + std::to_string(number), R"("max":)" + std::to_string(1 + turn % 3))) {
        const std::string verb = verbs.at(static_cast<std::size_t>(turn++) % verbs.size());
        if (!verb.empty()) client.report(verb, job);  // else it is left to run out
      }
      client.tick();
      return all_done();
    });
  };
  std::vector<pid_t> children;
  for (int i = 0; i < kWorkers; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) ::_exit(work(i) && !testing::Test::HasFailure() ? 0 : 1);
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  std::map<std::string, int> held;
  int most = 0;
  for (const Json::Value& event : pool_.events("")) {
    const std::string type = event["type"].asString();
    const auto tenant = tenant_of.find(event["job_id"].asString());
    if (tenant == tenant_of.end() || type == "job.created" || type == "job.late_result_dropped") {
      continue;
    }
    most = std::max(most, held[tenant->second] += type == "job.claimed" ? 1 : -1);
  }
  EXPECT_EQ(most, kLimit);
  for (const auto& [tenant, count] : held) EXPECT_EQ(count, 0) << tenant;
}

TEST_F(ClaimRace, one_of_many_completers_wins) {
  pool_.push();
  const Json::Value job = pool_.claimOne();
  std::vector<int> statuses(8);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < statuses.size(); ++i) {
      threads.emplace_back([&status = statuses[i], &job, url = service().url(), i] {
        PoolClient client(url, "any");
        status = client.report("complete", job, R"("result":)" + std::to_string(i)).status;
      });
    }
  }
  EXPECT_EQ(std::count(statuses.begin(), statuses.end(), 200), 1);
  EXPECT_EQ(std::count(statuses.begin(), statuses.end(), 409), 7);
  EXPECT_EQ(pool_.eventTypes(job).at(2), "job.completed");
}

}  // namespace
}  // namespace muster::test
