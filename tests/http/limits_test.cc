#include <fstream>
#include <sstream>

#include "tests/support/raw_connection.h"
#include "tests/support/service_fixture.h"
#include "tests/support/webhook_receiver.h"

namespace muster::test {
namespace {

const std::string kSmallBodies = "max_body_bytes: 100000\n";

std::string quoted(std::size_t bytes) { return '"' + std::string(bytes, 'x') + '"'; }

// A service of its own, with small limits.
class Limits : public testing::Test {
 protected:
  explicit Limits(const std::string& settings = kSmallBodies)
      : service_({.settings = settings}), http_(service_.url()), pool_(service_.url(), "p") {}

  static Headers key(const std::string& text) { return {{"Idempotency-Key", text}}; }
  Reply pushLarge(const std::string& more = {}, Headers headers = {}) {
    return pool_.tryPush("\"data\":" + quoted(90'000) + more, std::move(headers));
  }
  static std::size_t bytesOfData(const std::vector<Json::Value>& jobs) {
    std::size_t bytes = 0;
    for (const Json::Value& job : jobs) bytes += job["data"].asString().size();
    return bytes;
  }

  Service service_;
  Http http_;
  PoolClient pool_;
};

TEST_F(Limits, a_claim_has_no_more_payload_than_a_body) {
  for (int i = 0; i < 5; ++i) ASSERT_EQ(pushLarge().status, 201);
  for (int i = 0; i < 20; ++i) pool_.push("\"data\":" + quoted(11'000));
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(pool_.claim("w", R"("max":1000)").size(), 1U) << "two do not fit";
  }
  const auto small = pool_.claim("w", R"("max":1000)");
  EXPECT_EQ(small.size(), 9U);
  EXPECT_LE(bytesOfData(small), 100'000U);
  EXPECT_EQ(pool_.claim("w", R"("max":1000)").size(), 9U);
  EXPECT_EQ(pool_.stats()["claimed"], 23);
}

TEST_F(Limits, a_claim_of_several_tenants_has_no_more_payload_than_a_body) {
  for (const std::string tenant : {"a", "b", "c"}) {
    ASSERT_EQ(pushLarge(R"(,"tenant":")" + tenant + '"').status, 201);
    pool_.push("\"data\":" + quoted(5'000) + R"(,"tenant":")" + tenant + '"');
  }
  std::size_t claimed = 0;
  for (std::vector<Json::Value> jobs; !(jobs = pool_.claim("w", R"("max":1000)")).empty();) {
    EXPECT_LE(bytesOfData(jobs), 100'000U);
    claimed += jobs.size();
  }
  EXPECT_EQ(claimed, 6U);
}

TEST_F(Limits, reports_bring_no_more_payload_than_a_claim) {
  for (int i = 0; i < 3; ++i) ASSERT_EQ(pushLarge().status, 201);
  const Reply reply =
      http_.post(pool_.path("/reports"), R"({"items":[],"claim":{"worker_id":"w","max":100}})");
  ASSERT_EQ(reply.status, 200) << reply;
  EXPECT_EQ(reply.json["claimed"].size(), 1U);
}

TEST_F(Limits, a_batch_does_not_bring_back_more_than_it_could_push) {
  ASSERT_EQ(pushLarge(R"(,"unique_key":"k")").status, 201);
  std::string twins;
  for (int i = 0; i < 100; ++i) {
    twins += (i > 0 ? "," : "") + std::string(R"({"data":1,"unique_key":"k"})");
  }
  const Reply reply =
      http_.post(pool_.path("/jobs/batch"), R"({"items":[{"data":"new"},)" + twins + "]}");
  EXPECT_TRUE(isProblem(reply, 413, "body_too_large")) << reply;
  EXPECT_EQ(pool_.stats()["queue_depth"], 1) << "nothing was pushed";
  const Reply one =
      http_.post(pool_.path("/jobs/batch"), R"({"items":[{"data":1,"unique_key":"k"}]})");
  EXPECT_EQ(one.status, 201) << one;
}

TEST_F(Limits, a_page_of_jobs_ends_early_and_the_pages_join) {
  for (int i = 0; i < 60; ++i) {
    ASSERT_EQ(pushLarge(R"(,"tenant":"t)" + std::to_string(i % 7) + '"').status, 201);
  }
  const Reply first = http_.get(pool_.path("/jobs?limit=200"));
  EXPECT_LT(first.body.size(), 5U << 20);
  EXPECT_FALSE(first.json["next_cursor"].asString().empty());
  std::set<std::string> seen;
  for (const std::string& id : ids(pool_.list())) seen.insert(id);
  EXPECT_EQ(seen.size(), 60U);
}

TEST_F(Limits, a_large_answer_is_written_again_for_the_same_key) {
  const Reply first = pushLarge(R"(,"priority":7)", key("one"));
  ASSERT_EQ(first.status, 201) << first.status;
  const Reply again = pushLarge(R"(,"priority":7)", key("one"));
  EXPECT_EQ(again.status, 201);
  EXPECT_EQ(again.header("idempotency-replayed"), "true");
  EXPECT_EQ(again.body, first.body) << "nothing has happened to the job";
  EXPECT_EQ(again.header("etag"), first.header("etag"));
  EXPECT_EQ(pool_.stats()["queue_depth"], 1);

  std::string items;
  for (int i = 0; i < 300; ++i) items += std::string(i > 0 ? "," : "") + R"({"data":1})";
  const std::string batch = R"({"items":[)" + items + "]}";
  const Reply many = http_.post(pool_.path("/jobs/batch"), batch, key("many"));
  ASSERT_EQ(many.status, 201);
  ASSERT_GT(many.body.size(), 65'536U);
  EXPECT_EQ(http_.post(pool_.path("/jobs/batch"), batch, key("many")).body, many.body);
  EXPECT_EQ(pool_.stats()["queue_depth"], 301) << "nothing was pushed twice";
}

TEST_F(Limits, a_large_claim_is_given_again_while_it_holds) {
  ASSERT_EQ(pushLarge().status, 201);
  const std::string body = R"({"worker_id":"w","max":10})";
  const Reply first = http_.post(pool_.path("/claim"), body, key("c"));
  ASSERT_EQ(first.json["items"].size(), 1U);
  EXPECT_EQ(http_.post(pool_.path("/claim"), body, key("c")).body, first.body);
  ASSERT_EQ(pool_.report("complete", first.json["items"][0]).status, 200);
  const Reply later = http_.post(pool_.path("/claim"), body, key("c"));
  EXPECT_EQ(later.status, 200);
  EXPECT_EQ(later.json["items"].size(), 0U) << "the lease has ended";
  EXPECT_EQ(later.json["worker_status"], "active");
}

TEST_F(Limits, a_large_answer_that_cannot_be_written_again_is_409) {
  std::string items;
  for (int i = 0; i < 1000; ++i) {
    items += std::string(i > 0 ? "," : "") + R"({"job_id":"j)" + std::to_string(i) +
             R"(","outcome":"done","worker_id":"w"})";
  }
  const std::string body = R"({"items":[)" + items + "]}";
  const Reply first = http_.post(pool_.path("/reports"), body, key("r"));
  ASSERT_EQ(first.status, 200) << first;
  ASSERT_GT(first.body.size(), 65'536U);
  EXPECT_TRUE(
      isProblem(http_.post(pool_.path("/reports"), body, key("r")), 409, "answer_not_kept"));

  const Reply pushed = pushLarge("", key("gone"));
  ASSERT_EQ(http_.del("/v1/jobs/" + pushed.json["id"].asString()).status, 204);
  EXPECT_TRUE(isProblem(pushLarge("", key("gone")), 409, "answer_not_kept"));
  EXPECT_EQ(pool_.stats()["queue_depth"], 0) << "nothing was pushed twice";
}

TEST_F(Limits, a_problem_lists_a_hundred_errors) {
  std::string fields = R"("data":1)";
  for (int i = 0; i < 250; ++i) fields += ",\"f" + std::to_string(i) + "\":1";
  const Reply reply = pool_.tryPush(fields);
  EXPECT_TRUE(isProblem(reply, 422, "validation_failed"));
  ASSERT_EQ(reply.json["errors"].size(), 101U);
  EXPECT_EQ(reply.json["errors"][100]["detail"], "150 more are not listed");
}

TEST_F(Limits, metadata_is_merged_up_to_64_kib) {
  pool_.registerWorker("w");
  const auto metadata = [](const std::string& name) {
    return R"({"metadata":{")" + name + "\":" + quoted(40'000) + "}}";
  };
  ASSERT_EQ(pool_.heartbeat("w", metadata("a")).status, 200);
  EXPECT_TRUE(isProblem(pool_.heartbeat("w", metadata("b")), 422, "validation_failed"));
  const Reply refused = http_.patch("/v1/workers/w", metadata("b"));
  EXPECT_TRUE(isProblem(refused, 422, "validation_failed"));
  EXPECT_EQ(pointers(refused), std::set<std::string>{"/metadata"});
  EXPECT_FALSE(pool_.worker("w")["metadata"].isMember("b"));
  EXPECT_EQ(pool_.heartbeat("w", metadata("a")).status, 200);
}

class FewPools : public Limits {
 protected:
  FewPools() : Limits("max_pools: 2\n") {}
};

TEST_F(FewPools, one_more_is_refused) {
  pool_.push();
  EXPECT_EQ(http_.put("/v1/pools/q", "{}").status, 201);
  EXPECT_TRUE(isProblem(http_.put("/v1/pools/r", "{}"), 409, "too_many"));
  EXPECT_TRUE(isProblem(PoolClient(service_.url(), "r").tryPush(R"("data":1)"), 409, "too_many"));
  EXPECT_TRUE(isProblem(http_.post("/v1/pools/r/jobs/batch", R"({"items":[{"data":1}]})"), 409,
                        "too_many"));
  EXPECT_EQ(http_.get("/v1/pools/r").status, 404);
  EXPECT_EQ(http_.del("/v1/pools/q").status, 204);
  EXPECT_EQ(http_.put("/v1/pools/r", "{}").status, 201);
}

class Receivers : public Limits {
 protected:
  Receivers() : Limits("webhook_allow: [127.0.0.0/8]\ncluster: off\n") {}
};

TEST_F(Receivers, that_announce_a_huge_body_or_never_end_a_line_harm_nobody) {
  const std::string lines[] = {
      "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775806\r\n\r\nhello",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;" + std::string(1U << 20, 'a'),
      "HTTP/1.1 200 OK\r\nX: " + std::string(1U << 20, 'a')};
  for (const std::string& line : lines) {
    WebhookReceiver receiver([&](const ReceivedCall&) { return ReceiverAnswer{.raw = line}; });
    const Reply made = http_.post("/v1/webhooks", R"({"url":")" + receiver.url() + "\"}");
    ASSERT_EQ(made.status, 201) << made;
    const std::string path = "/v1/webhooks/" + made.json["id"].asString();
    const Reply tested = http_.post(path + "/test");
    EXPECT_TRUE(tested.ok()) << tested;
    EXPECT_EQ(http_.del(path).status, 204);
  }
  EXPECT_TRUE(service_.running());
}

// The most memory that the process has had, in megabytes.
std::size_t peakMegabytes(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoul(line.substr(6)) / 1024;
  }
  return 0;
}

TEST_F(Limits, streams_that_nobody_reads_do_not_grow) {
  const Json::Value job = pool_.push();
  const Json::Value claimed = pool_.claimOne();
  std::vector<std::unique_ptr<RawConnection>> silent;
  for (int i = 0; i < 40; ++i) {
    auto& stream = silent.emplace_back(std::make_unique<RawConnection>(service_.port()));
    ASSERT_TRUE(stream->send("GET /v1/events/stream HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    ASSERT_NE(stream->receive(kPatience, "listening"), "");
  }
  const std::size_t before = peakMegabytes(service_.pid());
  // Sixteen megabytes of events: 640 for all streams, of which the kernel keeps a few for each.
  const std::string message(4'000, 'm');
  for (int i = 0; i < 4'000; ++i) {
    const Reply reply =
        pool_.report("progress", claimed, R"("progress":0.5,"message":")" + message + '"');
    ASSERT_EQ(reply.status, 200) << reply;
  }
  // Who reads has had all of them.
  PendingReply reader(service_.url(), {"GET", "/v1/events/stream?after=1"});
  EXPECT_TRUE(reader.until(kPatience, [](const Reply& reply) {
    return reply.body.size() > 4'000U * 4'000U;
  })) << reader.reply().body.size();
  const std::size_t after = peakMegabytes(service_.pid());
  EXPECT_LT(after, before + 150) << "megabytes";
}

}  // namespace
}  // namespace muster::test
