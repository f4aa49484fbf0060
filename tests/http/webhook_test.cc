#include <algorithm>
#include <atomic>

#include "tests/support/service_fixture.h"
#include "tests/support/webhook_receiver.h"

namespace muster::test {
namespace {

// Alone, so that a service that is started again leads at once.
const std::string kSettings =
    "webhook_allow: [127.0.0.0/8]\nwebhook_retry_base_seconds: 0\nwebhook_timeout_seconds: 300\n"
    "cluster: off\n";
const std::string kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

ReceiverAnswer status(int code) { return {.status = code}; }

class WebhookService : public testing::Test {
 protected:
  explicit WebhookService(const std::string& settings = kSettings)
      : service_({.store = lastingStore(), .settings = settings}),
        http_(service_.url()),
        pool_(service_.url(), "p") {}

  Json::Value create(const std::string& url, const std::string& more = {}) {
    const Reply reply = http_.post("/v1/webhooks", R"({"url":")" + url + "\"" + more + "}");
    EXPECT_EQ(reply.status, 201) << reply;
    return reply.json;
  }
  static std::string path(const Json::Value& webhook, const std::string& tail = {}) {
    return "/v1/webhooks/" + webhook["id"].asString() + tail;
  }
  Json::Value get(const Json::Value& webhook) { return http_.get(path(webhook)).json; }
  Json::Value deliveries(const Json::Value& webhook, const std::string& query = {}) {
    return http_.get(path(webhook, "/deliveries" + query)).json["items"];
  }
  static bool hasCount(const WebhookReceiver& receiver, std::size_t count) {
    return eventually(kPatience, [&] { return receiver.count() >= count; });
  }

