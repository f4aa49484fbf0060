// What jobs hand back beside their result, and what is too large for it.
#include "tests/support/resource_client.h"
#include "tests/support/service_fixture.h"
#include "tests/support/tokens.h"

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

class UploadedArtifacts : public Artifacts {
 protected:
  Reply put(const Json::Value& job, const std::string& name, const std::string& bytes,
            Headers headers = {}) {
    headers.emplace_back("X-Lease-Token", job["lease_token"].asString());
    return http_.put(pathOf(job) + "/" + pathText(name), bytes, std::move(headers));
  }
  Reply begin(const Json::Value& job, const std::string& fields) {
    return http_.post(pathOf(job), R"({"lease_token":)" + inQuotes(job["lease_token"].asString()) +
                                       "," + fields + "}");
  }
  static std::string pathOf(const Json::Value& job) {
    return "/v1/jobs/" + job["id"].asString() + "/artifacts";
  }
  ResourceClient resources_{http_};
};

TEST_F(UploadedArtifacts, are_read_when_the_job_is_done) {
  const Json::Value job = claimed();
  const Reply stored = put(job, "pages/1.png", "png", {{"Content-Type", "image/png"}});
  ASSERT_EQ(stored.status, 201) << stored;
  const std::string id = "jobs/" + job["id"].asString() + "/pages/1.png";
  EXPECT_EQ(stored.json["resource_id"], id);
  EXPECT_EQ(stored.json["state"], "active");
  EXPECT_EQ(stored.json["type"], "file");
  EXPECT_EQ(stored.json["mime"], "image/png");
  EXPECT_EQ(stored.json["scope"], "job:" + job["id"].asString());
  EXPECT_EQ(stored.json["job_id"], job["id"]);
  EXPECT_EQ(stored.json["attempt"], 1);
  ASSERT_EQ(handIn(job, R"("result":1)").status, 200);
  const Json::Value items = artifact(job).json["items"];
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items[0]["name"], "pages/1.png");
  EXPECT_EQ(items[0]["uid"], stored.json["uid"]);
  EXPECT_EQ(items[0]["size_bytes"], 3);
  const Reply content = artifact(job, "pages%2F1.png");
  EXPECT_EQ(content.body, "png");
  EXPECT_EQ(content.header("content-type"), "image/png");
  EXPECT_EQ(content.header("content-disposition"), "attachment");
  EXPECT_EQ(resources_.content(id).body, "png") << "it is a resource like any other";
}

TEST_F(UploadedArtifacts, may_come_in_parts) {
  const Json::Value job = claimed();
  const Reply begun = begin(job, R"("name":"large","type":"video","size_bytes":6)");
  ASSERT_EQ(begun.status, 201) << begun;
  const std::string uid = begun.json["uid"].asString();
  resources_.patch(uid, 0, "abc");
  EXPECT_TRUE(isProblem(handIn(job, R"("result":1)"), 409, "not_stored"));
  EXPECT_EQ(resources_.patch(uid, 3, "def").json["state"], "active");
  ASSERT_EQ(handIn(job, R"("result":1)").status, 200);
  EXPECT_EQ(artifact(job, "large").body, "abcdef");
}

TEST_F(UploadedArtifacts, are_replaced_by_others_of_their_name) {
  const Json::Value job = claimed();
  put(job, "a", "first");
  ASSERT_EQ(put(job, "a", "second").status, 201);
  ASSERT_EQ(handIn(job, R"("result":1)").status, 200);
  EXPECT_EQ(artifact(job).json["items"].size(), 1U);
  EXPECT_EQ(artifact(job, "a").body, "second");
}

TEST_F(UploadedArtifacts, are_taken_from_who_holds_the_job) {
  const Json::Value job = claimed();
  const Reply without = http_.put(pathOf(job) + "/a", "x");
  EXPECT_TRUE(isProblem(without, 400, "invalid_header"));
  const Reply wrong = http_.put(pathOf(job) + "/a", "x", {{"X-Lease-Token", "another"}});
  EXPECT_TRUE(isProblem(wrong, 409, "lease_lost"));
  EXPECT_TRUE(isProblem(put(job, "../a", "x"), 422, "invalid_id"));
  EXPECT_TRUE(isProblem(begin(job, R"("name":"a//b")"), 422, "validation_failed"));
  EXPECT_TRUE(isProblem(put(job, "a", "x", digestOf("y")), 422, "validation_failed"));
  EXPECT_EQ(put(job, "a", "x", digestOf("x")).status, 201) << "the client sends it again";
  ASSERT_EQ(handIn(job, R"("result":1)").status, 200);
  EXPECT_FALSE(put(job, "b", "x").ok()) << "the job is over";
}

TEST_F(UploadedArtifacts, are_put_once_under_an_idempotency_key) {
  const Json::Value job = claimed();
  const Headers key = {{"Idempotency-Key", name("key")}};
  const Reply first = put(job, "a", "x", key), second = put(job, "a", "x", key);
  EXPECT_EQ(first.status, 201) << first;
  EXPECT_EQ(second.status, 201) << second;
  EXPECT_EQ(first.json["uid"], second.json["uid"]);
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
