#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

std::string nested(int depth, const std::string& core = "1") {
  const auto count = static_cast<std::size_t>(depth);
  return std::string(count, '[') + core + std::string(count, ']');
}

struct Payload {
  std::string name;
  std::string text;
};

class PayloadRoundTrip : public ServiceFixture, public testing::WithParamInterface<Payload> {
 protected:
  // The test's name holds a slash, which no pool may have.
  PayloadRoundTrip() : payload_pool_(service().url(), "payload." + GetParam().name) {}
  PoolClient payload_pool_;
};

TEST_P(PayloadRoundTrip, data_and_result_come_back_as_they_were_written) {
  const std::string& text = GetParam().text;
  Http& http = payload_pool_.http();
  const Reply pushed = payload_pool_.tryPush(R"("data": )" + text + " ");
  ASSERT_EQ(pushed.status, 201) << pushed;
  EXPECT_EQ(pushed.raw("data"), text);
  const std::string job = "/v1/jobs/" + pushed.json["id"].asString();
  EXPECT_EQ(http.get(job).raw("data"), text);
  EXPECT_NE(http.get(payload_pool_.path("/jobs")).body.find(text), std::string::npos);

  const Reply claimed = payload_pool_.tryClaim("w");
  ASSERT_EQ(claimed.json["items"].size(), 1U) << claimed;
  EXPECT_NE(claimed.body.find(R"("data":)" + text), std::string::npos);

  const Reply done =
      payload_pool_.report("complete", claimed.json["items"][0], R"("result":)" + text);
  ASSERT_EQ(done.status, 200) << done;
  EXPECT_EQ(done.raw("result"), text);
  const Reply later = http.get(job);
  EXPECT_EQ(later.raw("data"), text);
  EXPECT_EQ(later.raw("result"), text);
}

INSTANTIATE_TEST_SUITE_P(
    Values, PayloadRoundTrip,
    testing::Values(Payload{"integer_of_19_digits", "1234567890123456789"},
                    Payload{"integer_beyond_64_bits", "123456789012345678901234567890"},
                    Payload{"negative_zero", "-0"}, Payload{"one_tenth", "0.1"},
                    Payload{"trailing_zeros", "1.500"}, Payload{"large_exponent", "1e300"},
                    Payload{"capital_exponent", "1E+2"}, Payload{"null", "null"},
                    Payload{"false", "false"}, Payload{"empty_string", R"("")"},
                    Payload{"empty_object", "{}"}, Payload{"empty_list", "[]"},
                    Payload{"unicode", "\"gr\xC3\xBC\xC3\x9F \xE6\x97\xA5\xE6\x9C\xAC\""},
                    Payload{"astral", "\"\xF0\x9F\x9A\x80\""},
                    Payload{"escaped_astral", R"("\ud83d\ude80")"},
                    Payload{"escaped_nul", R"("a\u0000b")"},
                    Payload{"escapes", R"("\"\\\/\b\f\n\r\t\u00e9")"},
                    Payload{"spaces_inside", R"({ "a" : [ 1 , 2 ] })"},
                    Payload{"keys_in_order", R"({"z":1,"a":{"y":null,"b":0.10}})"},
                    Payload{"key_with_nul", R"({"\u0000":1,"":2})"},
                    Payload{"megabyte", "\"" + std::string(1'000'000, 'x') + "\""},
                    Payload{"sixty_deep", nested(60)},
                    Payload{"sixty_deep_objects",
                            [] {
                              std::string text = "0";
                              for (int i = 0; i < 60; ++i) text = R"({"k":)" + text + "}";
                              return text;
                            }()}),
    [](const auto& test) { return test.param.name; });

using Payloads = ServiceFixture;

