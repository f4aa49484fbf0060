// What jobs hand back beside their result, and what is too large for it.
#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

class Artifacts : public ServiceFixture {
 protected:
  Reply handIn(const Json::Value& job, const std::string& fields) {
    return pool_.report("complete", job, fields);
  }
  Reply artifact(const Json::Value& job, const std::string& name = "") {
    return http_.get("/v1/jobs/" + job["id"].asString() + "/artifacts" +
                     (name.empty() ? "" : "/" + name));
  }
  Json::Value claimed() {
    pool_.pushMany(1);
    return pool_.claimOne();
  }
};

TEST_F(Artifacts, are_listed_and_their_values_read) {
  const Json::Value job = claimed();
  ASSERT_EQ(handIn(job, R"("result":1,"artifacts":[{"name":"pages/one","type":"text","value":"hi"},
                       {"resourceId":"run/video","type":"file","sizeBytes":9},{"seen":true}])")
                .status,
            200);
  const Json::Value items = artifact(job).json["items"];
  ASSERT_EQ(items.size(), 3U);
  EXPECT_EQ(items[0]["name"], "pages/one");
  EXPECT_EQ(items[0]["inline"], true);
  EXPECT_EQ(items[1]["name"], "run/video");
  EXPECT_EQ(items[1]["resource_id"], "run/video");
  EXPECT_EQ(items[2]["seen"], true);
  EXPECT_EQ(artifact(job, "pages%2Fone").body, R"("hi")");
  EXPECT_TRUE(isProblem(artifact(job, "run%2Fvideo"), 409, "not_stored"));
  EXPECT_TRUE(isProblem(artifact(job, "absent"), 404, "not_found"));
  const Json::Value plain = claimed();
  EXPECT_EQ(artifact(plain).json["items"].size(), 0U);
}

// A service of its own, with limits that are easily met.
class InlineLimit : public testing::Test {
 protected:
  Service service_{{.store = anyStore(),
                    .settings = "inline_payload_limit_bytes: 100\n"
                                "forced_reference_types: [video]\n"}};
  PoolClient pool_{service_.url(), "p"};
};

TEST_F(InlineLimit, what_is_too_large_leaves_the_job_claimed) {
  pool_.pushMany(1);
  const Json::Value job = pool_.claimOne();
  const std::string large = '"' + std::string(99, 'x') + '"';
  EXPECT_TRUE(
      isProblem(pool_.report("complete", job, R"("result":)" + large), 413, "inline_limit"));
  const Reply together =
      pool_.report("complete", job,
                   R"("result":)" + std::string(60, '1') +
                       R"(,"artifacts":[{"name":"a","value":")" + std::string(40, 'y') + "\"}]");
  EXPECT_TRUE(isProblem(together, 413, "inline_limit"));
  const Reply forced =
      pool_.report("complete", job, R"("artifacts":[{"name":"a","type":"video","value":1}])");
  EXPECT_TRUE(isProblem(forced, 422, "validation_failed"));
  EXPECT_EQ(forced.json["errors"][0]["code"], "forced_reference");
  EXPECT_EQ(forced.json["errors"][0]["pointer"], "/artifacts/0");
  EXPECT_EQ(pool_.stats()["claimed"], 1);
  EXPECT_EQ(
      pool_.report("complete", job, R"("artifacts":[{"resource_id":"a","type":"video"}])").status,
      200);
}

TEST_F(InlineLimit, each_report_of_many_is_judged_for_itself) {
  pool_.pushMany(3);
  const auto jobs = pool_.claim("w1", R"("max":3)");
  ASSERT_EQ(jobs.size(), 3U);
  const auto item = [](const Json::Value& job, const std::string& fields) {
    return R"({"job_id":")" + job["id"].asString() + R"(","lease_token":")" +
           job["lease_token"].asString() + R"(","outcome":"done",)" + fields + "}";
  };
  const Reply reply = pool_.http().post(
      pool_.path("/reports"),
      R"({"items":[)" + item(jobs[0], R"("result":")" + std::string(200, 'x') + '"') + "," +
          item(jobs[1], R"("artifacts":[{"name":"a","type":"video","value":1}])") + "," +
          item(jobs[2], R"("result":1)") + "]}");
  ASSERT_EQ(reply.status, 200) << reply;
  const Json::Value& items = reply.json["items"];
  EXPECT_EQ(items[0]["code"], "inline_limit");
  EXPECT_EQ(items[0]["status"], "claimed");
  EXPECT_EQ(items[1]["code"], "forced_reference");
  EXPECT_EQ(items[1]["status"], "claimed");
  EXPECT_EQ(items[2]["status"], "done");
  EXPECT_FALSE(items[2].isMember("code"));
}

TEST_F(InlineLimit, a_report_that_hands_nothing_in_has_no_limit) {
  pool_.pushMany(1);
  const Json::Value job = pool_.claimOne();
  const Reply reply =
      pool_.http().post(pool_.path("/reports"),
                        R"({"items":[{"job_id":")" + job["id"].asString() + R"(","lease_token":")" +
                            job["lease_token"].asString() + R"(","outcome":"released","result":")" +
                            std::string(200, 'x') + "\"}]}");
  ASSERT_EQ(reply.status, 200) << reply;
  EXPECT_EQ(reply.json["items"][0]["status"], "pending") << reply;
}

TEST_F(InlineLimit, a_worker_is_told_of_it) {
  EXPECT_EQ(pool_.registerWorker("w")["inline_limit_bytes"], 100);
}

}  // namespace
}  // namespace muster::test