  Service service_;
  Http http_;
  PoolClient pool_;
};

TEST_F(WebhookService, an_event_is_posted_and_signed) {
  WebhookReceiver receiver;
  pool_.push();  // before its time
  const Json::Value webhook = create(receiver.url(), R"(,"types":["job.created"])");
  const Json::Value job = pool_.push();
  ASSERT_TRUE(hasCount(receiver, 1));
  const ReceivedCall call = receiver.calls().at(0);
  EXPECT_EQ(call.method, "POST");
  EXPECT_EQ(call.path, "/hook");
  EXPECT_EQ(call.header("content-type"), "application/json");
  EXPECT_TRUE(call.header("user-agent").starts_with("muster/"));
  EXPECT_TRUE(isSignedWith(call, webhook["secret"].asString()));
  EXPECT_FALSE(isSignedWith(call, kSecret));

  const Json::Value body = call.json();
  EXPECT_EQ(body["type"], "job.created");
  EXPECT_EQ(body["data"]["job_id"], job["id"]);
  EXPECT_EQ(body["data"], pool_.events("types=job.created").back()) << "as GET /v1/events has it";
  EXPECT_EQ(body["timestamp"], body["data"]["at"]);
  EXPECT_TRUE(call.header("webhook-id")
                  .starts_with(webhook["id"].asString() + "." + body["data"]["seq"].asString()));

  EXPECT_TRUE(
      eventually(kPatience, [&] { return deliveries(webhook, "?status=delivered").size() == 1U; }));
  const Json::Value delivery = deliveries(webhook)[0];
  EXPECT_EQ(delivery["id"], call.header("webhook-id"));
  EXPECT_EQ(delivery["response_status"], 204);
  EXPECT_EQ(delivery["attempts"], 1);
  EXPECT_EQ(get(webhook)["status"], "active");
  EXPECT_TRUE(get(webhook).isMember("last_delivered_at"));
  const std::string counted = "muster_webhook_deliveries_total{result=\"delivered\"} 1\n";
  EXPECT_TRUE(eventually(
      kPatience, [&] { return http_.get("/metrics").body.find(counted) != std::string::npos; }));
}

TEST_F(WebhookService, a_call_that_failed_is_made_again_with_the_same_id) {
  std::atomic<int> tries = 0;
  WebhookReceiver receiver([&](const ReceivedCall&) {
    return ++tries < 3 ? ReceiverAnswer{.status = 500, .body = "not now"} : status(200);
  });
  const Json::Value webhook = create(receiver.url(), R"(,"types":["job.created"])");
  pool_.push();
  ASSERT_TRUE(
      eventually(kPatience, [&] { return deliveries(webhook, "?status=delivered").size() == 1U; }));
  const auto calls = receiver.calls();
  ASSERT_EQ(calls.size(), 3U);
  for (const ReceivedCall& call : calls) {
    EXPECT_EQ(call.header("webhook-id"), calls[0].header("webhook-id"));
    EXPECT_EQ(call.body, calls[0].body);
    EXPECT_TRUE(isSignedWith(call, webhook["secret"].asString()));
  }
  EXPECT_EQ(deliveries(webhook)[0]["attempts"], 3);
  EXPECT_FALSE(get(webhook).isMember("failing_since"));
}

TEST_F(WebhookService, after_the_last_try_it_is_given_up_and_can_be_sent_again) {
  std::atomic<bool> well = false;
  WebhookReceiver receiver([&](const ReceivedCall&) {
    return well ? status(204) : ReceiverAnswer{.status = 500, .body = std::string(5000, 'x')};
  });
  const Json::Value webhook = create(receiver.url(), R"(,"types":["job.created"])");
  pool_.push();
  ASSERT_TRUE(
      eventually(kPatience, [&] { return deliveries(webhook, "?status=failed").size() == 1U; }));
  EXPECT_EQ(receiver.count(), 10U);
  const Json::Value failed = deliveries(webhook)[0];
  EXPECT_EQ(failed["attempts"], 10);
  EXPECT_EQ(failed["error"], "answered 500");
  EXPECT_EQ(failed["response_body"].asString(), std::string(1024, 'x')) << "the first KiB";
  EXPECT_EQ(get(webhook)["status"], "failing");
  EXPECT_EQ(get(webhook)["last_error"], "answered 500");

  well = true;
  const std::string resend = path(webhook, "/deliveries/" + failed["id"].asString() + "/retry");
  EXPECT_EQ(http_.post(resend).status, 202);
  EXPECT_TRUE(eventually(kPatience, [&] { return get(webhook)["status"] == "active"; }));
  EXPECT_EQ(deliveries(webhook)[0]["status"], "delivered");
  EXPECT_TRUE(isProblem(http_.post(path(webhook, "/deliveries/x/retry")), 404, "not_found"));
}

TEST_F(WebhookService, gone_disables_it) {
  WebhookReceiver receiver([](const ReceivedCall&) { return status(410); });
  const Json::Value webhook = create(receiver.url(), R"(,"types":["job.created"])");
  pool_.push();
  ASSERT_TRUE(eventually(kPatience, [&] { return get(webhook)["status"] == "disabled"; }));
  EXPECT_EQ(get(webhook)["disabled_reason"], "gone");
  EXPECT_EQ(pool_.events("types=webhook.disabled").size(), 1U);
  EXPECT_EQ(receiver.count(), 1U);
}

TEST_F(WebhookService, a_redirect_is_not_followed) {
  WebhookReceiver elsewhere;
  WebhookReceiver receiver([&](const ReceivedCall&) {
    return ReceiverAnswer{.status = 307, .headers = {{"Location", elsewhere.url()}}};
  });
  const Json::Value webhook = create(receiver.url());
  const Json::Value result = http_.post(path(webhook, "/test")).json;
  EXPECT_EQ(result["delivered"], false);
  EXPECT_EQ(result["response_status"], 307);
  EXPECT_EQ(result["error"], "answered 307; redirects are not followed");
  EXPECT_EQ(elsewhere.count(), 0U);
}

TEST_F(WebhookService, a_test_is_sent_now_and_is_no_event) {
  WebhookReceiver receiver(
      [](const ReceivedCall&) { return ReceiverAnswer{.status = 200, .body = "thanks"}; });
  const Json::Value webhook =
      create(receiver.url(), R"(,"enabled":false,"secret":")" + kSecret + "\"");
  const Reply reply = http_.post(path(webhook, "/test"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.json["delivered"], true);
  EXPECT_EQ(reply.json["response_body"], "thanks");
  const ReceivedCall call = receiver.calls().at(0);
  EXPECT_TRUE(isSignedWith(call, kSecret));
  EXPECT_NE(call.body.find(R"("type":"webhook.test")"), std::string::npos);
  EXPECT_EQ(reply.json["id"], call.header("webhook-id"));
  EXPECT_EQ(deliveries(webhook).size(), 0U);
  EXPECT_TRUE(isProblem(http_.post("/v1/webhooks/x/test"), 404, "not_found"));
}

TEST_F(WebhookService, after_a_rotation_both_secrets_sign) {
  WebhookReceiver receiver;
  const Json::Value webhook = create(receiver.url(), R"(,"types":["job.created"])");
  const Reply rotated = http_.post(path(webhook, "/rotate"));
  EXPECT_EQ(rotated.status, 200);
  EXPECT_NE(rotated.json["secret"], webhook["secret"]);
  EXPECT_TRUE(rotated.json.isMember("old_secret_until"));
  pool_.push();
  ASSERT_TRUE(hasCount(receiver, 1));
  const ReceivedCall call = receiver.calls().at(0);
  EXPECT_TRUE(isSignedWith(call, rotated.json["secret"].asString()));
  EXPECT_TRUE(isSignedWith(call, webhook["secret"].asString()));
  const Reply own = http_.post(path(webhook, "/rotate"), R"({"secret":")" + kSecret + "\"}");
  EXPECT_EQ(own.json["secret"], kSecret);
}

