#include "app/cli/flow_view.h"

#include <gtest/gtest.h>

#include <sstream>

namespace muster {
namespace {

const std::optional<Time> kFlowNow = parseTime("2026-03-01T12:00:10Z");

std::string treeOf(const std::string& jobs, const std::string& edges, bool color = false) {
  const auto answer = JsonAnswer::parse(R"({"jobs":[)" + jobs + R"(],"edges":[)" + edges + "]}");
  return flowTree(itemsOf(answer->root(), "jobs"), itemsOf(answer->root(), "edges"), kFlowNow)
      .render(0, color);
}

std::string job(const std::string& name, const std::string& status = "pending",
                const std::string& more = {}) {
  return R"({"id":"id-)" + name + R"(","name":")" + name + R"(","pool_id":"p","status":")" +
         status + "\"" + (more.empty() ? "" : "," + more) + "}";
}

std::string edge(const std::string& from, const std::string& to,
                 const std::string& when = "after") {
  return R"({"from":")" + from + R"(","to":")" + to + R"(","when":")" + when + "\"}";
}

// The names in the order in which the tree has them, with what stands before them.
std::string orderOf(const std::string& jobs, const std::string& edges) {
  std::istringstream lines(treeOf(jobs, edges));
  std::string line, order;
  std::getline(lines, line);  // the titles
  while (std::getline(lines, line)) {
    line.erase(line.find(" p  "));
    line.erase(line.find_last_not_of(' ') + 1);
    order += line + "\n";
  }
  return order;
}

TEST(FlowTree, draws_a_diamond_with_its_edges_and_marks) {
  EXPECT_EQ(
      treeOf(job("fetch", "done",
                 R"("claimed_at":"2026-03-01T12:00:01Z","finished_at":"2026-03-01T12:00:03Z")") +
                 "," +
                 job("left", "claimed",
                     R"("claimed_by":"w","lease_expires_at":"2026-03-01T12:01:00Z")") +
                 "," + job("right", "poisoned", R"("error":"exit 3")") + "," +
                 job("merge", "cancelled", R"("reason":"upstream_failed")") + "," +
                 job("alarm", "pending") + "," +
                 job("after", "blocked", R"("blocked_by":2,"may_fail":true)"),
             edge("fetch", "left") + "," + edge("fetch", "right") + "," + edge("left", "merge") +
                 "," + edge("right", "merge") + "," + edge("merge", "alarm", "after_failure") +
                 "," + edge("left", "after") + "," + edge("merge", "after", "after_any")),
      "JOB      POOL  STATUS     AFTER                   NOTE\n"
      "✓ fetch  p     done                               took 2s\n"
      "▶ left   p     claimed    fetch                   by w, lease ends in 50s\n"
      "✗ right  p     poisoned   fetch                   exit 3\n"
      "– merge  p     cancelled  left, right             upstream_failed\n"
      "○ alarm  p     pending    failure of merge\n"
      "· after  p     blocked    left; any end of merge  waits for 2 jobs, may fail\n");
}

TEST(FlowTree, a_job_stands_below_those_it_waits_for_however_it_was_listed) {
  EXPECT_EQ(orderOf(job("c") + "," + job("b") + "," + job("a") + "," + job("free"),
                    edge("b", "c") + "," + edge("a", "b")),
            "○ a\n○ b\n○ c\n○ free\n");
}

TEST(FlowTree, children_are_indented_below_their_parent) {
  const auto child = [](const std::string& name, const std::string& parent) {
    return job(name, "pending", R"("parent_id":"id-)" + parent + "\"");
  };
  EXPECT_EQ(orderOf(job("split") + "," + job("sum") + "," + child("one", "split") + "," +
                        child("two", "split") + "," + child("deep", "one"),
                    edge("split", "sum") + "," + edge("two", "one")),
            "○ split\n"
            "  ├ ○ two\n"
            "  └ ○ one\n"
            "    └ ○ deep\n"
            "○ sum\n");
  EXPECT_EQ(orderOf(job("split") + "," + child("one", "split") + "," + child("two", "split") + "," +
                        child("deep", "one"),
                    ""),
            "○ split\n"
            "  ├ ○ one\n"
            "  │ └ ○ deep\n"
            "  └ ○ two\n");
}

TEST(FlowTree, the_same_names_in_two_levels_are_told_apart) {
  const auto child = [](const std::string& id, const std::string& name) {
    return R"({"id":")" + id + R"(","name":")" + name +
           R"(","parent_id":"id-x","pool_id":"p","status":"pending"})";
  };
  const std::string tree =
      treeOf(job("x") + "," + job("b") + "," + child("1", "b") + "," + child("2", "a"),
             edge("x", "b") + "," + edge("a", "b"));
  EXPECT_EQ(tree,
            "JOB      POOL  STATUS   AFTER  NOTE\n"
            "○ x      p     pending\n"
            "  ├ ○ a  p     pending\n"
            "  └ ○ b  p     pending  a\n"
            "○ b      p     pending  x\n");
}

