// Several services on one PostgreSQL database.
#include <algorithm>
#include <thread>

#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

class Nodes : public testing::Test {
 protected:
  PostgresDatabase database_;
  Service one_{{.store = database_.url()}};
  Service other_{{.store = database_.url()}};
  PoolClient here_{one_.url(), "p"};
  PoolClient there_{other_.url(), "p"};
};

TEST_F(Nodes, eight_claimers_of_three_services_claim_each_job_once) {
  Service third({.store = database_.url()});
  constexpr int kJobs = 2000;
  std::vector<std::string> pushed;
  for (int i = 0; i < kJobs / 500; ++i) {
    for (std::string& id : here_.pushMany(500)) pushed.push_back(std::move(id));
  }
  const std::string urls[] = {one_.url(), other_.url(), third.url()};
  std::vector<std::vector<std::string>> claimed(8);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < claimed.size(); ++i) {
      threads.emplace_back([&mine = claimed[i], url = urls[i % 3], i] {
        PoolClient client(url, "p");
        for (int round = 0;; ++round) {
          const auto next =
              client.claim("w" + std::to_string(i), R"("max":)" + std::to_string(1 + round % 3));
          if (next.empty()) return;
          for (std::string& id : ids(next)) mine.push_back(std::move(id));
        }
      });
    }
  }
  std::vector<std::string> all;
  for (const auto& part : claimed) all.insert(all.end(), part.begin(), part.end());
  std::sort(all.begin(), all.end());
  std::sort(pushed.begin(), pushed.end());
  EXPECT_EQ(all, pushed);
  EXPECT_EQ(there_.stats()["claimed"], kJobs);
}

TEST_F(Nodes, a_claim_that_waits_here_is_woken_by_a_push_there) {
  PendingReply claim(one_.url(),
                     {"POST", "/v1/pools/p/claim", R"({"worker_id":"w","wait_seconds":25})"});
  EXPECT_FALSE(claim.finished(300ms));
  const Json::Value job = there_.push();
  ASSERT_TRUE(claim.finished(kPatience));
  EXPECT_EQ(claim.reply().json["items"][0]["id"], job["id"]) << claim.reply();
}

TEST_F(Nodes, who_waits_here_for_a_job_learns_of_its_end_there) {
  const Json::Value job = here_.push();
  PendingReply wait(one_.url(), {"GET", "/v1/jobs/" + job["id"].asString() + "?wait_seconds=25"});
  EXPECT_FALSE(wait.finished(300ms));
  EXPECT_EQ(there_.report("complete", there_.claimOne(), R"("result":7)").status, 200);
  ASSERT_TRUE(wait.finished(kPatience));
  EXPECT_EQ(wait.reply().json["result"], 7) << wait.reply();
}

TEST_F(Nodes, a_stream_here_has_the_events_from_there) {
  PendingReply stream(one_.url(), {"GET", "/v1/events/stream"});
  ASSERT_TRUE(stream.until(kPatience, [](const Reply& reply) { return !reply.headers.empty(); }));
  const Json::Value job = there_.push();
  EXPECT_TRUE(stream.until(kPatience, [&](const Reply& reply) {
    return reply.body.find(job["id"].asString()) != std::string::npos;
  })) << stream.reply();
}

TEST_F(Nodes, settings_changed_here_count_there_at_once) {
  there_.push();
  here_.configure(R"("paused":true)");
  EXPECT_TRUE(there_.claim("w").empty());
  here_.configure(R"("paused":false)");
  EXPECT_EQ(there_.claim("w").size(), 1U);
}

TEST_F(Nodes, one_request_with_one_key_is_done_once_by_both) {
  for (int round = 0; round < 20; ++round) {
    const Headers key{{"Idempotency-Key", "k" + std::to_string(round)}};
    std::vector<Reply> replies(4);
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < replies.size(); ++i) {
        threads.emplace_back([&, i] {
          PoolClient client(i % 2 == 0 ? one_.url() : other_.url(), "p");
          replies[i] = client.tryPush(R"("data":1)", key);
        });
      }
    }
    for (const Reply& reply : replies) {
      EXPECT_EQ(reply.status, 201) << reply;
      EXPECT_EQ(reply.json["id"], replies[0].json["id"]);
    }
  }
  EXPECT_EQ(here_.stats()["queue_depth"], 20);
}

// Statements are not prepared and nobody listens, as it must be behind a PgBouncer.
TEST(Bouncer, the_service_works_without_a_session_of_its_own) {
  PostgresDatabase database;
  Service one({.store = database.url() + "&pgbouncer=on"});
  Service other({.store = database.url() + "&pgbouncer=on"});
  PendingReply claim(one.url(),
                     {"POST", "/v1/pools/p/claim", R"({"worker_id":"w","wait_seconds":25})"});
  EXPECT_FALSE(claim.finished(300ms));
  PoolClient pool(other.url(), "p");
  pool.push();
  ASSERT_TRUE(claim.finished(kPatience)) << "by looking each second";
  const Json::Value job = claim.reply().json["items"][0];
  EXPECT_EQ(pool.report("complete", job).status, 200);
  EXPECT_EQ(pool.stats()["done"], 1);
}

}  // namespace
}  // namespace muster::test