TEST_F(WebhookService, one_that_does_not_answer_holds_up_no_other) {
  WebhookReceiver silent([](const ReceivedCall&) { return ReceiverAnswer{.never = true}; });
  WebhookReceiver quick;
  create(silent.url(), R"(,"types":["job.created"])");
  create(quick.url(), R"(,"types":["job.created"])");
  for (int i = 0; i < 20; ++i) pool_.push();
  EXPECT_TRUE(hasCount(quick, 20));
  EXPECT_TRUE(hasCount(silent, 1));
  EXPECT_EQ(silent.count(), 1U) << "one call at a time";
}

TEST_F(WebhookService, events_come_in_their_order) {
  WebhookReceiver receiver;
  create(receiver.url(), R"(,"types":["job.created"],"pool_id":"p")");
  PoolClient other(service_.url(), "q");
  other.push();
  std::vector<std::string> pushed = pool_.pushMany(100), received;
  ASSERT_TRUE(hasCount(receiver, pushed.size()));
  for (const ReceivedCall& call : receiver.calls()) {
    const Json::Value body = call.json();
    received.push_back(body["data"]["job_id"].asString());
  }
  EXPECT_EQ(received, pushed) << "and none of another pool";
}

TEST_F(WebhookService, a_disabled_one_goes_on_where_it_stopped) {
  WebhookReceiver receiver;
  const Json::Value webhook = create(receiver.url(), R"(,"types":["job.created"])");
  EXPECT_EQ(http_.patch(path(webhook), R"({"enabled":false})").json["status"], "disabled");
  pool_.push();
  EXPECT_EQ(http_.post(path(webhook, "/test")).json["delivered"], true);
  EXPECT_EQ(receiver.count(), 1U) << "the test alone";
  EXPECT_EQ(http_.patch(path(webhook), R"({"enabled":true})").json["status"], "active");
  EXPECT_TRUE(hasCount(receiver, 2));
}

