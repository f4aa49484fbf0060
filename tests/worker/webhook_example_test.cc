// The receiver in examples/ is run as it is written.
#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

const std::string kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

TEST(WebhookExample, takes_what_is_signed_and_refuses_what_is_not) {
  Service service({.store = anyStore(),
                   .settings = "webhook_allow: [127.0.0.1]\nwebhook_timeout_seconds: 300\n"});
  const TempFolder folder;
  ChildProcess receiver({{"/usr/bin/python3", MUSTER_EXAMPLES "/webhook_receiver.py", "0"},
                         folder.path(),
                         {"WEBHOOK_SECRET=" + kSecret}});
  const std::string begin = "listening on ";
  ASSERT_TRUE(eventually(kPatience, [&] { return receiver.out().ends_with('\n'); }))
      << receiver.err();
  const std::string url =
      receiver.out().substr(begin.size(), receiver.out().find('\n') - begin.size());
  Http http(service.url());
  const auto create = [&](const std::string& more) {
    const Reply made = http.post("/v1/webhooks", R"({"url":")" + url + "\"" + more + "}");
    EXPECT_EQ(made.status, 201) << made;
    return "/v1/webhooks/" + made.json["id"].asString();
  };
  const std::string ours = create(R"(,"types":["job.created"],"secret":")" + kSecret + "\"");
  const std::string strange = create(R"(,"types":["job.created"])");
  PoolClient pool(service.url(), "p");
  const Json::Value job = pool.push();
  EXPECT_TRUE(eventually(kPatience,
                         [&] {
                           return receiver.out().find("job.created " + job["id"].asString()) !=
                                  std::string::npos;
                         }))
      << receiver.out() << receiver.err();
  EXPECT_EQ(http.post(ours + "/test").json["response_status"], 204);
  EXPECT_EQ(http.post(strange + "/test").json["response_status"], 401);
}

}  // namespace
}  // namespace muster::test
