#include <csignal>

#include "tests/support/service_fixture.h"
#include "tests/support/tokens.h"

namespace muster::test {
namespace {

// A service that is sent a hang-up after its file was changed.
class Reload : public testing::Test {
 protected:
  void rewrite(const std::string& lines) {
    writeFile(service_.folder() / "muster.yml", lines);
    ASSERT_EQ(::kill(service_.pid(), SIGHUP), 0);
  }
  bool logs(const std::string& text) {
    return eventually(kPatience, [&] { return service_.log().find(text) != std::string::npos; });
  }
  Service service_{{.store = anyStore(), .settings = "tokens:\n" + tokenLine("first", "admin")}};
  Http http_{service_.url()};
};

TEST_F(Reload, takes_over_tokens_and_templates) {
  rewrite("tokens:\n" + tokenLine("second", "read, admin") + "templates:\n  new: {run: [cat]}\n");
  ASSERT_TRUE(logs("settings reloaded tokens=1 templates=2")) << service_.log();
  EXPECT_TRUE(isProblem(http_.get("/v1/pools", bearer("first")), 401));
  EXPECT_EQ(http_.get("/v1/pools", bearer("second")).status, 200);
  EXPECT_EQ(http_.put("/v1/pools/p", R"({"template":"new"})", bearer("second")).status, 201);
  EXPECT_EQ(service_.stop(), 0);
}

TEST_F(Reload, of_a_faulty_file_changes_nothing_and_says_where) {
  rewrite("tokens:\n" + tokenLine("second", "read") + "nonsense: 1\n");
  ASSERT_TRUE(logs("settings not reloaded place=muster.yml:3:1")) << service_.log();
  EXPECT_EQ(http_.get("/v1/pools", bearer("first")).status, 200);
  EXPECT_TRUE(isProblem(http_.get("/v1/pools", bearer("second")), 401));
}

TEST_F(Reload, opens_the_service_to_nobody) {
  rewrite("retention_hours: 24\n");
  ASSERT_TRUE(logs("settings not reloaded detail=\"no tokens are left")) << service_.log();
  EXPECT_TRUE(isProblem(http_.get("/v1/pools"), 401));
  EXPECT_EQ(http_.get("/v1/pools", bearer("first")).status, 200);
}

TEST(WorkerTokens, end_when_their_key_is_rotated) {
  Service service({.store = lastingStore(),
                   .settings = "tokens:\n" + tokenLine("ops", "admin") + tokenLine("w", "work")});
  Http http(service.url());
  const auto enrol = [&] {
    const Reply reply = http.post("/v1/workers", R"({"worker_id":"w1"})", bearer("w"));
    EXPECT_EQ(reply.status, 201) << reply;
    return bearer(reply.json["worker_token"].asString());
  };
  const Headers before = enrol();
  EXPECT_TRUE(isProblem(http.post("/v1/tokens/rotate_workers", "", bearer("w")), 403));
  EXPECT_EQ(http.post("/v1/workers/w1/heartbeat", "", before).status, 200);
  const Reply rotated = http.post("/v1/tokens/rotate_workers", "", bearer("ops"));
  ASSERT_EQ(rotated.status, 200) << rotated;
  EXPECT_EQ(rotated.json["count"], 1);
  EXPECT_TRUE(isProblem(http.post("/v1/workers/w1/heartbeat", "", before), 401));
  const Headers after = enrol();
  EXPECT_EQ(http.post("/v1/workers/w1/heartbeat", "", after).status, 200);
  service.restart();
  EXPECT_EQ(Http(service.url()).post("/v1/workers/w1/heartbeat", "", after).status, 200);
}

TEST(TokenOperations, show_what_tokens_allow_and_never_their_hashes) {
  Service service({.store = anyStore(),
                   .settings = "tokens:\n" + tokenLine("ops", "admin") +
                               tokenLine("mailer", "'produce:emails', read",
                                         ", expires_at: 2999-01-01T00:00:00Z")});
  Http http(service.url());
  const Reply own = http.get("/v1/tokens/self", bearer("mailer"));
  EXPECT_EQ(
      own.body,
      R"({"name":"mailer","scopes":["produce:emails","read"],"expires_at":"2999-01-01T00:00:00.000Z"})");
  EXPECT_TRUE(isProblem(http.get("/v1/tokens/self"), 401));
  EXPECT_TRUE(isProblem(http.get("/v1/tokens", bearer("mailer")), 403));
  const Reply all = http.get("/v1/tokens", bearer("ops"));
  EXPECT_EQ(all.json["items"].size(), 2U) << all;
  EXPECT_EQ(all.body.find(sha256Hex("mailer")), std::string::npos);
}

}  // namespace
}  // namespace muster::test