TEST(FlowTree, many_upstream_jobs_are_counted_and_those_out_of_sight_named) {
  std::string edges;
  for (int i = 0; i < 100; ++i) {
    edges += (i == 0 ? "" : ",") + edge("part-" + std::to_string(i), "join");
  }
  EXPECT_EQ(treeOf(job("join", "blocked"), edges),
            "JOB     POOL  STATUS   AFTER                                       NOTE\n"
            "· join  p     blocked  part-0, part-1, part-2, part-3 and 96 more\n");
  EXPECT_EQ(orderOf(job("one"), edge("one", "out-of-sight")), "○ one\n");
}

TEST(FlowTree, draws_every_job_whatever_the_edges_say) {
  EXPECT_EQ(orderOf(job("a") + "," + job("b"), edge("b", "a") + "," + edge("a", "b")),
            "○ a\n○ b\n");
  EXPECT_EQ(orderOf(job("a", "pending", R"("parent_id":"id-gone")"), ""), "○ a\n");
}

TEST(FlowTree, colours_only_where_they_may_be) {
  const std::string jobs = job("a", "poisoned", R"("error":"\u001b[2J")");
  EXPECT_NE(treeOf(jobs, "", true).find("\x1b[31m✗ a"), std::string::npos);
  EXPECT_EQ(treeOf(jobs, "", false).find('\x1b'), std::string::npos);
}

std::string headingOf(const std::string& flow, bool color = false) {
  return flowHeading(JsonAnswer::parse(flow)->root(), kFlowNow, color);
}

TEST(FlowHeading, says_how_a_flow_stands) {
  EXPECT_EQ(headingOf(R"({"flow_id":"f1","name":"report","status":"running","closed":true,
                "round":1,"created_at":"2026-03-01T12:00:00Z","counts":{"total":5,"blocked":3,
                "live":1,"done":1,"poisoned":0,"cancelled":0}})"),
            "report  f1  running\n5 jobs: 1 done, 0 failed, 4 left; for 10s\n");
  EXPECT_EQ(headingOf(R"({"flow_id":"f1","status":"running","closed":false,"round":2,
                "deadline_at":"2026-03-01T12:01:10Z","created_at":"2026-03-01T12:00:00Z",
                "counts":{"total":1,"blocked":0,"live":1,"done":0,"poisoned":0,"cancelled":0}})"),
            "flow  f1  running, round 2, open for more jobs, deadline in 1m\n"
            "1 job: 0 done, 0 failed, 1 left; for 10s\n");
  EXPECT_EQ(headingOf(R"({"flow_id":"f1","name":"report","status":"failed","reason":"job_failed",
                "closed":true,"round":1,"created_at":"2026-03-01T11:59:00Z",
                "ended_at":"2026-03-01T12:00:05Z","deadline_at":"2026-03-01T13:00:00Z",
                "counts":{"total":5,"blocked":0,"live":0,"done":2,"poisoned":1,"cancelled":2}})"),
            "report  f1  failed: job_failed\n"
            "5 jobs: 2 done, 1 failed, 2 cancelled, 0 left; took 1m 5s, 5s ago\n");
}

TEST(FlowHeading, colours_the_status_alone) {
  EXPECT_TRUE(headingOf(R"({"flow_id":"f1","status":"succeeded","round":1})", true)
                  .starts_with("flow  f1  \x1b[32msucceeded\x1b[0m\n"));
}

TEST(FlowProgress, counts_what_has_ended) {
  const auto flow = JsonAnswer::parse(
      R"({"counts":{"total":10,"blocked":3,"live":2,"done":3,"poisoned":1,"cancelled":1}})");
  EXPECT_EQ(endedJobsOf(flow->root()), 5U);
  EXPECT_EQ(jobsOf(flow->root()), 10U);
  EXPECT_EQ(flowProgress(flow->root()), "3 done, 1 failed, 1 cancelled, 5 left");
}

TEST(FlowFailures, are_named_with_their_errors) {
  const auto flow = JsonAnswer::parse(R"({"failed_jobs":[
      {"name":"left","job_id":"j1","reason":"max_retries","error":"exit 3: no disk"},
      {"name":"right","job_id":"j2","reason":"expired"}]})");
  EXPECT_EQ(failedJobsText(flow->root()), "  left  j1  exit 3: no disk\n  right  j2  expired\n");
}

}  // namespace
}  // namespace muster
