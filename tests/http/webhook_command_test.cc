#include "tests/support/service_fixture.h"
#include "tests/support/webhook_receiver.h"

namespace muster::test {
namespace {

// The `muster webhooks` command against the real service.
class WebhookCommand : public testing::Test {
 protected:
  int run(std::vector<std::string> args) {
    args.insert(args.begin(), {musterBinary(), "webhooks"});
    args.insert(args.end(), {"--url", service_.url()});
    const TempFolder folder;
    ChildProcess muster({args, folder.path()});
    const int code = muster.wait().value_or(-1);
    out_ = muster.out();
    err_ = muster.err();
    return code;
  }
  // Of the only webhook.
  std::string id() { return http_.get("/v1/webhooks").json["items"][0]["id"].asString(); }
  bool shows(const std::string& text) const { return out_.find(text) != std::string::npos; }

  Service service_{{.store = anyStore(),
                    .settings = "webhook_allow: [127.0.0.1]\nwebhook_timeout_seconds: 300\n"}};
  Http http_{service_.url()};
  std::string out_, err_;
};

TEST_F(WebhookCommand, goes_through_the_life_of_a_webhook) {
  WebhookReceiver receiver;
  EXPECT_EQ(run({}), 0);
  EXPECT_EQ(err_, "no webhooks\n");
  ASSERT_EQ(run({"add", receiver.url(), "--types", "job.created,pool.*", "--description", "mine"}),
            0)
      << err_;
  EXPECT_TRUE(out_.starts_with("whsec_")) << out_;
  const std::string secret = out_.substr(0, out_.size() - 1), one = id();
  EXPECT_NE(err_.find(one), std::string::npos) << err_;
  EXPECT_EQ(run({"list"}), 0);
  EXPECT_TRUE(shows(receiver.url()) && shows("job.created,pool.*") && shows("active")) << out_;
  EXPECT_EQ(run({"test", one}), 0) << err_;
  EXPECT_TRUE(out_.starts_with("delivered: answered 204 after ")) << out_;
  EXPECT_TRUE(isSignedWith(receiver.calls().at(0), secret));

  PoolClient pool(service_.url(), "p");
  pool.push();
  ASSERT_TRUE(eventually(kPatience, [&] {
    return run({"deliveries", one, "--status", "delivered"}) == 0 && shows("job.created");
  })) << out_;
  const std::string delivery =
      http_.get("/v1/webhooks/" + one + "/deliveries").json["items"][0]["id"].asString();
  const std::size_t before = receiver.count();
  EXPECT_EQ(run({"deliveries", one, "--resend", delivery}), 0) << err_;
  EXPECT_TRUE(eventually(kPatience, [&] { return receiver.count() > before; }));

  EXPECT_EQ(run({"rotate", one}), 0);
  EXPECT_TRUE(out_.starts_with("whsec_")) << out_;
  EXPECT_EQ(run({"disable", one}), 0);
  EXPECT_EQ(run({"show", one}), 0);
  EXPECT_TRUE(shows("disabled") && shows("mine") && !shows("whsec_")) << out_;
  EXPECT_EQ(run({"enable", one, "-o", "json"}), 0);
  EXPECT_TRUE(shows(R"("status":"active")")) << out_;
  EXPECT_EQ(run({"rm", one}), 0);
  EXPECT_EQ(run({"show", one}), 1);
  EXPECT_NE(err_.find("there is no webhook"), std::string::npos) << err_;
}

TEST_F(WebhookCommand, says_what_is_wrong) {
  EXPECT_EQ(run({"add", "nowhere"}), 1);
  EXPECT_NE(err_.find("/url"), std::string::npos) << err_;
  EXPECT_EQ(run({"add"}), 2);
  ASSERT_EQ(run({"add", "http://10.255.255.1/"}), 0);
  EXPECT_EQ(run({"test", id()}), 1) << "it did not arrive";
  EXPECT_TRUE(shows("not delivered: the address is private")) << out_;
}

}  // namespace
}  // namespace muster::test
