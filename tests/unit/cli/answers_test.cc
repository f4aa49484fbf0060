#include <gtest/gtest.h>

#include "app/cli/event_stream.h"
#include "app/cli/new_job_json.h"
#include "app/cli/pool_assignments.h"
#include "app/cli/problem_text.h"
#include "app/client/json_fields.h"

namespace muster {
namespace {

TEST(ProblemText, saysTitleDetailAndEveryField) {
  HttpAnswer answer;
  answer.status = 422;
  answer.body = R"({"title":"Invalid request","detail":"2 fields are wrong","status":422,
    "errors":[{"pointer":"/priority","code":"type","detail":"must be a whole number"},
              {"pointer":"/tenant","code":"length","detail":"is too long"}],"request_id":"r1"})";
  EXPECT_EQ(problemText(answer),
            "Invalid request: 2 fields are wrong\n"
            "  /priority: must be a whole number\n"
            "  /tenant: is too long\n");
}

TEST(ProblemText, namesTheRequestOfAServerFault) {
  HttpAnswer answer;
  answer.status = 503;
  answer.body = R"({"title":"Draining","request_id":"r1"})";
  answer.headers["retry-after"] = "2";
  EXPECT_EQ(problemText(answer), "Draining\n  try again in 2 s\n  request r1\n");
}

TEST(ProblemText, tellsWhereTheTokenGoes) {
  HttpAnswer answer;
  answer.status = 401;
  answer.body = R"({"title":"Unauthorized"})";
  EXPECT_EQ(problemText(answer), "Unauthorized\n  give a token with --token or MUSTER_TOKEN\n");
}

TEST(ProblemText, says_why_the_leader_does_not_get_the_token) {
  HttpAnswer answer;
  answer.status = 503;
  answer.body = R"({"title":"Not leader","leader_url":"http://b:1"})";
  EXPECT_EQ(problemText(answer),
            "Not leader\n  your token goes to the service that you name, and nowhere else: --url "
            "http://b:1, or allow it with MUSTER_NODES\n");
}

TEST(ProblemText, copesWithAnswersThatAreNoProblems) {
  for (const std::string body : {"", "<html>", "[1]", "{}", "{\"title\":\"\"}"}) {
    HttpAnswer answer;
    answer.status = 502;
    answer.body = body;
    EXPECT_EQ(problemText(answer),
              "the service answered 502 without saying why; is this a Muster service?\n");
  }
}

TEST(UnreachableText, saysHowToStartTheService) {
  EXPECT_EQ(unreachableText("http://127.0.0.1:1", {"nothing answers there", true}),
            "cannot reach the service at http://127.0.0.1:1: nothing answers there\n"
            "  start one with `muster serve`, or name another with --url or MUSTER_URL\n");
}

struct AssignmentCase {
  std::vector<std::string> assignments;
  std::string json;
};

TEST(PoolAssignments, becomeSettingsOfTheRightGroupAndType) {
  const std::vector<AssignmentCase> cases = {
      {{"max_workers=4"}, R"({"scaling":{"max_workers":4}})"},
      {{"scaling.max_workers=4", "warm_idle=1"}, R"({"scaling":{"max_workers":4,"warm_idle":1}})"},
      {{"paused=true"}, R"({"paused":true})"},
      {{"template=42"}, R"({"template":"42"})"},
      {{"worker_mode=loop", "jitter=0.5"}, R"({"retry":{"jitter":0.5},"worker_mode":"loop"})"},
      {{"lease_seconds=soon"}, R"({"lease_seconds":"soon"})"},
      {{"template=a=b"}, R"({"template":"a=b"})"},
      {{"slots={}"}, R"({"slots":"{}"})"},
  };
  for (const auto& [assignments, json] : cases) {
    const auto made = readPoolAssignments(assignments);
    ASSERT_TRUE(made) << assignments[0];
    EXPECT_EQ(made->json, json);
    EXPECT_TRUE(made->unset.empty());
  }
}

TEST(PoolAssignments, withoutAValueUnset) {
  const auto made = readPoolAssignments({"max_workers=", "template=", "slots=2"});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->json, R"({"slots":2})");
  EXPECT_EQ(made->unset, (std::vector<std::string>{"scaling.max_workers", "template"}));
}

