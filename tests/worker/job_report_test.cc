#include "app/worker/job_report.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cerrno>

#include "app/worker/heartbeat_thread.h"
#include "app/worker/retry_pause.h"

namespace muster {
namespace {

JobEnd endOf(JobEnd::Kind kind, int code, const std::string& output = {},
             const std::string& errors = {}, std::size_t limit = 100) {
  JobEnd end{
      .kind = kind, .code = code, .output = CommandOutput(limit), .errors = CommandOutput(0)};
  end.output.add(output);
  end.errors.add(errors);
  return end;
}

JobEnd notTaken(const std::string& why) {
  JobEnd end = endOf(JobEnd::Kind::kNotTaken, 0);
  end.fault = why;
  return end;
}

JobEnd spilled(const std::string& output) {
  JobEnd end = endOf(JobEnd::Kind::kExited, 0, output);
  end.result_is_artifact = true;
  return end;
}

std::string shown(const std::optional<JobReport>& report) {
  return report ? report->verb + " " + report->body : "nothing";
}

TEST(JobReports, say_how_the_command_ended) {
  using Kind = JobEnd::Kind;
  struct Row {
    JobEnd end;
    std::string report;
  };
  const std::vector<Row> rows = {
      {endOf(Kind::kExited, 0), R"(complete {"lease_token":"t"})"},
      {endOf(Kind::kExited, 0, "[1]\n"), R"(complete {"lease_token":"t","result":[1]})"},
      {endOf(Kind::kExited, 0, "hi", "a warning"), R"(complete {"lease_token":"t","result":"hi"})"},
      {endOf(Kind::kExited, 0, std::string(101, 'x')),
       R"(fail {"lease_token":"t","error":"result too large: 101 bytes, the limit is 100",)"
       R"("retryable":false,"exit_code":0})"},
      {endOf(Kind::kExited, 0, std::string(50, '\0')),
       R"(fail {"lease_token":"t","error":"result too large: 302 bytes, the limit is 100",)"
       R"("retryable":false,"exit_code":0})"},
      {endOf(Kind::kExited, 3, "out", "oops\n"),
       R"(fail {"lease_token":"t","error":"exit 3: oops","exit_code":3,"output_tail":"out"})"},
      {endOf(Kind::kExited, 1, "one\ntwo\n\n"),
       R"(fail {"lease_token":"t","error":"exit 1","exit_code":1,"output_tail":"one\ntwo"})"},
      {endOf(Kind::kExited, 75, "", "busy"),
       R"(fail {"lease_token":"t","error":"exit 75: busy","exit_code":75,"retryable":true,)"
       R"("no_penalty":true,"retry_after_seconds":10})"},
      {endOf(Kind::kSignalled, SIGSEGV),
       R"(fail {"lease_token":"t","error":"signal 11","exit_signal":11})"},
      {endOf(Kind::kNotStarted, ENOENT),
       R"(fail {"lease_token":"t","error":"cannot start 'prog': No such file or directory",)"
       R"("exit_code":127})"},
      {endOf(Kind::kNotReady, 0, "", "cannot read the results of upstream jobs"),
       R"(fail {"lease_token":"t","error":"cannot read the results of upstream jobs",)"
       R"("retryable":true})"},
      {endOf(Kind::kMissing, 0, "", "the input r is gone"),
       R"(fail {"lease_token":"t","error":"the input r is gone",)"
       R"("error_class":"resource_missing","retryable":false})"},
      {notTaken("an output has no name"),
       R"(fail {"lease_token":"t","error":"an output has no name","exit_code":0})"},
      {spilled(std::string(101, 'x')), R"(complete {"lease_token":"t"})"},
      {endOf(Kind::kNotStarted, EACCES),
       R"(fail {"lease_token":"t","error":"cannot start 'prog': Permission denied",)"
       R"("exit_code":126})"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(shown(reportOf(row.end, "prog", "t", 100)), row.report);
  }
}

TEST(JobReports, say_why_the_command_was_stopped) {
  const std::vector<std::pair<StopReason, std::string>> rows = {
      {StopReason::kCancelled, R"(fail {"lease_token":"t","error":"cancelled","cancelled":true})"},
      {StopReason::kShutdown, R"(release {"lease_token":"t"})"},
      {StopReason::kLeaseLost, "nothing"},
      {StopReason::kGone, "nothing"},
  };
  for (const auto& [reason, report] : rows) {
    JobEnd end = endOf(JobEnd::Kind::kSignalled, SIGTERM, "some output");
    end.stopped = reason;
    EXPECT_EQ(shown(reportOf(end, "prog", "t", 100)), report);
  }
}

TEST(CommandOutputs, become_results) {
  using namespace std::string_literals;
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", "(none)"},
      {"\n\n", "(none)"},
      {" ", "\" \""},
      {"{\"a\": 1.0}\n", "{\"a\": 1.0}"},
      {"  [1, 2] \n ", "[1, 2]"},
      {"null\n", "null"},
      {"12345678901234567890123", "12345678901234567890123"},
      {"\"text\"", "\"text\""},
      {"hello\n", "\"hello\""},
      {"one\ntwo\n", R"("one\ntwo")"},
      {"{broken", "\"{broken\""},
      {"1 2", "\"1 2\""},
      {"Grüße 🙂", "\"Grüße 🙂\""},
      {"a\0b"s, R"("a\u0000b")"},
      {"a\xFF\xC3z", "\"a\xEF\xBF\xBD\xEF\xBF\xBDz\""},
  };
  for (const auto& [output, result] : rows) {
    EXPECT_EQ(resultOf(output).value_or("(none)"), result) << output;
  }
}

TEST(CommandOutputs, nested_deeper_than_the_service_allows_become_strings) {
  std::string deep;
  for (int i = 0; i < 64; ++i) deep = '[' + deep + ']';
  EXPECT_EQ(resultOf(deep).value_or(""), '"' + deep + '"');
  deep = deep.substr(1, deep.size() - 2);
  EXPECT_EQ(resultOf(deep).value_or(""), deep);
}

TEST(CommandOutputs, keep_the_beginning_and_the_last_lines_of_much) {
  CommandOutput output(10);
  for (int i = 0; i < 10'000; ++i) output.add("line " + std::to_string(i) + "\n");
  EXPECT_TRUE(output.overflowed());
  EXPECT_EQ(output.beginning(), "line 0\nlin");
  const std::string lines = output.lastLines();
  EXPECT_LE(lines.size(), CommandOutput::kTailBytes);
  EXPECT_TRUE(lines.starts_with("line ")) << lines.substr(0, 20);
  EXPECT_TRUE(lines.ends_with("line 9999")) << lines.substr(lines.size() - 20);

  CommandOutput one_line(10);
  one_line.add(std::string(100'000, 'x'));
  EXPECT_EQ(one_line.lastLines(), std::string(CommandOutput::kTailBytes, 'x'));

  CommandOutput bytes(10);
  bytes.add(std::string("a\0b\xFF", 4));
  EXPECT_EQ(bytes.lastLines(), "a b\xEF\xBF\xBD");
}

TEST(RetryPauses, grow_to_a_cap_and_honour_the_service) {
  struct Row {
    int failures;
    std::optional<Seconds> retry_after;
    double dice;
    Millis pause;
  };
  const std::vector<Row> rows = {
      {1, {}, 0.5, Millis(100)},           {2, {}, 0.5, Millis(200)},
      {3, {}, 0.5, Millis(400)},           {10, {}, 0.5, Millis(5000)},
      {1000, {}, 0.5, Millis(5000)},       {1, {}, 0, Millis(75)},
      {10, {}, 0, Millis(3750)},           {1, Seconds(7), 0.5, Millis(7000)},
      {10, Seconds(1), 0.5, Millis(5000)},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(retryPause(row.failures, row.retry_after, row.dice), row.pause) << row.failures;
  }
}

TEST(Heartbeats, come_at_least_three_times_in_a_lease) {
  EXPECT_EQ(heartbeatInterval(Seconds(30), Seconds(60)), Seconds(20));
  EXPECT_EQ(heartbeatInterval(Seconds(5), Seconds(60)), Seconds(5));
  EXPECT_EQ(heartbeatInterval(Seconds(30), Seconds(1)), Millis(333));
}

}  // namespace
}  // namespace muster
