// Machines that keep something: what they tell of their folders, and what they are told.
#include "tests/support/resource_client.h"
#include "tests/support/service_fixture.h"
#include "tests/support/tokens.h"

namespace muster::test {
namespace {

class Hosts : public ServiceFixture {
 protected:
  Hosts() { pool_.registerWorker(name("w"), R"("host":)" + inQuotes(host_)); }

  std::string path(const std::string& tail = {}) const {
    return "/v1/hosts/" + pathText(host_) + tail;
  }
  // `uids` are the files on the page.
  Reply sync(const std::vector<std::string>& uids, const std::string& more = R"("complete":true)") {
    std::string files;
    for (const std::string& uid : uids) {
      files += (files.empty() ? "" : ",") + (R"({"uid":)" + inQuotes(uid)) + R"(,"size_bytes":3})";
    }
    return http_.post(path("/sync"), R"({"folder_id":"f","data_dir":"/d","disk_bytes_in_use":10,)"
                                     R"("disk_bytes_free":20,"resources":[)" +
                                         files + "]," + more + "}");
  }
  Json::Value keep(const std::string& id) {
    return resources_.create(R"("resource_id":)" + inQuotes(name(id)) +
                             R"(,"type":"file","holder":)" + inQuotes("host:" + host_));
  }
  std::string stateOf(const std::string& id) {
    return resources_.get(name(id)).json["state"].asString();
  }