TEST_F(WebhookService, a_change_of_the_url_counts_for_what_waits) {
  WebhookReceiver broken([](const ReceivedCall&) { return status(503); });
  WebhookReceiver receiver;
  const Json::Value webhook = create(broken.url(), R"(,"types":["job.created"])");
  pool_.push();
  ASSERT_TRUE(hasCount(broken, 1));
  EXPECT_EQ(http_.patch(path(webhook), R"({"url":")" + receiver.url() + "\"}").status, 200);
  pool_.push();
  EXPECT_TRUE(hasCount(receiver, 1));
}

TEST_F(WebhookService, is_a_resource_like_the_others) {
  const Json::Value made = create("https://hooks.example.org/a", R"(,"description":"mine")");
  const Reply shown = http_.get(path(made));
  EXPECT_EQ(shown.header("etag"), "\"1\"");
  EXPECT_FALSE(shown.json.isMember("secret"));
  EXPECT_EQ(shown.json["description"], "mine");
  EXPECT_EQ(shown.json["types"], Json::Value(Json::arrayValue));
  EXPECT_TRUE(isProblem(http_.patch(path(made), R"({"enabled":false})", {{"If-Match", "\"7\""}}),
                        412, "version_mismatch"));
  const Reply changed = http_.patch(path(made), R"({"types":["job.*"]})", {{"If-Match", "\"1\""}});
  EXPECT_EQ(changed.header("etag"), "\"2\"");
  EXPECT_EQ(changed.json["description"], "mine");
  EXPECT_FALSE(changed.json.isMember("secret"));
  create("https://hooks.example.org/b");
  const Reply first = http_.get("/v1/webhooks?limit=1");
  EXPECT_EQ(first.json["items"].size(), 1U);
  const Reply second =
      http_.get("/v1/webhooks?limit=1&cursor=" + first.json["next_cursor"].asString());
  EXPECT_EQ(second.json["items"].size(), 1U);
  EXPECT_FALSE(second.json.isMember("next_cursor"));
  EXPECT_EQ(http_.del(path(made), {{"If-Match", "\"2\""}}).status, 204);
  EXPECT_TRUE(isProblem(http_.get(path(made)), 404, "not_found"));
  EXPECT_TRUE(isProblem(http_.del(path(made)), 404, "not_found"));
}

