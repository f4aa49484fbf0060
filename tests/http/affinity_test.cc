#include "tests/support/problem.h"
#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

class Affinities : public ServiceFixture {
 protected:
  static std::string path(const std::string& key, const std::string& tail = {}) {
    return "/v1/affinities/" + key + tail;
  }
  std::string keyed(const std::string& more = {}) const {
    return R"("data":1,"affinity":)" + inQuotes(key_) + more;
  }
  const std::string w_ = name("w"), v_ = name("v"), key_ = name("key");
};

TEST_F(Affinities, a_key_is_bound_by_the_first_claim_and_shown) {
  pool_.registerWorker(w_, R"("mode":"loop","host":"box")");
  EXPECT_TRUE(isProblem(http_.get(path(key_)), 404, "not_found"));
  pool_.push(keyed());
  pool_.claimOne(w_);
  const Reply bound = http_.get(path(key_));
  ASSERT_EQ(bound.status, 200) << bound;
  EXPECT_EQ(bound.json["key"], key_);
  EXPECT_EQ(bound.json["holder"], "worker:" + w_);
  EXPECT_EQ(bound.json["worker_id"], w_);
  EXPECT_EQ(bound.json["host"], "box");
  EXPECT_EQ(bound.json["state"], "active");
  EXPECT_EQ(bound.json["inflight_count"], 1);
  EXPECT_EQ(bound.json["waiting_count"], 0);
  const Reply listed = http_.get("/v1/affinities?holder=worker:" + w_);
  ASSERT_EQ(listed.status, 200) << listed;
  ASSERT_EQ(listed.json["items"].size(), 1U);
  EXPECT_EQ(listed.json["items"][0]["key"], key_);
}

TEST_F(Affinities, a_job_says_to_whom_it_is_pinned) {
  pool_.registerWorker(w_, R"("mode":"loop")");
  pool_.registerWorker(v_, R"("mode":"loop")");
  pool_.push(keyed());
  pool_.claimOne(w_);
  const Json::Value should = pool_.push(keyed(R"(,"pin_wait_seconds":600)"));
  EXPECT_EQ(should["pinned_to"], "worker:" + w_);
  EXPECT_EQ(should["pin_mode"], "preferred");
  EXPECT_EQ(should["affinity_mode"], "preferred");
  EXPECT_EQ(should["pin_wait_seconds"], 600);
  EXPECT_TRUE(should["unpin_at"].isString());
  const Json::Value must = pool_.push(keyed(R"(,"affinity_mode":"sticky")"));
  EXPECT_EQ(must["pin_mode"], "required");
  EXPECT_EQ(must["affinity_mode"], "required");
  EXPECT_FALSE(must.isMember("unpin_at"));
  EXPECT_EQ(pool_.stats()["pinned"], 2);
  EXPECT_EQ(pool_.stats()["pinned_waiting"], 2) << "its worker is busy";
  const Reply refused = pool_.tryClaim(v_, R"("job_id":)" + inQuotes(must["id"].asString()));
  EXPECT_TRUE(isProblem(refused, 409, "not_claimable"));
  EXPECT_EQ(refused.json["detail"], "the job is pinned to worker:" + w_);
  EXPECT_TRUE(pool_.claim(v_).empty());
  EXPECT_EQ(pool_.claimOne(w_)["id"], should["id"]);
}

TEST_F(Affinities, a_key_is_given_touched_and_taken) {
  pool_.registerWorker(w_, R"("mode":"loop")");
  pool_.registerWorker(v_, R"("mode":"loop")");
  const Reply made =
      http_.put(path(key_), R"({"worker_id":")" + w_ + R"(","ttl_seconds":60,"metadata":{"a":1}})");
  ASSERT_EQ(made.status, 201) << made;
  EXPECT_EQ(made.json["metadata"]["a"], 1);
  EXPECT_EQ(http_.put(path(key_), R"({"worker_id":")" + w_ + R"("})").status, 200);
  const std::string to_v = R"({"worker_id":")" + v_ + R"("})";
  EXPECT_TRUE(isProblem(http_.put(path(key_), to_v), 409, "affinity_conflict"));
  EXPECT_EQ(http_.put(path(key_, "?force=true"), to_v).status, 201);
  const Reply touched = http_.post(path(key_, "/touch"), R"({"ttl_seconds":120})");
  ASSERT_EQ(touched.status, 200) << touched;
  EXPECT_EQ(touched.json["holder"], "worker:" + v_);
  EXPECT_EQ(http_.post(path(key_, "/touch")).status, 200);
  EXPECT_EQ(http_.del(path(key_)).status, 204);
  EXPECT_TRUE(isProblem(http_.del(path(key_)), 404, "not_found"));
}

TEST_F(Affinities, a_key_is_any_text_and_apart_for_each_tenant) {
  const std::string text = key_ + "%20%2F%C3%A4?tenant=acme";
  const Reply made = http_.put(path(text), R"({"host":"box"})");
  ASSERT_EQ(made.status, 201) << made;
  EXPECT_EQ(made.json["key"], key_ + " /\xc3\xa4");
  EXPECT_EQ(made.json["tenant"], "acme");
  EXPECT_EQ(http_.get(path(text)).status, 200);
  EXPECT_EQ(http_.get(path(key_ + "%20%2F%C3%A4")).status, 404);
  EXPECT_EQ(http_.del(path(text)).status, 204);
}

TEST_F(Affinities, faults_are_named) {
  EXPECT_TRUE(isProblem(http_.put(path(key_), "{}"), 422));
  const Reply both = http_.put(path(key_), R"({"worker_id":"w","host":"h","ttl_seconds":0,"x":1})");
  EXPECT_TRUE(isProblem(both, 422));
  EXPECT_EQ(pointers(both), (std::set<std::string>{"/host", "/ttl_seconds", "/x"}));
  EXPECT_TRUE(isProblem(http_.put(path(key_), R"({"worker_id":"nobody"})"), 404));
  pool_.registerWorker(w_);
  const Reply once = http_.put(path(key_), R"({"worker_id":")" + w_ + R"("})");
  EXPECT_TRUE(isProblem(once, 422));
  EXPECT_EQ(once.json["errors"][0]["code"], "holder_too_short_lived");
  EXPECT_TRUE(isProblem(http_.get("/v1/affinities?state=unbound"), 400));
  EXPECT_TRUE(isProblem(http_.get("/v1/affinities?holder=store"), 400));
  EXPECT_TRUE(isProblem(http_.get(path(std::string(257, 'a'))), 422));
  const Reply mode = pool_.tryPush(keyed(R"(,"affinity_mode":"maybe","pin_wait_seconds":-1)"));
  EXPECT_TRUE(isProblem(mode, 422));
  EXPECT_EQ(pointers(mode), (std::set<std::string>{"/affinity_mode", "/pin_wait_seconds"}));
}

TEST_F(Affinities, who_must_run_where_nobody_is_told_when_to_come_again) {
  pool_.registerWorker(w_, R"("mode":"loop")");
  ASSERT_EQ(http_.put(path(key_), R"({"worker_id":")" + w_ + R"("})").status, 201);
  ASSERT_EQ(http_.patch("/v1/workers/" + w_, R"({"status":"terminating"})").status, 200);
  const Reply refused = pool_.tryPush(keyed(R"(,"affinity_mode":"required")"));
  EXPECT_TRUE(isProblem(refused, 503, "worker_unavailable"));
  EXPECT_FALSE(refused.header("retry-after").empty());
  EXPECT_EQ(pool_.tryPush(keyed()).status, 201);
}

}  // namespace
}  // namespace muster::test
