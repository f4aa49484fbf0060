#include "tests/support/service_fixture.h"
#include "tests/support/tokens.h"

namespace muster::test {
namespace {

// A service with one token per scope; the token is the scope's name with "-secret".
class Tokens : public testing::Test {
 protected:
  static std::string settings() {
    std::string lines = "tokens:\n";
    for (const std::string scope : {"read", "produce", "work", "admin"}) {
      lines += "  - {name: " + scope + ", sha256: " + sha256Hex(scope + "-secret") + ", scopes: [" +
               scope + "]}\n";
    }
    return lines;
  }
  static Service& service() {
    static Service made({.store = anyStore(), .settings = settings()});
    return made;
  }
  Reply push(const Headers& headers) {
    return http_.post("/v1/pools/p/jobs", R"({"data":1})", headers);
  }
  Reply claim(const std::string& worker, const Headers& headers) {
    return http_.post("/v1/pools/p/claim", R"({"worker_id":)" + inQuotes(worker) + "}", headers);
  }
  Http http_{service().url()};
};

TEST_F(Tokens, without_one_only_health_is_answered) {
  EXPECT_EQ(http_.get("/healthz").status, 200);
  EXPECT_EQ(http_.get("/readyz").status, 200);
  for (const char* path :
       {"/v1/pools", "/metrics", "/v1/events", "/v1/events/stream", "/v1/jobs/x", "/v1/workers"}) {
    const Reply reply = http_.get(path);
    EXPECT_TRUE(isProblem(reply, 401)) << path;
    EXPECT_TRUE(reply.header("www-authenticate").starts_with("Bearer")) << path;
  }
  EXPECT_TRUE(isProblem(push({}), 401));
}

TEST_F(Tokens, a_wrong_one_is_401) {
  for (const char* value : {"Bearer wrong", "Bearer ", "Bearer",
                            "Basic cmVhZA==", "Bearer read-secret x", "read-secret"}) {
    EXPECT_TRUE(isProblem(http_.get("/v1/pools", {{"Authorization", value}}), 401)) << value;
  }
  EXPECT_TRUE(isProblem(http_.get("/v1/pools", bearer(sha256Hex("read-secret"))), 401))
      << "the stored hash is no token";
}

TEST_F(Tokens, the_scheme_has_no_case) {
  EXPECT_EQ(http_.get("/v1/pools", {{"Authorization", "bearer read-secret"}}).status, 200);
}

TEST_F(Tokens, read_only_reads) {
  const Headers read = bearer("read-secret");
  for (const char* path : {"/v1/pools", "/v1/workers", "/v1/events", "/metrics", "/version",
                           "/v1/pools/p/stats", "/v1/pools/p/jobs"}) {
    EXPECT_EQ(http_.get(path, read).status, 200) << path;
  }
  EXPECT_TRUE(isProblem(push(read), 403));
  EXPECT_TRUE(isProblem(claim("w", read), 403));
  EXPECT_TRUE(isProblem(http_.put("/v1/pools/p", "{}", read), 403));
  EXPECT_TRUE(isProblem(http_.post("/v1/tick", "", read), 403));
}

TEST_F(Tokens, produce_pushes_and_does_not_work) {
  const Headers produce = bearer("produce-secret");
  EXPECT_EQ(push(produce).status, 201);
  EXPECT_TRUE(isProblem(claim("w", produce), 403));
  EXPECT_TRUE(isProblem(http_.post("/v1/workers", "{}", produce), 403));
  EXPECT_TRUE(isProblem(http_.del("/v1/pools/p?force=true", produce), 403));
}

TEST_F(Tokens, work_claims_and_does_not_administer) {
  ASSERT_EQ(push(bearer("produce-secret")).status, 201);
  const Headers work = bearer("work-secret");
  const Reply claimed = claim("w", work);
  ASSERT_EQ(claimed.json["items"].size(), 1U) << claimed;
  const Json::Value& job = claimed.json["items"][0];
  EXPECT_EQ(http_
                .post("/v1/jobs/" + job["id"].asString() + "/complete",
                      R"({"lease_token":)" + inQuotes(job["lease_token"].asString()) + "}", work)
                .status,
            200);
  EXPECT_TRUE(isProblem(push(work), 403));
  EXPECT_TRUE(isProblem(http_.put("/v1/pools/p", "{}", work), 403));
  EXPECT_TRUE(isProblem(http_.del("/v1/pools/p?force=true", work), 403));
}

TEST_F(Tokens, admin_sets_up_pools) {
  const Headers admin = bearer("admin-secret");
  EXPECT_TRUE(http_.put("/v1/pools/q", "{}", admin).ok());
  EXPECT_EQ(http_.post("/v1/tick", "", admin).status, 200);
  EXPECT_EQ(http_.del("/v1/pools/q", admin).status, 204);
}

TEST_F(Tokens, a_worker_token_is_valid_for_its_worker_only) {
  const Headers work = bearer("work-secret");
  const Reply mine = http_.post("/v1/workers", R"({"worker_id":"mine","pool_id":"p"})", work);
  ASSERT_EQ(mine.status, 201) << mine;
  ASSERT_EQ(http_.post("/v1/workers", R"({"worker_id":"other"})", work).status, 201);
  const Headers token = bearer(mine.json["worker_token"].asString());
  EXPECT_EQ(http_.post("/v1/workers/mine/heartbeat", "", token).status, 200);
  EXPECT_EQ(claim("mine", token).status, 200);
  EXPECT_TRUE(isProblem(http_.post("/v1/workers/other/heartbeat", "", token), 403));
  EXPECT_TRUE(isProblem(http_.post("/v1/workers/other/release", "", token), 403));
  EXPECT_TRUE(
      isProblem(http_.patch("/v1/workers/other", R"({"status":"terminated"})", token), 403));
  EXPECT_TRUE(isProblem(claim("other", token), 403));
  EXPECT_TRUE(isProblem(push(token), 403));
  EXPECT_TRUE(isProblem(http_.put("/v1/pools/p", "{}", token), 403));
}

TEST_F(Tokens, a_worker_token_ends_no_job_of_others_by_a_bulk_report) {
  const Headers work = bearer("work-secret");
  const Reply mine = http_.post("/v1/workers", R"({"worker_id":"bulk-mine"})", work);
  ASSERT_EQ(mine.status, 201) << mine;
  const Headers token = bearer(mine.json["worker_token"].asString());
  const std::string job =
      http_.post("/v1/pools/bulk/jobs", R"({"data":1})", bearer("produce-secret"))
          .json["id"]
          .asString();
  ASSERT_EQ(http_.post("/v1/pools/bulk/claim", R"({"worker_id":"bulk-other"})", work)
                .json["items"]
                .size(),
            1U);
  const auto report = [&](const std::string& outcome, const std::string& more) {
    return http_.post("/v1/pools/bulk/reports",
                      R"({"items":[{"job_id":)" + inQuotes(job) + R"(,"outcome":)" +
                          inQuotes(outcome) + more + "}]}",
                      token);
  };
  for (const char* outcome : {"done", "failed", "released", "cancelled"}) {
    const Reply unnamed = report(outcome, "");
    EXPECT_EQ(unnamed.json["items"][0]["code"], "lease_lost") << unnamed;
    EXPECT_TRUE(isProblem(report(outcome, R"(,"worker_id":"bulk-other")"), 403)) << outcome;
  }
  EXPECT_EQ(http_.get("/v1/jobs/" + job, bearer("read-secret")).json["status"], "claimed");
}

// Tokens for some pools. "mine" has all scopes but admin in team.*, "boss" is admin there.
class PoolTokens : public testing::Test {
 protected:
  static Service& service() {
    static Service made({.store = anyStore(),
                         .settings = "tokens:\n" + tokenLine("all", "admin") +
                                     tokenLine("mine", "read:team.*, produce:team.*, work:team.*") +
                                     tokenLine("boss", "'admin:team.*'") +
                                     tokenLine("one", "'read:team.a', 'produce:other'")});
    return made;
  }
  std::string push(const std::string& pool) {
    const Reply reply = http_.post("/v1/pools/" + pool + "/jobs", R"({"data":1})", all_);
    EXPECT_EQ(reply.status, 201) << reply;
    return reply.json["id"].asString();
  }
  Http http_{service().url()};
  const Headers all_ = bearer("all"), mine_ = bearer("mine"), boss_ = bearer("boss"),
                one_ = bearer("one");
};

TEST_F(PoolTokens, reach_the_pools_they_name_and_no_others) {
  push("team.a");
  push("other");
  for (const char* path : {"", "/stats", "/jobs", "/check", "/decisions", "/timeline", "/scale"}) {
    EXPECT_EQ(http_.get(std::string("/v1/pools/team.a") + path, mine_).status, 200) << path;
    EXPECT_EQ(http_.get(std::string("/v1/pools/team.a") + path, one_).status, 200) << path;
    EXPECT_TRUE(isProblem(http_.get(std::string("/v1/pools/other") + path, mine_), 403)) << path;
    EXPECT_TRUE(isProblem(http_.get(std::string("/v1/pools/other") + path, one_), 403)) << path;
  }
  EXPECT_EQ(http_.post("/v1/pools/team.b/jobs", R"({"data":1})", mine_).status, 201);
  EXPECT_EQ(http_.post("/v1/pools/other/jobs", R"({"data":1})", one_).status, 201);
  EXPECT_TRUE(isProblem(http_.post("/v1/pools/team.a/jobs", R"({"data":1})", one_), 403));
  EXPECT_TRUE(isProblem(http_.post("/v1/pools/team/jobs", R"({"data":1})", mine_), 403));
  EXPECT_TRUE(isProblem(http_.put("/v1/pools/team.a", "{}", mine_), 403));
  EXPECT_TRUE(http_.put("/v1/pools/team.new", "{}", boss_).ok());
  EXPECT_TRUE(isProblem(http_.put("/v1/pools/new", "{}", boss_), 403));
}

TEST_F(PoolTokens, see_jobs_and_workers_of_other_pools_as_not_there) {
  const std::string here = push("team.jobs"), there = push("elsewhere");
  EXPECT_EQ(http_.get("/v1/jobs/" + here, mine_).status, 200);
  for (const auto& [method, path] :
       {std::pair("GET", ""), std::pair("GET", "?wait_seconds=1"), std::pair("GET", "/attempts"),
        std::pair("POST", "/cancel"), std::pair("POST", "/retry"), std::pair("POST", "/complete"),
        std::pair("POST", "/fail"), std::pair("POST", "/release"), std::pair("DELETE", "")}) {
    const Reply reply = http_.send({method, "/v1/jobs/" + there + path, "", mine_});
    EXPECT_TRUE(isProblem(reply, 404)) << method << path << reply;
  }
  EXPECT_EQ(http_.get("/v1/jobs/" + there, all_).json["status"], "pending");

  ASSERT_EQ(
      http_.post("/v1/workers", R"({"worker_id":"theirs","pool_id":"elsewhere"})", all_).status,
      201);
  for (const auto& [method, path] :
       {std::pair("GET", ""), std::pair("GET", "/output"), std::pair("POST", "/heartbeat"),
        std::pair("POST", "/release"), std::pair("POST", "/terminate"), std::pair("PATCH", ""),
        std::pair("DELETE", "")}) {
    const Reply reply = http_.send({method, std::string("/v1/workers/theirs") + path, "", mine_});
    EXPECT_TRUE(isProblem(reply, 404)) << method << path << reply;
  }
  EXPECT_EQ(http_.get("/v1/workers/theirs", all_).json["status"], "active");
}

TEST_F(PoolTokens, need_a_pool_where_a_list_is_of_all) {
  push("team.list");
  push("unseen");
  const Reply pools = http_.get("/v1/pools?limit=200", mine_);
  ASSERT_EQ(pools.status, 200) << pools;
  std::size_t seen = 0;
  for (const Json::Value& pool : pools.json["items"]) {
    EXPECT_TRUE(pool["pool_id"].asString().starts_with("team.")) << pool;
    seen += pool["pool_id"] == "team.list";
  }
  EXPECT_EQ(seen, 1U);
  for (const char* path : {"/v1/events", "/v1/workers"}) {
    EXPECT_TRUE(isProblem(http_.get(path, mine_), 403)) << path;
    EXPECT_TRUE(isProblem(http_.get(std::string(path) + "?pool_id=unseen", mine_), 403)) << path;
    EXPECT_TRUE(isProblem(http_.get(std::string(path) + "?pool%5Fid=unseen", mine_), 403)) << path;
    EXPECT_EQ(http_.get(std::string(path) + "?pool%5Fid=team.list", mine_).status, 200) << path;
    EXPECT_EQ(http_.get(std::string(path) + "?pool_id=team.list", mine_).status, 200) << path;
    const Reply twice = http_.get(std::string(path) + "?pool_id=team.list&pool%5Fid=unseen", mine_);
    EXPECT_TRUE(isProblem(twice, 400)) << path;
  }
  for (const char* path : {"/metrics", "/v1/cluster", "/v1/triggers"}) {
    EXPECT_TRUE(isProblem(http_.get(path, mine_), 403)) << path;
  }
  EXPECT_EQ(http_.get("/version", mine_).status, 200);
  EXPECT_TRUE(isProblem(http_.post("/v1/tick", "", boss_), 403));
  EXPECT_TRUE(isProblem(http_.get("/v1/webhooks", boss_), 403));
}

TEST_F(PoolTokens, register_workers_for_their_pools_only) {
  EXPECT_TRUE(isProblem(http_.post("/v1/workers", "{}", mine_), 403));
  EXPECT_TRUE(isProblem(http_.post("/v1/workers", R"({"pool_id":"other"})", mine_), 403));
  push("team.work");
  push("other");
  const Reply worker =
      http_.post("/v1/workers", R"({"worker_id":"tw","pool_id":"team.work"})", mine_);
  ASSERT_EQ(worker.status, 201) << worker;
  const Headers own = bearer(worker.json["worker_token"].asString());
  EXPECT_TRUE(isProblem(http_.post("/v1/pools/other/claim", R"({"worker_id":"tw"})", own), 403));
  EXPECT_EQ(
      http_.post("/v1/pools/team.work/claim", R"({"worker_id":"tw"})", own).json["items"].size(),
      1U);
}

TEST_F(PoolTokens, call_hooks_for_their_pools_only) {
  EXPECT_EQ(http_.post("/v1/hooks/work_added?pool_id=team.a", "", mine_).status, 202);
  EXPECT_TRUE(isProblem(http_.post("/v1/hooks/work_added?pool_id=other", "", mine_), 403));
  EXPECT_TRUE(isProblem(http_.post("/v1/hooks/work_added", "", mine_), 403)) << "all pools";
}

TEST_F(Tokens, that_have_expired_are_told_so) {
  const auto until = [](const std::string& at) { return ", expires_at: " + at; };
  Service own({.store = anyStore(),
               .settings = "tokens:\n" + tokenLine("old", "read", until("2026-01-01T00:00:00Z")) +
                           tokenLine("young", "read", until("2999-01-01T00:00:00Z"))});
  Http http(own.url());
  const Reply refused = http.get("/v1/pools", bearer("old"));
  EXPECT_TRUE(isProblem(refused, 401));
  EXPECT_NE(refused.json["detail"].asString().find("expired at 2026-01-01"), std::string::npos);
  EXPECT_EQ(http.get("/v1/pools", bearer("young")).status, 200);
}

TEST_F(Tokens, of_a_worker_end_with_its_registration) {
  const Headers work = bearer("work-secret");
  const auto enrol = [&] {
    const Reply reply = http_.post("/v1/workers", R"({"worker_id":"twice","pool_id":"p2"})", work);
    EXPECT_EQ(reply.status, 201) << reply;
    return bearer(reply.json["worker_token"].asString());
  };
  const Headers first = enrol(), second = enrol();
  http_.post("/v1/pools/p2/jobs", R"({"data":1})", bearer("produce-secret"));
  EXPECT_TRUE(isProblem(http_.post("/v1/workers/twice/heartbeat", "", first), 410));
  EXPECT_TRUE(isProblem(http_.post("/v1/pools/p2/claim", R"({"worker_id":"twice"})", first), 410));
  const Reply claimed = http_.post("/v1/pools/p2/claim", R"({"worker_id":"twice"})", second);
  ASSERT_EQ(claimed.json["items"].size(), 1U) << claimed;
  const std::string job = claimed.json["items"][0]["id"].asString();
  EXPECT_TRUE(isProblem(http_.post("/v1/jobs/" + job + "/complete", "", first), 410));
  const Reply bulk =
      http_.post("/v1/pools/p2/reports",
                 R"({"items":[{"job_id":)" + inQuotes(job) + R"(,"outcome":"done"}]})", first);
  EXPECT_EQ(bulk.json["items"][0]["code"], "worker_gone") << bulk;
  EXPECT_EQ(http_.post("/v1/jobs/" + job + "/complete", "", second).status, 200);
  EXPECT_EQ(http_.post("/v1/workers/twice/heartbeat", "", second).status, 200);
}

TEST_F(Tokens, a_stranger_uses_up_no_rate_and_is_slowed_down_alone) {
  Service limited({.store = anyStore(), .settings = settings() + "global_qps_limit: 50\n"});
  Http http(limited.url());
  int refused = 0, slowed = 0;
  for (int i = 0; i < 1000 && slowed == 0; ++i) {
    const Reply reply = http.get("/v1/pools", bearer("guess-" + std::to_string(i)));
    ASSERT_TRUE(reply.status == 401 || reply.status == 429) << reply;
    ++(reply.status == 401 ? refused : slowed);
    EXPECT_EQ(reply.hasHeader("retry-after"), reply.status == 429) << reply;
  }
  EXPECT_GE(refused, 100);
  EXPECT_EQ(slowed, 1);
  const Reply known = http.get("/v1/pools", bearer("read-secret"));
  EXPECT_EQ(known.status, 200) << known;
  EXPECT_EQ(known.header("ratelimit-remaining"), "99") << "nobody else was counted";
}

TEST_F(Tokens, a_token_has_a_rate_of_its_own) {
  Service limited({.store = anyStore(), .settings = settings() + "token_qps_limit: 0.002\n"});
  Http http(limited.url());
  EXPECT_EQ(http.get("/v1/pools", bearer("read-secret")).status, 200);
  EXPECT_TRUE(isProblem(http.get("/v1/pools", bearer("read-secret")), 429, "rate_limited"));
  EXPECT_EQ(http.get("/v1/pools", bearer("admin-secret")).status, 200) << "another token";
}

TEST_F(Tokens, idempotency_keys_of_two_principals_do_not_meet) {
  Headers produce = bearer("produce-secret");
  produce.emplace_back("Idempotency-Key", "same");
  const Reply first = push(produce);
  ASSERT_EQ(first.status, 201) << first;
  Headers read = bearer("read-secret");
  read.emplace_back("Idempotency-Key", "same");
  EXPECT_TRUE(isProblem(push(read), 403)) << "the stored answer is not for others";
}

TEST_F(Tokens, are_never_in_the_log_or_in_answers) {
  push(bearer("produce-secret"));
  http_.get("/v1/pools", bearer("admin-secret-mistyped"));
  EXPECT_EQ(service().log().find("produce-secret"), std::string::npos);
  EXPECT_EQ(service().log().find("admin-secret-mistyped"), std::string::npos);
}

}  // namespace
}  // namespace muster::test
