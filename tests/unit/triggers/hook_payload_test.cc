#include "triggers/hook_payload.h"

#include <gtest/gtest.h>

#include <map>

namespace muster {
namespace {

using Headers = std::map<std::string, std::string>;

Result<HookReading> read(const TriggerInput& input, const std::string& body,
                         const Headers& headers = {}, const std::string& query_pool = "") {
  return readHook(input, {[&](const std::string& name) {
                            const auto found = headers.find(name);
                            return found == headers.end() ? std::string() : found->second;
                          },
                          body, PoolId(query_pool)});
}

TriggerInput input(std::optional<std::string> job_from = {}, std::string pool = "p") {
  TriggerInput made;
  made.pool = PoolId(std::move(pool));
  made.job_from = std::move(job_from);
  return made;
}

std::string jobOf(const Result<HookReading>& reading) {
  if (!reading) return reading.error().detail;
  if (reading->events.size() != 1) return "ignored: " + reading->ignored;
  return reading->events[0].job ? reading->events[0].job->data : "none";
}

const std::string kSupabase =
    R"({"type":"INSERT","table":"papers","schema":"public","record":{"id":7},"old_record":null})";
const std::string kHasura =
    R"({"id":"ev-1","event":{"op":"INSERT","data":{"old":null,"new":{"id":7}}},)"
    R"("trigger":{"name":"t"},"table":{"schema":"public","name":"papers"}})";
const std::string kCloudEvent =
    R"({"specversion":"1.0","id":"A1","source":"/s","type":"job.added","data":{"id":7}})";
const std::string kSns =
    R"({"Type":"Notification","MessageId":"m-1","TopicArn":"arn:x","Message":"{\"id\":7}"})";

TEST(HookPayload, aJobIsTakenFromTheShapeOfEverySender) {
  const Headers sns = {{"x-amz-sns-message-type", "Notification"},
                       {"content-type", "text/plain; charset=UTF-8"}};
  struct Row {
    const char* from;
    std::string body;
    Headers headers;
    const char* job;
  };
  const Row table[] = {
      {"/record", kSupabase, {}, R"({"id":7})"},
      {"/event/data/new", kHasura, {}, R"({"id":7})"},
      {"/data", kCloudEvent, {{"content-type", "application/cloudevents+json"}}, R"({"id":7})"},
      {"", R"({"id":7})", {{"ce-type", "job.added"}, {"ce-id", "A1"}}, R"({"id":7})"},
      {"/after", R"({"ref":"main","after":"abc"})", {{"x-github-event", "push"}}, R"("abc")"},
      {"/after",
       "payload=%7B%22after%22%3A+%22abc%22%7D",
       {{"x-github-event", "push"}},
       R"("abc")"},
      {"/Message", kSns, sns, R"({"id":7})"},
      {"/Message/id", kSns, sns, "7"},
      {"/Message", R"({"Type":"Notification","TopicArn":"a","Message":"plain"})", {}, R"("plain")"},
      {"", "{}", {}, "{}"},
      {"", "", {}, "{}"},
      {"/n", R"({"n":1.50})", {}, "1.50"},
  };
  for (const Row& row : table) {
    EXPECT_EQ(jobOf(read(input(row.from), row.body, row.headers)), row.job) << row.body;
  }
}

TEST(HookPayload, whatIsNoWorkIsIgnored) {
  TriggerInput only_push = input();
  only_push.events = {"push"};
  struct Row {
    TriggerInput input;
    std::string body;
    Headers headers;
    const char* why;
  };
  const Row table[] = {
      {input(), R"({"zen":"x"})", {{"x-github-event", "ping"}}, "ping"},
      {only_push, "{}", {{"x-github-event", "star"}}, "star"},
      {only_push, "{}", {}, "no type of event"},
      {input(), R"({"type":"DELETE","table":"t","record":null,"old_record":{}})", {}, "DELETE"},
      {input(), R"({"event":{"op":"DELETE","data":{"new":null}}})", {}, "DELETE"},
      {input("/record"),
       R"({"type":"INSERT","table":"t","record":null})",
       {},
       "nothing at /record"},
      {input("/no/where"), kSupabase, {}, "nothing at /no/where"},
      {input(),
       R"({"Type":"UnsubscribeConfirmation","TopicArn":"a"})",
       {},
       "UnsubscribeConfirmation"},
      {input(), "[]", {{"content-type", "application/cloudevents-batch+json"}}, "an empty batch"},
  };
  for (const Row& row : table) {
    const auto reading = read(row.input, row.body, row.headers);
    ASSERT_TRUE(reading) << row.why;
    EXPECT_TRUE(reading->events.empty()) << row.why;
    EXPECT_EQ(reading->ignored, row.why);
  }
  EXPECT_EQ(read(only_push, "{}", {{"x-github-event", "push"}})->events.size(), 1U);
}

TEST(HookPayload, anythingElseIsAHint) {
  for (const char* body : {"", " \n", "{}", "hello", "a=1&b=2", "[1,2]", "{broken", "null",
                           R"({"base":{"id":"app1"},"webhook":{"id":"ach1"},"timestamp":"x"})"}) {
    const auto reading = read(input({}, ""), body);
    ASSERT_TRUE(reading) << body;
    ASSERT_EQ(reading->events.size(), 1U) << body;
    EXPECT_TRUE(reading->events[0].pool.empty());
    EXPECT_TRUE(reading->events[0].delivery.empty());
    EXPECT_FALSE(reading->events[0].job);
  }
}

TEST(HookPayload, theSubscriptionOfSnsIsLeftToAPerson) {
  const auto reading = read(
      input(), R"({"Type":"SubscriptionConfirmation","TopicArn":"a","SubscribeURL":"https://s"})",
      {{"x-amz-sns-message-type", "SubscriptionConfirmation"}});
  ASSERT_TRUE(reading);
  EXPECT_TRUE(reading->events.empty());
  EXPECT_EQ(reading->confirm_url, "https://s");
}

TEST(HookPayload, thePoolIsTakenFromTheFirstPlaceThatNamesOne) {
  const std::string body = R"({"pool_id":"body","meta":{"queue":"pointed"}})";
  TriggerInput from = input({}, "");
  from.pool_from = "/meta/queue";
  const auto poolOf = [](const Result<HookReading>& reading) {
    return reading ? reading->events.at(0).pool.str() : reading.error().detail;
  };
  EXPECT_EQ(poolOf(read(input({}, "own"), body, {}, "query")), "own");
  EXPECT_EQ(poolOf(read(from, body, {}, "query")), "query");
  EXPECT_EQ(poolOf(read(from, body)), "body");
  EXPECT_EQ(poolOf(read(from, R"({"meta":{"queue":"pointed"}})")), "pointed");
  EXPECT_EQ(poolOf(read(from, R"({"meta":{"queue":12}})")), "12");
  EXPECT_EQ(poolOf(read(from, R"({"meta":{}})")), "");
  EXPECT_EQ(
      poolOf(read(input({}, ""), R"({"specversion":"1.0","type":"t","data":{"pool_id":"d"}})")),
      "d");
}

TEST(HookPayload, whatTheTriggerCannotReadIsRefused) {
  TriggerInput from = input({}, "");
  from.pool_from = "/q";
  EXPECT_EQ(read(from, "{broken").error().code, ErrorCode::kInvalidJson);
  EXPECT_EQ(read(input(""), "{broken").error().code, ErrorCode::kInvalidJson);
  const auto bad = read(from, R"({"q":"a b"})");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().fields.at(0).pointer, "/q");
  EXPECT_EQ(read(from, R"({"pool_id":{}})").error().code, ErrorCode::kInvalid);
  EXPECT_EQ(read(input("", ""), "{}").error().fields.at(0).pointer, "/pool_id")
      << "a job needs a pool";
}