  const std::string host_ = name("box/1");
  ResourceClient resources_{http_};
};

TEST_F(Hosts, are_shown_with_what_they_hold) {
  EXPECT_TRUE(isProblem(http_.get(path()), 404, "not_found"));
  keep("r");
  const Reply found = http_.get(path());
  ASSERT_EQ(found.status, 200) << found;
  EXPECT_EQ(found.json["host"], host_);
  EXPECT_EQ(found.json["state"], "up");
  EXPECT_EQ(found.json["resources"], 1);
  EXPECT_FALSE(found.json.isMember("folder_id"));
  ASSERT_EQ(sync({}).status, 200);
  const Json::Value told = http_.get(path()).json;
  EXPECT_EQ(told["folder_id"], "f");
  EXPECT_EQ(told["data_dir"], "/d");
  EXPECT_EQ(told["disk_bytes_in_use"], 10);
  EXPECT_EQ(told["disk_bytes_free"], 20);
  EXPECT_FALSE(told.isMember("disk_limit_bytes"));
  bool is_listed = false;
  std::string cursor;
  do {
    const Reply page = http_.get("/v1/hosts?limit=1" + (cursor.empty() ? "" : "&cursor=" + cursor));
    ASSERT_EQ(page.status, 200) << page;
    ASSERT_LE(page.json["items"].size(), 1U);
    for (const auto& item : page.json["items"]) is_listed = is_listed || item["host"] == host_;
    cursor = pathText(page.json["next_cursor"].asString());
  } while (!cursor.empty());
  EXPECT_TRUE(is_listed);
}

TEST_F(Hosts, learn_what_to_delete) {
  const std::string kept = keep("kept")["uid"].asString(), going = keep("going")["uid"].asString();
  EXPECT_EQ(resources_.remove(name("going")).json["state"], "evicting");
  const Reply first = sync({kept, going, "u~nobody"});
  ASSERT_EQ(first.status, 200) << first;
  ASSERT_EQ(first.json["evict"].size(), 1U);
  EXPECT_EQ(first.json["evict"][0], going);
  ASSERT_EQ(first.json["unknown"].size(), 1U);
  EXPECT_EQ(first.json["unknown"][0], "u~nobody");
  const Reply second = sync({kept});
  EXPECT_TRUE(second.json["evict"].isArray());
  EXPECT_TRUE(second.json["evict"].empty());
  EXPECT_EQ(stateOf("going"), "evicted");
  EXPECT_EQ(stateOf("kept"), "active");
}

TEST_F(Hosts, have_one_folder_while_they_are_up) {
  ASSERT_EQ(sync({}).status, 200);
  const std::string other =
      R"({"folder_id":"g","data_dir":"/e","disk_bytes_in_use":0,"disk_bytes_free":0,)"
      R"("resources":[],"complete":true})";
  EXPECT_TRUE(isProblem(http_.post(path("/sync"), other), 409, "host_conflict"));
  EXPECT_EQ(http_.del(path()).status, 204);
  EXPECT_EQ(http_.post(path("/sync"), other).status, 200);
  EXPECT_EQ(http_.get(path()).json["folder_id"], "g");
}

TEST_F(Hosts, that_are_given_up_lose_what_they_hold) {
  keep("r");
  EXPECT_EQ(http_.del(path()).status, 204);
  EXPECT_EQ(stateOf("r"), "lost");
  EXPECT_TRUE(isProblem(http_.del(path()), 404, "not_found"));
}

TEST_F(Hosts, are_told_what_is_wrong_with_a_sync) {
  const Reply faults =
      http_.post(path("/sync"), R"({"folder_id":"","resources":[{"size_bytes":-1,"surprise":1}],)"
                                R"("disk_bytes_in_use":-1,"complete":"yes"})");
  EXPECT_TRUE(isProblem(faults, 422, "validation_failed"));
  EXPECT_EQ(pointers(faults),
            (std::set<std::string>{"/complete", "/data_dir", "/disk_bytes_free",
                                   "/disk_bytes_in_use", "/folder_id", "/resources/0/size_bytes",
                                   "/resources/0/surprise", "/resources/0/uid"}));
  EXPECT_EQ(http_.get("/v1/hosts/" + std::string(257, 'x')).status, 422);
}

TEST_F(Hosts, tell_workers_where_the_folder_is) {
  const Json::Value before = pool_.registerWorker(name("v"), R"("host":)" + inQuotes(host_));
  EXPECT_FALSE(before.isMember("data_dir"));
  ASSERT_EQ(sync({}).status, 200);
  const Json::Value worker = pool_.registerWorker(name("u"), R"("host":)" + inQuotes(host_));
  EXPECT_EQ(worker["data_dir"], "/d");
  EXPECT_GT(worker["resource_limits"]["disk_bytes"].asInt64(), 0);
  EXPECT_GT(worker["resource_limits"]["mem_bytes"].asInt64(), 0);
}

class HostOfService : public testing::Test {};

TEST_F(HostOfService, has_the_name_that_is_configured) {
  Service service({.settings = "host_name: fixed-name\n"});
  service.start();
  Http http(service.url());
  const Reply made = http.post("/v1/resources", R"({"type":"file","holder":"host:fixed-name"})");
  EXPECT_EQ(made.status, 201) << made;
  EXPECT_EQ(http.get("/v1/hosts/fixed-name").json["state"], "up");
  EXPECT_EQ(http.post("/v1/resources", R"({"type":"file","holder":"host:another"})").json["code"],
            "worker_unavailable");
}

TEST_F(HostOfService, is_told_of_by_its_own_workers_only) {
  Service service({.settings = "tokens:\n" + tokenLine("all", "admin, work, produce, read")});
  service.start();
  Http http(service.url());
  const auto token_of = [&](const std::string& worker, const std::string& host) {
    const Reply made = http.post(
        "/v1/workers",
        R"({"worker_id":)" + inQuotes(worker) + R"(,"pool_id":"p","host":)" + inQuotes(host) + "}",
        bearer("all"));
    EXPECT_EQ(made.status, 201) << made;
    return made.json["worker_token"].asString();
  };
  const std::string here = token_of("w", "h"), elsewhere = token_of("v", "g");
  const std::string body =
      R"({"folder_id":"f","data_dir":"/d","disk_bytes_in_use":0,"disk_bytes_free":0,)"
      R"("resources":[],"complete":true})";
  EXPECT_TRUE(isProblem(http.post("/v1/hosts/h/sync", body, bearer(elsewhere)), 403, "forbidden"));
  EXPECT_EQ(http.post("/v1/hosts/h/sync", body, bearer(here)).status, 200);
  EXPECT_EQ(http.del("/v1/hosts/h", bearer(here)).status, 403);
}

}  // namespace
}  // namespace muster::test