TEST(PoolAssignments, reportsEveryBadArgument) {
  const auto made =
      readPoolAssignments({"max_wrokers=4", "paused", "slots=", "slots=1", "lost=", "=3"});
  ASSERT_FALSE(made);
  std::vector<std::string> faults;
  for (const auto& fault : made.error().fields)
    faults.push_back(fault.pointer + ": " + fault.detail);
  EXPECT_EQ(faults, (std::vector<std::string>{
                        "max_wrokers: unknown setting of a pool, did you mean "
                        "\"max_workers\"?",
                        "paused: expected key=value", "slots: is given twice",
                        "lost: unknown setting of a pool", ": unknown setting of a pool"}));
}

TEST(NewJobJson, keepsTheDataAsItWasWritten) {
  PushCommand command;
  command.priority = -5;
  command.delay_seconds = 1.5;
  command.tenant = "a\"b";
  const auto body = newJobJson(command, "  {\"n\":12345678901234567890.10,\"u\":\"\\u0000\"}\n");
  ASSERT_TRUE(body);
  EXPECT_EQ(*body, R"({"data":{"n":12345678901234567890.10,"u":"\u0000"},"priority":-5,)"
                   R"("delay_seconds":1.5,"tenant":"a\"b"})");
  EXPECT_EQ(*newJobJson({}, "null"), R"({"data":null})");
  PushCommand patient;
  patient.retry_base_ms = 50;
  patient.retry_jitter = 0.5;
  EXPECT_EQ(*newJobJson(patient, "1"), R"({"data":1,"retry":{"base_ms":50,"jitter":0.5}})");
}

TEST(NewJobJson, refusesWhatIsNotJson) {
  for (const char* data : {"", "hello", "{", "1 2"}) EXPECT_FALSE(newJobJson({}, data)) << data;
}

TEST(JsonFields, showsValuesAsTheyWereWritten) {
  const auto answer = JsonAnswer::parse(
      R"({"s":"a\nb","n":1.50,"o":{"k":null},"z":null,"at":"2026-01-01T00:00:00Z"})");
  ASSERT_TRUE(answer);
  const JsonValue root = answer->root();
  EXPECT_EQ(textOf(root, "s"), "a\nb");
  EXPECT_EQ(textOf(root, "n"), "1.50");
  EXPECT_EQ(textOf(root, "o"), "{\"k\":null}");
  EXPECT_EQ(textOf(root, "z"), "");
  EXPECT_EQ(textOf(root, "none"), "");
  EXPECT_TRUE(timeOf(root, "at"));
  EXPECT_FALSE(timeOf(root, "s"));
  EXPECT_TRUE(itemsOf(root, "o").empty());
  EXPECT_FALSE(JsonAnswer::parse("<html>"));
}

std::vector<std::string> eventsOf(std::string_view stream, std::size_t piece) {
  EventStreamParser parser;
  std::vector<std::string> events;
  while (!stream.empty()) {
    const auto bytes = stream.substr(0, piece);
    stream.remove_prefix(bytes.size());
    parser.feed(bytes, [&events](const StreamedEvent& event) {
      events.push_back(event.id + "|" + event.type + "|" + event.data);
      return true;
    });
  }
  return events;
}

TEST(EventStreamParser, cutsTheStreamWhateverThePieces) {
  const std::string stream =
      ": ping\n\nid: 1\nevent: job.created\ndata: {\"a\":1}\n\n"
      "id:2\r\nevent:x\r\ndata: one\r\ndata: two\r\n\r\nevent: no data\n\nretry: 5\ndata\n\nid: "
      "9\n";
  for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
    EXPECT_EQ(eventsOf(stream, piece),
              (std::vector<std::string>{"1|job.created|{\"a\":1}", "2|x|one\ntwo", "||"}))
        << piece;
  }
}

TEST(EventStreamParser, stopsWhenTheReaderDoes) {
  EventStreamParser parser;
  int seen = 0;
  EXPECT_FALSE(parser.feed("data: 1\n\ndata: 2\n\n", [&seen](const StreamedEvent&) {
    ++seen;
    return false;
  }));
  EXPECT_EQ(seen, 1);
}

TEST(ApiPath, escapesWhatCannotStandInAPath) {
  EXPECT_EQ(apiPath({"v1", "pools", "a b/ä", "jobs"}), "/v1/pools/a%20b%2F%C3%A4/jobs");
  EXPECT_EQ(apiPath({"v1", "jobs", "A.b_c~d:e-9"}), "/v1/jobs/A.b_c~d:e-9");
  EXPECT_EQ(apiQuery({{"a", ""}, {"b", "x&y"}, {"c", "1"}}), "?b=x%26y&c=1");
  EXPECT_EQ(apiQuery({{"a", ""}}), "");
}

}  // namespace
}  // namespace muster