TEST(HookPayload, theFirstIdOfTheSenderTellsMessagesApart) {
  Headers headers = {{"webhook-id", "w"},           {"ce-id", "c"},
                     {"ce-source", "/s"},           {"x-github-delivery", "g"},
                     {"x-amz-sns-message-id", "s"}, {"idempotency-key", "i"}};
  const auto idOf = [&](const std::string& body = "") {
    return read(input(), body, headers)->events.at(0).delivery;
  };
  EXPECT_EQ(idOf(), "webhook-id:w");
  headers.erase("webhook-id");
  EXPECT_EQ(idOf(), "ce-id:c /s");
  headers.erase("ce-id");
  EXPECT_EQ(idOf(), "x-github-delivery:g");
  headers.erase("x-github-delivery");
  EXPECT_EQ(idOf(), "x-amz-sns-message-id:s");
  headers.erase("x-amz-sns-message-id");
  EXPECT_EQ(idOf(), "idempotency-key:i");
  headers["idempotency-key"] = std::string(5000, 'x');
  EXPECT_LT(idOf().size(), 100U) << "long ones are hashed";
  headers.clear();
  EXPECT_EQ(idOf(), "");
  EXPECT_EQ(idOf(kCloudEvent), "ce-id:A1 /s");
  EXPECT_EQ(idOf(kHasura), "hasura:ev-1");
  EXPECT_EQ(idOf(kSns), "x-amz-sns-message-id:m-1");
}

TEST(HookPayload, aBatchIsOneEventEach) {
  const std::string body =
      R"([{"specversion":"1.0","id":"1","source":"/s","type":"t","data":{"pool_id":"a"}},)"
      R"({"specversion":"1.0","id":"2","source":"/s","type":"t","data":{"pool_id":"b"}},)"
      R"({"specversion":"1.0","id":"3","source":"/s","type":"t"}])";
  const auto reading =
      read(input("/data", ""), body,
           {{"content-type", "application/cloudevents-batch+json; charset=UTF-8"}});
  ASSERT_TRUE(reading);
  ASSERT_EQ(reading->events.size(), 2U) << "the third has nothing to do";
  EXPECT_EQ(reading->events[0].delivery, "ce-id:1 /s");
  EXPECT_EQ(reading->events[1].pool, PoolId("b"));
  EXPECT_EQ(reading->events[1].job->data, R"({"pool_id":"b"})");
}

}  // namespace
}  // namespace muster
