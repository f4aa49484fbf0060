// Flows are listed, looked at and removed.
#include <algorithm>

#include "tests/store/flow_fixture.h"

namespace muster::test {
namespace {

class FlowListingTest : public FlowTest {
 protected:
  // Pages of two at a time, all of them.
  Names list(ListFlows op = {}) {
    Names names;
    op.limit = 2;
    do {
      const auto page = read([&](Store& s) { return run(op, s); }).value();
      EXPECT_LE(page.flows.size(), 2U);
      for (const Flow& flow : page.flows) names.push_back(flow.name);
      op.cursor = page.next_cursor;
    } while (!op.cursor.empty());
    return names;
  }
  Names listJobs(ListFlowJobs op) {
    Names names;
    op.flow = flow_;
    op.limit = 2;
    do {
      const auto page = read([&](Store& s) { return run(op, s); }).value();
      for (const Job& job : page.jobs) names.push_back(nameOf(job.id));
      op.cursor = page.next_cursor;
    } while (!op.cursor.empty());
    return names;
  }
  Names listEdges() {
    Names edges;
    ListFlowEdges op{flow_, "", 2};
    do {
      const auto page = read([&](Store& s) { return run(op, s); }).value();
      for (const FlowEdge& edge : page.edges) {
        edges.push_back(edge.from + " " + std::string(muster::name(edge.when)) + " " + edge.to);
      }
      op.cursor = page.next_cursor;
    } while (!op.cursor.empty());
    return edges;
  }
  Names upstreamOf(const std::string& job, int limit = 2) {
    Names items;
    ListUpstream op{id(job), "", limit};
    do {
      const auto page = read([&](Store& s) { return run(op, s); }).value();
      for (const UpstreamItem& item : page.items) {
        items.push_back((item.parent.empty() ? "" : item.parent + "/") + item.name + " " +
                        (item.verdict ? std::string(muster::name(*item.verdict)) : "open") + " " +
                        item.result.value_or("-") + " " + item.error);
        EXPECT_EQ(nameOf(item.job), (item.parent.empty() ? "" : item.parent + "/") + item.name);
      }
      op.cursor = page.next_cursor;
    } while (!op.cursor.empty());
    return items;
  }
  void startNamed(const std::string& name, const std::string& jobs,
                  const std::string& tenant = "") {
    CreateFlow flow;
    flow.name = name;
    flow.tenant = tenant;
    start(jobs, flow);
  }
  std::int64_t rows(Sql sql) {
    return read([&](Store& s) {
      auto found = s.session.db.query(sql);
      found.next();
      return found->integer(0);
    });
  }
  std::int64_t removeOld(Millis age, int limit = 100) {
    const Time before = clock.now() - age;
    return write([&](Store& s) { return run(RemoveOldFlows{before, limit}, s); }).value();
  }
  void expectNothingLeft() {
    EXPECT_EQ(rows({"SELECT count(*) FROM flows"}), 0);
    EXPECT_EQ(rows({"SELECT count(*) FROM flow_jobs"}), 0);
    EXPECT_EQ(rows({"SELECT count(*) FROM flow_edges"}), 0);
    EXPECT_EQ(rows({"SELECT count(*) FROM jobs"}), 0);
    EXPECT_EQ(rows({"SELECT count(*) FROM job_payloads"}), 0);
    EXPECT_EQ(rows({"SELECT count(*) FROM job_results"}), 0);
    EXPECT_EQ(rows({"SELECT count(*) FROM attempts"}), 0);
  }
};
MUSTER_ON_EVERY_BACKEND(FlowListingTest);

TEST_P(FlowListingTest, flows_are_listed_newest_first_by_what_they_are) {
  startNamed("one", "a", "t");
  startNamed("two", "b; c after b");
  startNamed("one", "d");
  done("d");
  startNamed("four", "e", "t");
  settle();
  EXPECT_EQ(list(), (Names{"four", "one", "two", "one"}));
  ListFlows op;
  op.name = "one";
  EXPECT_EQ(list(op), (Names{"one", "one"}));
  op.status = FlowStatus::kRunning;
  EXPECT_EQ(list(op), (Names{"one"}));
  op = {};
  op.status = FlowStatus::kSucceeded;
  EXPECT_EQ(list(op), (Names{"one"}));
  op = {};
  op.tenant = "t";
  EXPECT_EQ(list(op), (Names{"four", "one"}));
  op.name = "two";
  EXPECT_EQ(list(op), Names{});
}

TEST_P(FlowListingTest, a_limited_reader_sees_only_flows_in_its_pools) {
  startNamed("p", "a");
  startNamed("q", "b @q");
  startNamed("both", "c; d @q");
  startNamed("p again", "e; f after e");
  ListFlows op;
  op.readable = Grants{{Scope::kRead, "p"}};
  EXPECT_EQ(list(op), (Names{"p again", "p"}));
  op.readable = Grants{{Scope::kRead, "q"}, {Scope::kRead, "p"}};
  EXPECT_EQ(list(op), (Names{"p again", "both", "q", "p"}));
  op.readable = Grants{{Scope::kRead, "other"}};
  EXPECT_EQ(list(op), Names{});
  op.readable = Grants{{Scope::kRead, ""}};
  EXPECT_EQ(list(op).size(), 4U);
}

TEST_P(FlowListingTest, the_pools_of_a_flow_are_those_of_all_its_jobs) {
  start("a @q; b; c @q");
  addChildren("b", "x @r").value();
  auto pools = read([&](Store& s) { return poolsOfFlow(flow_, s); }).value();
  std::sort(pools.begin(), pools.end());
  EXPECT_EQ(pools, (Names{"p", "q", "r"}));
  EXPECT_FALSE(read([](Store& s) { return poolsOfFlow(FlowId("none"), s); }));
}

TEST_P(FlowListingTest, a_flow_keeps_what_it_was_given) {
  CreateFlow flow;
  flow.name = "nightly";
  flow.tenant = "t";
  flow.priority = 4;
  flow.fail_fast = true;
  flow.metadata = R"({"a": [1, 2]})";
  flow.deadline_at = clock.now() + 1h;
  start("a", flow);
  const Flow seen = this->flow();
  EXPECT_EQ(seen.name, "nightly");
  EXPECT_EQ(seen.tenant, "t");
  EXPECT_EQ(seen.priority, 4);
  EXPECT_TRUE(seen.fail_fast);
  EXPECT_EQ(seen.metadata, R"({"a": [1, 2]})");
  EXPECT_EQ(seen.deadline_at, clock.now() + 1h);
  EXPECT_EQ(seen.created_at, clock.now());
  const std::int64_t version = seen.version;
  done("a");
  settle();
  EXPECT_GT(this->flow().version, version);
}

TEST_P(FlowListingTest, jobs_are_listed_in_the_order_of_creation) {
  start("a; b after a; c; d after c; e");
  addChildren("a", "x; y after x").value();
  done("c");
  EXPECT_EQ(listJobs({}), (Names{"a", "b", "c", "d", "e", "a/x", "a/y"}));
  ListFlowJobs op;
  op.status = JobStatus::kBlocked;
  EXPECT_EQ(listJobs(op), (Names{"b", "a/y"}));
  op.status = JobStatus::kPending;
  EXPECT_EQ(listJobs(op), (Names{"d", "e", "a/x"}));
  op = {};
  op.parent = id("a").str();
  EXPECT_EQ(listJobs(op), (Names{"a/x", "a/y"}));
  op.status = JobStatus::kBlocked;
  EXPECT_EQ(listJobs(op), (Names{"a/y"}));
  op = {};
  op.parent = id("b").str();
  EXPECT_EQ(listJobs(op), Names{});
  op.flow = FlowId("none");
  EXPECT_EQ(codeOf(read([&](Store& s) { return run(op, s); })), ErrorCode::kNotFound);
}

TEST_P(FlowListingTest, edges_are_listed_by_their_downstream_jobs) {
  start("z after a b; a; b any a; c failure b after a");
  EXPECT_EQ(listEdges(),
            (Names{"a after z", "b after z", "a after_any b", "a after c", "b after_failure c"}));
  addChildren("a", "x; y after x").value();
  EXPECT_EQ(listEdges().size(), 6U);
}

TEST_P(FlowListingTest, upstream_jobs_are_listed_with_their_children) {
  start("a; b; c any a failure b; d after c");
  addChildren("a", "x; y after x").value();
  addChildren("a/x", "deeper").value();
  done("a/x/deeper"), done("a/x", "1"), done("a", "2"), poison("b", "no luck");
  settle();
  const Names expected{"a open 2 ", "a/x succeeded 1 ", "a/y open - ", "b failed - no luck"};
  EXPECT_EQ(upstreamOf("c"), expected);
  EXPECT_EQ(upstreamOf("c", 1), expected) << "also page by page";
  EXPECT_EQ(upstreamOf("c", 100), expected);
  EXPECT_EQ(upstreamOf("d"), (Names{"c open - "}));
  EXPECT_EQ(upstreamOf("a"), Names{});
  EXPECT_EQ(codeOf(read([](Store& s) { return run(ListUpstream{JobId("none")}, s); })),
            ErrorCode::kNotFound);
  const JobId plain = push().id;
  EXPECT_TRUE(read([&](Store& s) { return run(ListUpstream{plain}, s); })->items.empty());
}

TEST_P(FlowListingTest, a_flow_shows_the_first_jobs_that_failed) {
  std::string jobs;
  for (int i = 0; i < 12; ++i) jobs += "j" + std::to_string(i) + "; ";
  start(jobs);
  EXPECT_TRUE(shown().failed_jobs.empty());
  for (int i = 0; i < 12; ++i) poison("j" + std::to_string(i), "e" + std::to_string(i));
  settle();
  const auto failed = shown().failed_jobs;
  ASSERT_EQ(failed.size(), 10U);
  EXPECT_EQ(failed[0].name, "j0");
  EXPECT_EQ(failed[0].id, id("j0"));
  EXPECT_EQ(failed[0].error, "e0");
  EXPECT_EQ(failed[0].reason, "not_retryable");
}

TEST_P(FlowListingTest, a_flow_is_removed_with_all_it_has) {
  start("a; b after a; c failure a; d");
  addChildren("d", "x; y").value();
  EXPECT_EQ(codeOf(removeFlow()), ErrorCode::kFlowRunning);
  done("a", "1"), done("b"), done("d"), done("d/x"), poison("d/y");
  settle();
  const auto before = lastEvent();
  EXPECT_TRUE(removeFlow());
  EXPECT_EQ(codeOf(read([&](Store& s) { return run(FindFlow{flow_}, s); })), ErrorCode::kNotFound);
  EXPECT_EQ(list(), Names{});
  settle(2);
  expectNothingLeft();
  EXPECT_EQ(count("flow.deleted", before), 1);
  EXPECT_EQ(codeOf(removeFlow()), ErrorCode::kNotFound);
  EXPECT_EQ(stats().done + stats().poisoned + stats().cancelled, 0);
}

TEST_P(FlowListingTest, a_flow_with_jobs_of_a_removed_pool_is_removed) {
  start("a @q; b after a; c");
  removePool("q");
  done("c");
  settle();
  EXPECT_TRUE(removeFlow());
  settle();
  expectNothingLeft();
}

TEST_P(FlowListingTest, jobs_of_a_flow_go_with_the_flow) {
  start("a; b after a");
  const auto removed = write([&](Store& s) { return s.jobs().remove(id("b")); });
  EXPECT_EQ(codeOf(removed), ErrorCode::kJobInFlow);
  done("a");
  EXPECT_EQ(codeOf(write([&](Store& s) { return s.jobs().remove(id("a")); })),
            ErrorCode::kJobInFlow);
  EXPECT_EQ(purge({JobStatus::kDone}), 0) << "nor by a purge";
  clock.advance(24h);
  const auto sweep = [&] {
    return write([&](Store& s) { return s.jobs().removeFinished(s.now(), 100); });
  };
  EXPECT_EQ(sweep(), 0) << "nor by the retention of jobs";
  EXPECT_EQ(removeOld(0ms), 0) << "the flow runs";
  done("b");
  settle();
  EXPECT_EQ(sweep(), 0);
}

TEST_P(FlowListingTest, flows_are_kept_for_a_time_after_their_end) {
  startNamed("old", "a; b after a");
  done("a"), poison("b");
  settle();
  clock.advance(1h);
  startNamed("newer", "c");
  done("c");
  settle();
  startNamed("running", "d");
  clock.advance(1h);
  EXPECT_EQ(removeOld(2h + 1ms), 0);
  EXPECT_EQ(removeOld(90min), 1);
  settle(1);
  EXPECT_EQ(list(), (Names{"running", "newer"}));
  EXPECT_EQ(rows({"SELECT count(*) FROM jobs"}), 2);
  EXPECT_EQ(removeOld(0ms), 1);
  settle();
  EXPECT_EQ(list(), Names{"running"});
}

TEST_P(FlowListingTest, only_so_many_old_flows_are_removed_at_once) {
  for (int i = 0; i < 5; ++i) {
    start("a; b after a");
    done("a"), done("b");
  }
  settle();
  clock.advance(1h);
  EXPECT_EQ(removeOld(1min, 2), 2);
  EXPECT_EQ(removeOld(1min, 2), 2);
  EXPECT_EQ(removeOld(1min, 2), 1);
  EXPECT_EQ(removeOld(1min, 2), 0);
  settle();
  expectNothingLeft();
}

TEST_P(FlowListingTest, flows_are_counted_by_status) {
  start("a");
  start("b");
  done("b");
  start("c");
  take("c");
  cancelFlow().value();
  settle();
  const auto counted = read([](Store& s) { return run(CountFlows{}, s); }).value();
  std::map<std::string, std::int64_t> by_status(counted.by_status.begin(), counted.by_status.end());
  EXPECT_EQ(by_status["running"], 1);
  EXPECT_EQ(by_status["succeeded"], 1);
  EXPECT_EQ(by_status["cancelling"], 1);
  EXPECT_EQ(counted.unsettled, 0);
}

TEST_P(FlowListingTest, the_life_of_a_flow_is_told_in_its_order) {
  CreateFlow open;
  open.open = true;
  start("a; b after a", open);
  poison("a");
  settle();
  close().value();
  settle();
  retryFlow().value();
  settle();
  done("a"), done("b");
  settle();
  EXPECT_TRUE(removeFlow());
  settle();
  Names types;
  for (const Event& event : flowEvents()) {
    types.push_back(event.type);
    EXPECT_NE(event.details.find(R"("flow_id":")" + flow_.str() + '"'), std::string::npos);
    EXPECT_NE(event.details.find(R"("round":)"), std::string::npos);
  }
  EXPECT_EQ(types, (Names{"flow.created", "flow.closed", "flow.failed", "flow.retried",
                          "flow.succeeded", "flow.deleted"}));
}

}  // namespace
}  // namespace muster::test
