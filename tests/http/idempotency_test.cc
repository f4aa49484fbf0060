#include <mutex>
#include <thread>

#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

class Idempotency : public ServiceFixture {
 protected:
  static Headers key(const std::string& text) { return {{"Idempotency-Key", text}}; }
};

TEST_F(Idempotency, the_same_key_and_body_push_one_job) {
  const Reply first = pool_.tryPush(R"("data":1)", key(name("k")));
  const Reply second = pool_.tryPush(R"("data":1)", key(name("k")));
  ASSERT_EQ(first.status, 201) << first;
  EXPECT_FALSE(first.hasHeader("idempotency-replayed"));
  EXPECT_EQ(second.status, 201) << second;
  EXPECT_EQ(second.header("idempotency-replayed"), "true");
  EXPECT_EQ(second.body, first.body);
  EXPECT_EQ(second.header("etag"), first.header("etag"));
  EXPECT_EQ(pool_.stats()["queue_depth"], 1);
}

TEST_F(Idempotency, the_same_key_with_another_body_is_422) {
  ASSERT_EQ(pool_.tryPush(R"("data":1)", key(name("k"))).status, 201);
  EXPECT_TRUE(isProblem(pool_.tryPush(R"("data":2)", key(name("k"))), 422));
  EXPECT_EQ(pool_.stats()["queue_depth"], 1);
}

TEST_F(Idempotency, a_key_belongs_to_one_path) {
  PoolClient other(service().url(), name("other"));
  const Reply here = pool_.tryPush(R"("data":1)", key(name("k")));
  const Reply there = other.tryPush(R"("data":1)", key(name("k")));
  EXPECT_EQ(there.status, 201) << there;
  EXPECT_NE(there.json["id"], here.json["id"]);
}

TEST_F(Idempotency, a_refused_request_does_not_use_up_its_key) {
  EXPECT_TRUE(isProblem(pool_.tryPush(R"("priority":1)", key(name("k"))), 422));
  EXPECT_EQ(pool_.tryPush(R"("data":1)", key(name("k"))).status, 201);
}

TEST_F(Idempotency, a_batch_is_pushed_once) {
  const std::string body = R"({"items":[{"data":1},{"data":2}]})";
  const Reply first = http_.post(pool_.path("/jobs/batch"), body, key(name("k")));
  const Reply second = http_.post(pool_.path("/jobs/batch"), body, key(name("k")));
  ASSERT_EQ(first.status, 201) << first;
  EXPECT_EQ(second.body, first.body);
  EXPECT_EQ(pool_.stats()["queue_depth"], 2);
}

TEST_F(Idempotency, a_repeated_claim_gives_the_same_jobs) {
  pool_.pushMany(2);
  const Reply first = http_.post(pool_.path("/claim"), R"({"worker_id":"w"})", key(name("k")));
  const Reply second = http_.post(pool_.path("/claim"), R"({"worker_id":"w"})", key(name("k")));
  ASSERT_EQ(first.json["items"].size(), 1U) << first;
  EXPECT_EQ(second.body, first.body);
  EXPECT_EQ(pool_.stats()["claimed"], 1);
}

TEST_F(Idempotency, every_post_takes_a_key) {
  const Json::Value job = pool_.push(R"("data":1,"max_retries":0)");
  ASSERT_EQ(pool_.report("fail", pool_.claimOne()).json["status"], "poisoned");
  const std::string retry = "/v1/jobs/" + job["id"].asString() + "/retry";
  const Reply first = http_.post(retry, "", key(name("r")));
  ASSERT_EQ(first.status, 200) << first;
  const Reply second = http_.post(retry, "", key(name("r")));
  EXPECT_EQ(second.status, 200) << "a retry of a pending job alone is 409";
  EXPECT_EQ(second.header("idempotency-replayed"), "true");

  const Reply worker = http_.post("/v1/workers", "{}", key(name("w")));
  EXPECT_EQ(http_.post("/v1/workers", "{}", key(name("w"))).json["worker_id"],
            worker.json["worker_id"]);
  EXPECT_EQ(http_.post(pool_.path("/pause"), "", key(name("p"))).status, 200);
  EXPECT_EQ(http_.post("/v1/tick", "", key(name("t"))).status, 200);
}

TEST_F(Idempotency, a_key_has_1_to_255_characters) {
  EXPECT_EQ(pool_.tryPush(R"("data":1)", key(std::string(255, 'k'))).status, 201);
  EXPECT_TRUE(isProblem(pool_.tryPush(R"("data":1)", key(std::string(256, 'k'))), 400));
  EXPECT_TRUE(isProblem(pool_.tryPush(R"("data":1)", key("")), 400));
  EXPECT_EQ(pool_.stats()["queue_depth"], 1);
}

TEST_F(Idempotency, concurrent_requests_with_one_key_push_one_job) {
  std::mutex mutex;
  std::set<std::string> pushed;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([this, &mutex, &pushed] {
        PoolClient client(service().url(), testName());
        const Reply reply = client.tryPush(R"("data":1)", key(testName()));
        const std::lock_guard lock(mutex);
        if (reply.status == 201) {
          pushed.insert(reply.json["id"].asString());
        } else {
          EXPECT_TRUE(isProblem(reply, 409, "idempotency_in_progress"));
        }
      });
    }
  }
  EXPECT_EQ(pushed.size(), 1U);
  EXPECT_EQ(pool_.stats()["queue_depth"], 1);
}

TEST_F(Idempotency, no_answer_is_kept_for_what_changes_nothing_or_is_open_to_all) {
  for (const std::string& path : {std::string("/readyz"), std::string("/v1/pools")}) {
    for (int i = 0; i < 2; ++i) {
      const Reply reply = http_.get(path, key(name("k")));
      EXPECT_EQ(reply.status, 200) << reply;
      EXPECT_FALSE(reply.hasHeader("idempotency-replayed")) << path;
    }
  }
}

TEST_F(Idempotency, keys_survive_a_restart) {
  Service own;
  const std::string body = R"({"data":1})";
  const Reply first = Http(own.url()).post("/v1/pools/p/jobs", body, key("k"));
  ASSERT_EQ(first.status, 201) << first;
  own.restart();
  const Reply second = Http(own.url()).post("/v1/pools/p/jobs", body, key("k"));
  EXPECT_EQ(second.header("idempotency-replayed"), "true");
  EXPECT_EQ(second.json["id"], first.json["id"]);
}

}  // namespace
}  // namespace muster::test