TEST_F(WebhookService, bad_ones_are_refused_with_every_fault) {
  const auto refused = [&](const std::string& body, const std::set<std::string>& places) {
    const Reply reply = http_.post("/v1/webhooks", body);
    EXPECT_TRUE(isProblem(reply, 422, "validation_failed")) << body;
    EXPECT_EQ(pointers(reply), places) << body;
  };
  refused("{}", {"/url"});
  refused(R"({"url":"nowhere"})", {"/url"});
  refused(R"({"url":"http://"})", {"/url"});
  refused(R"({"url":"ftp://a/"})", {"/url"});
  refused(R"({"url":"http://user@a/"})", {"/url"});
  refused(R"({"url":"http://a","types":["job.*","x","y.*"],"secret":"no","pool_id":"/","more":1})",
          {"/types/1", "/types/2", "/secret", "/pool_id", "/more"});
  const Json::Value made = create("https://hooks.example.org/a");
  EXPECT_EQ(pointers(http_.patch(path(made), R"({"url":"x","secret":"y"})")),
            (std::set<std::string>{"/url", "/secret"}));
  EXPECT_TRUE(isProblem(http_.get(path(made, "/deliveries?status=lost")), 400, "invalid_query"));
}

class GuardedWebhooks : public WebhookService {
 protected:
  GuardedWebhooks() : WebhookService("webhook_retry_base_seconds: 60\n") {}
};

TEST_F(GuardedWebhooks, private_addresses_are_refused_unless_they_are_allowed) {
  WebhookReceiver receiver;
  for (const char* host : {"127.0.0.1", "localhost", "2130706433", "[::ffff:127.0.0.1]"}) {
    const Json::Value webhook = create(receiver.url(host), R"(,"types":["job.created"])");
    const Json::Value result = http_.post(path(webhook, "/test")).json;
    EXPECT_EQ(result["delivered"], false) << host;
    EXPECT_NE(result["error"].asString().find("private"), std::string::npos) << result;
  }
  pool_.push();
  EXPECT_TRUE(eventually(kPatience, [&] {
    const Json::Value webhooks = http_.get("/v1/webhooks").json["items"];
    return std::all_of(webhooks.begin(), webhooks.end(), [](const Json::Value& webhook) {
      return webhook["status"] == "failing" && webhook["pending_deliveries"] == 1;
    });
  }));
  EXPECT_EQ(receiver.count(), 0U);
}

class WebhooksByName : public WebhookService {
 protected:
  WebhooksByName() : WebhookService("webhook_allow: [localhost]\nwebhook_timeout_seconds: 300\n") {}
};

TEST_F(WebhooksByName, a_name_on_the_list_is_allowed_and_its_address_is_not) {
  WebhookReceiver receiver;
  EXPECT_EQ(http_.post(path(create(receiver.url("localhost")), "/test")).json["delivered"], true);
  EXPECT_EQ(http_.post(path(create(receiver.url()), "/test")).json["delivered"], false);
}

TEST_F(WebhookService, what_was_pending_goes_out_after_a_restart_though_nothing_happens) {
  std::atomic<bool> well = false;
  WebhookReceiver receiver(
      [&](const ReceivedCall&) { return well ? status(204) : ReceiverAnswer{.never = true}; });
  const Json::Value webhook = create(receiver.url(), R"(,"types":["job.created"])");
  pool_.push();
  ASSERT_TRUE(hasCount(receiver, 1));
  service_.kill9();
  well = true;
  service_.start();
  EXPECT_TRUE(hasCount(receiver, 2));
  EXPECT_EQ(receiver.calls().at(1).header("webhook-id"),
            receiver.calls().at(0).header("webhook-id"));
}

// Events are made while the service is killed again and again; each must arrive.
TEST_F(WebhookService, every_event_arrives_though_the_service_is_killed) {
  constexpr std::size_t kMostOfALife = 400;
  WebhookReceiver receiver;
  const Json::Value webhook = create(receiver.url(), R"(,"types":["job.created"])");
  std::set<std::string> pushed;
  for (int life = 0; life < 6; ++life) {
    PoolClient client(service_.url(), "p");
    const std::size_t before = receiver.count();
    std::atomic<bool> dead = false;
    std::vector<std::string> acknowledged;
    std::jthread pusher([&] {
      while (!dead && acknowledged.size() < kMostOfALife) {
        const Reply reply = client.tryPush(R"("data":1)");
        if (reply.status == 0) return;
        if (reply.status == 201) acknowledged.push_back(reply.json["id"].asString());
      }
    });
    // In the middle of it: some have been delivered, others are on their way.
    EXPECT_TRUE(eventually(kPatience, [&] {
      return receiver.count() > before + 30U * static_cast<std::size_t>(life % 3) + 5;
    }));
    service_.kill9();
    dead = true;
    pusher.join();
    pushed.insert(acknowledged.begin(), acknowledged.end());
    service_.start();
  }
  EXPECT_GT(pushed.size(), 50U);
  const auto arrived = [&] {
    std::map<std::string, std::set<std::string>> ids;  // of jobs → of messages
    for (const ReceivedCall& call : receiver.calls()) {
      const Json::Value body = call.json();
      ids[body["data"]["job_id"].asString()].insert(call.header("webhook-id"));
    }
    return ids;
  };
  EXPECT_TRUE(eventually(kPatience,
                         [&] {
                           const auto ids = arrived();
                           return std::all_of(
                               pushed.begin(), pushed.end(),
                               [&](const std::string& job) { return ids.contains(job); });
                         }))
      << pushed.size() << " jobs were pushed and " << arrived().size() << " arrived";
  for (const auto& [job, ids] : arrived()) EXPECT_EQ(ids.size(), 1U) << job;
}

}  // namespace
}  // namespace muster::test
