// Resources as records: made, found, leased and let go.
#include "tests/support/resource_client.h"
#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

class Resources : public ServiceFixture {
 protected:
  // Of this test alone.
  std::string id(const std::string& suffix) { return name(suffix); }
  std::string fields(const std::string& suffix, const std::string& more = {}) {
    return R"("resource_id":")" + id(suffix) + R"(","type":"file")" +
           (more.empty() ? "" : "," + more);
  }
  std::vector<std::string> listed(const std::string& query) {
    const Reply reply = http_.get("/v1/resources?" + query);
    EXPECT_EQ(reply.status, 200) << reply;
    std::vector<std::string> found;
    for (const auto& item : reply.json["items"]) found.push_back(item["resource_id"].asString());
    return found;
  }

  ResourceClient resources_{http_};
};

TEST_F(Resources, are_made_and_found) {
  const Json::Value made = resources_.create(
      fields("a/b", R"("size_bytes":3,"mime":"text/plain","ttl_seconds":60,"scope":"s/1",
                    "metadata":{"page":1})"));
  EXPECT_EQ(made["state"], "uploading");
  EXPECT_EQ(made["holder"], "store");
  EXPECT_EQ(made["upload_offset"], 0);
  EXPECT_GT(made["part_bytes"].asInt64(), 0);
  EXPECT_EQ(made["stored"], false);
  EXPECT_EQ(made["metadata"]["page"], 1);
  const std::string uid = made["uid"].asString();
  EXPECT_TRUE(uid.starts_with("u~")) << uid;
  for (const std::string& called : {id("a/b"), uid}) {
    const Reply found = resources_.get(called);
    EXPECT_EQ(found.status, 200) << found;
    EXPECT_EQ(found.json, made);
  }
  const Json::Value nameless = resources_.create(R"("type":"file")");
  EXPECT_EQ(nameless["resource_id"], nameless["uid"]);
}

TEST_F(Resources, are_the_same_if_they_are_registered_again) {
  const Json::Value made = resources_.create(fields("a", R"("size_bytes":3)"));
  const Reply again = resources_.tryCreate(fields("a", R"("size_bytes":3)"));
  EXPECT_EQ(again.status, 200) << again;
  EXPECT_EQ(again.json["uid"], made["uid"]);
  EXPECT_TRUE(
      isProblem(resources_.tryCreate(fields("a", R"("size_bytes":4)")), 409, "resource_exists"));
}

TEST_F(Resources, need_valid_fields) {
  const Reply faults = resources_.tryCreate(
      R"("resource_id":"a//b","holder":"nobody","sha256":"xyz","ttl_seconds":0,"surprise":1)");
  EXPECT_TRUE(isProblem(faults, 422, "validation_failed"));
  EXPECT_EQ(pointers(faults), (std::set<std::string>{"/resource_id", "/type", "/holder", "/sha256",
                                                     "/ttl_seconds", "/surprise"}));
  EXPECT_TRUE(isProblem(resources_.tryCreate(R"("type":"file","holder":"external")"), 422));
  EXPECT_TRUE(isProblem(http_.post("/v1/resources", "{"), 400, "invalid_json"));
}

TEST_F(Resources, cannot_be_named_so_that_the_path_leads_elsewhere) {
  for (const std::string& bad :
       {std::string(".."), std::string("../../etc/passwd"), std::string("a/../b"),
        std::string("/a"), std::string("a/"), std::string("a//b"), std::string("a b"),
        std::string("a\\b"), std::string("u~/x"), std::string(257, 'a')}) {
    const Reply reply = resources_.get(bad);
    EXPECT_TRUE(isProblem(reply, 422, "invalid_id")) << bad;
    EXPECT_TRUE(isProblem(resources_.content(bad), 422, "invalid_id")) << bad;
    EXPECT_TRUE(isProblem(resources_.put(bad, "x"), 422, "invalid_id")) << bad;
    const Reply made = resources_.tryCreate(R"("type":"file","resource_id":)" +
                                            Json::valueToQuotedString(bad.c_str()));
    EXPECT_TRUE(isProblem(made, 422)) << bad;
  }
  EXPECT_TRUE(isProblem(http_.get("/v1/resources/%00"), 422, "invalid_id"));
  EXPECT_TRUE(isProblem(http_.get("/v1/resources/a%2"), 422, "invalid_id"));
  EXPECT_TRUE(isProblem(http_.get("/v1/resources/a/b"), 404, "not_found"))
      << "a slash that is not escaped is another path";
  EXPECT_TRUE(isProblem(resources_.get(id("absent")), 404, "not_found"));
}

TEST_F(Resources, are_listed_by_what_they_have) {
  resources_.create(fields("a", R"("scope":")" + id("s") + '"'));
  resources_.create(fields("b", R"("scope":")" + id("s") + R"(","holder":"external","uri":"x:y")"));
  resources_.create(fields("c"));
  EXPECT_EQ(listed("scope=" + id("s")), (std::vector<std::string>{id("b"), id("a")}));
  EXPECT_EQ(listed("holder=external&scope=" + id("s")), (std::vector<std::string>{id("b")}));
  EXPECT_EQ(listed("resource_id=" + id("c")), (std::vector<std::string>{id("c")}));
  const Reply first = http_.get("/v1/resources?limit=1&scope=" + id("s"));
  const Reply second = http_.get("/v1/resources?limit=1&scope=" + id("s") +
                                 "&cursor=" + first.json["next_cursor"].asString());
  EXPECT_EQ(second.json["items"][0]["resource_id"], id("a")) << second;
  EXPECT_EQ(resources_.remove(id("a")).json["state"], "evicted");
  EXPECT_EQ(listed("scope=" + id("s")), (std::vector<std::string>{id("b")}));
  EXPECT_EQ(listed("state=evicted&resource_id=" + id("a")), (std::vector<std::string>{id("a")}));
  for (const std::string query : {"state=none", "holder=x", "cursor=x", "page=2", "limit=0"}) {
    EXPECT_TRUE(isProblem(http_.get("/v1/resources?" + query), 400, "invalid_query")) << query;
  }
}

TEST_F(Resources, that_are_deleted_say_so) {
  const Json::Value made = resources_.createStored(id("a"), "abc");
  EXPECT_EQ(resources_.remove(id("a")).json["state"], "evicted");
  const Reply gone = resources_.content(id("a"));
  EXPECT_TRUE(isProblem(gone, 410, "resource_evicted"));
  EXPECT_EQ(gone.json["state"], "evicted");
  EXPECT_EQ(gone.json["reason"], "deleted");
  EXPECT_TRUE(isProblem(resources_.act(id("a"), "touch"), 410, "resource_evicted"));
  EXPECT_TRUE(isProblem(resources_.act(id("a"), "lease"), 410, "resource_evicted"));
  EXPECT_EQ(resources_.remove(id("a")).status, 200) << "again";
  resources_.createStored(id("a"), "xyz");
  EXPECT_EQ(resources_.content(id("a")).body, "xyz") << "the id is free for another";
  EXPECT_TRUE(isProblem(resources_.content(made["uid"].asString()), 410, "resource_evicted"));
}

TEST_F(Resources, stay_while_they_are_leased) {
  resources_.createStored(id("a"), "abc", R"("ttl_seconds":60)");
  EXPECT_FALSE(resources_.get(id("a")).json["expires_at"].isNull());
  const Reply leased = resources_.act(id("a"), "lease", R"({"ttl_seconds":30})");
  ASSERT_EQ(leased.status, 200) << leased;
  EXPECT_EQ(leased.json["resource"]["in_use_count"], 1);
  EXPECT_TRUE(leased.json["resource"]["expires_at"].isNull());
  EXPECT_FALSE(leased.json["expires_at"].isNull());
  EXPECT_EQ(resources_.remove(id("a")).json["state"], "evicting");
  EXPECT_EQ(resources_.content(id("a")).body, "abc") << "it is read as before";
  const std::string release =
      R"({"lease_id":)" + inQuotes(leased.json["lease_id"].asString()) + "}";
  EXPECT_EQ(resources_.act(id("a"), "release", release).json["state"], "evicted");
  EXPECT_EQ(resources_.act(id("a"), "release", release).status, 200) << "again";
}

TEST_F(Resources, that_are_leased_for_somebody_need_to_know_whom) {
  resources_.createStored(id("a"), "abc");
  for (const std::string body :
       {R"({"worker_id":"w","job_id":"j","lease_token":"t"})", R"({"job_id":"j"})",
        R"({"lease_token":"t"})", R"({"ttl_seconds":0})", R"({"what":1})"}) {
    EXPECT_TRUE(isProblem(resources_.act(id("a"), "lease", body), 422, "validation_failed"))
        << body;
  }
  pool_.pushMany(1);
  const Json::Value job = pool_.claimOne();
  const auto lease = [&](const std::string& token) {
    return resources_.act(id("a"), "lease",
                          R"({"job_id":)" + inQuotes(job["id"].asString()) + R"(,"lease_token":)" +
                              inQuotes(token) + "}");
  };
  EXPECT_EQ(lease(job["lease_token"].asString()).status, 200);
  EXPECT_TRUE(isProblem(lease("another"), 409, "lease_lost"));
  EXPECT_TRUE(isProblem(resources_.act(id("a"), "release", "{}"), 422, "validation_failed"));
}

TEST_F(Resources, live_longer_when_they_are_touched) {
  resources_.createStored(id("a"), "abc", R"("ttl_seconds":60)");
  const Reply touched = resources_.act(id("a"), "touch", R"({"ttl_seconds":7200})");
  EXPECT_EQ(touched.json["ttl_seconds"], 7200) << touched;
  EXPECT_EQ(resources_.act(id("a"), "touch").json["ttl_seconds"], 7200) << "the same again";
}

TEST_F(Resources, of_a_scope_are_released_together) {
  const std::string scope = R"("scope":")" + id("run/1") + '"';
  resources_.createStored(id("a"), "a", scope);
  resources_.createStored(id("b"), "b", scope);
  const Reply leased = resources_.act(id("b"), "lease");
  const std::string path = "/v1/scopes/" + pathText(id("run/1")) + "/resources";
  const Reply released = http_.del(path);
  ASSERT_EQ(released.status, 200) << released;
  EXPECT_EQ(released.json["released"], 1);
  EXPECT_EQ(released.json["deferred"], 1);
  EXPECT_EQ(released.json["more"], false);
  EXPECT_EQ(resources_.get(id("a")).json["reason"], "scope_released");
  EXPECT_EQ(resources_.get(id("b")).json["state"], "evicting");
  EXPECT_TRUE(isProblem(http_.del("/v1/scopes/..%2Fa/resources"), 422, "invalid_id"));
}

TEST_F(Resources, are_made_once_under_an_idempotency_key) {
  const Headers key = {{"Idempotency-Key", id("key")}};
  const Reply first = http_.post("/v1/resources", R"({"type":"file"})", key);
  const Reply second = http_.post("/v1/resources", R"({"type":"file"})", key);
  EXPECT_EQ(first.status, 201) << first;
  EXPECT_EQ(second.status, 201) << second;
  EXPECT_EQ(first.json["uid"], second.json["uid"]);
}

}  // namespace
}  // namespace muster::test