TEST_F(Payloads, survive_a_restart) {
  Service own;
  const std::string text = R"({"n":1234567890123456789,"t":"a\u0000\ud83d\ude80","d":1e300})";
  PoolClient before(own.url(), "p");
  const Json::Value job = before.push(R"("data":)" + text);
  own.restart();
  PoolClient after(own.url(), "p");
  EXPECT_EQ(after.http().get("/v1/jobs/" + job["id"].asString()).raw("data"), text);
}

TEST_F(Payloads, a_result_of_null_is_a_result) {
  pool_.push();
  const Reply done = pool_.report("complete", pool_.claimOne(), R"("result":null)");
  ASSERT_EQ(done.status, 200) << done;
  EXPECT_TRUE(done.json.isMember("result"));
  EXPECT_EQ(done.raw("result"), "null");
}

TEST_F(Payloads, nesting_to_the_limit_passes_and_beyond_is_400) {
  EXPECT_EQ(pool_.tryPush(R"("data":)" + nested(63)).status, 201);
  EXPECT_TRUE(isProblem(pool_.tryPush(R"("data":)" + nested(64)), 400));
  EXPECT_TRUE(isProblem(pool_.tryPush(R"("data":)" + nested(100'000)), 400));
}

TEST_F(Payloads, more_than_10000_keys_in_an_object_are_400) {
  std::string members = R"("k0":0)";
  for (int i = 1; i < 10'000; ++i) members += ",\"k" + std::to_string(i) + "\":0";
  EXPECT_EQ(pool_.tryPush(R"("data":{)" + members + "}").status, 201);
  EXPECT_TRUE(isProblem(pool_.tryPush(R"("data":{)" + members + R"(,"more":0})"), 400));
}

TEST_F(Payloads, a_body_over_8_MiB_is_413) {
  constexpr std::size_t kLimit = 8 * 1024 * 1024;
  const std::string frame = R"({"data":""})";
  const std::string most = R"({"data":")" + std::string(kLimit - frame.size(), 'x') + "\"}";
  ASSERT_EQ(most.size(), kLimit);
  EXPECT_EQ(http_.post(pool_.path("/jobs"), most).status, 201);
#ifdef MUSTER_FRAMEWORK_TELLS_OF_CONNECTIONS
  EXPECT_TRUE(isProblem(http_.post(pool_.path("/jobs"), most + " "), 413));
  EXPECT_TRUE(
      isProblem(http_.post(pool_.path("/jobs"), most + " ", {{"Expect", "100-continue"}}), 413));
#endif
  EXPECT_EQ(http_.get("/healthz").status, 200);
}

TEST_F(Payloads, a_smaller_limit_can_be_set) {
  Service small({.store = anyStore(), .settings = "max_body_bytes: 2048\n"});
  PoolClient pool(small.url(), "p");
  EXPECT_EQ(pool.tryPush(R"("data":")" + std::string(2000, 'x') + "\"").status, 201);
  const Reply refused = pool.tryPush(R"("data":")" + std::string(2048, 'x') + "\"");
  EXPECT_EQ(refused.status, 413) << refused;
#ifdef MUSTER_FRAMEWORK_TELLS_OF_CONNECTIONS
  EXPECT_TRUE(isProblem(refused, 413));
#endif
}

TEST_F(Payloads, texts_that_are_not_json_are_400) {
  for (const char* text :
       {"", "{", "{\"data\":1", "{\"data\":1}}", "{\"data\":01}", "{\"data\":1,}", "{'data':1}",
        "{\"data\":NaN}", "{\"data\":\"\t\"}", "{\"data\":\"\xff\"}", "{\"data\":\"\\x\"}",
        "{\"data\":1} // why", "data=1", "{\"data\":\"\xed\xa0\x80\"}", "{\"data\":+1}",
        "{\"data\":.5}", "{\"data\":\"\xc0\xaf\"}"}) {
    EXPECT_TRUE(isProblem(http_.post(pool_.path("/jobs"), text), 400)) << text;
  }
}

}  // namespace
}  // namespace muster::test
