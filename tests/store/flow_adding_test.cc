// Jobs come into flows: at the beginning, while a flow is open, and as children of jobs that run.
#include "tests/store/flow_fixture.h"

namespace muster::test {
namespace {

class FlowAddingTest : public FlowTest {
 protected:
  static CreateFlow open() {
    CreateFlow flow;
    flow.open = true;
    return flow;
  }
  static std::string answered(const FlowJobsAdded& added) {
    std::string text;
    for (const FlowJobAdded& job : added.jobs) {
      text += (text.empty() ? "" : " ") + job.name + "=" + std::string(muster::name(job.status));
    }
    return text;
  }
  // The codes and pointers of the faults: "cycle /jobs/0/after/0".
  template <class T>
  static Names faults(const Result<T>& result) {
    if (result) return {"none"};
    EXPECT_EQ(result.error().code, ErrorCode::kInvalid) << result.error().detail;
    Names all;
    for (const FieldError& fault : result.error().fields) {
      all.push_back(fault.code + " " + fault.pointer);
      EXPECT_FALSE(fault.detail.empty()) << fault.code;
    }
    return all;
  }
  Names faultsOf(const std::string& line) {
    CreateFlow flow;
    flow.jobs = flowJobs(line);
    return faults(tryStart(flow));
  }
  std::int64_t flowsInAll() {
    return static_cast<std::int64_t>(
        read([](Store& s) { return run(ListFlows{}, s); })->flows.size());
  }
};
MUSTER_ON_EVERY_BACKEND(FlowAddingTest);

TEST_P(FlowAddingTest, jobs_are_created_in_the_order_of_the_list_and_answered_in_it) {
  const auto before = lastEvent();
  const auto made = start("c after a; b; a; d after b c");
  EXPECT_EQ(answered(made), "c=blocked b=pending a=pending d=blocked");
  EXPECT_TRUE(made.added);
  Names created;
  for (const Event& event : eventsAfter(before)) {
    created.push_back(event.type + " " + (event.job.empty() ? "" : nameOf(JobId(event.job))) + " " +
                      (event.type == "job.created" ? event.details : ""));
  }
  std::sort(created.begin(), created.end());
  EXPECT_EQ(created, (Names{"flow.created  ", "job.created a ", "job.created b ",
                            R"(job.created c {"blocked":true})",
                            R"(job.created d {"blocked":true})", "pool.created  "}));
  done("a");
  done("b");
  EXPECT_EQ(claimable(), (Names{"c"}));
  done("c");
  EXPECT_EQ(claimable(), (Names{"d"}));
}

TEST_P(FlowAddingTest, an_unblocked_job_keeps_its_place) {
  start("late after a; a");
  for (int i = 0; i < 3; ++i) push();
  done("a");
  const auto order = claimable();
  ASSERT_EQ(order.size(), 4U);
  EXPECT_EQ(order[0], "late") << "it was created before the others";
}

TEST_P(FlowAddingTest, a_job_says_where_it_belongs) {
  CreateFlow flow;
  flow.name = "nightly";
  flow.jobs = flowJobs("a; b? after a any a2; a2");
  start(flow);
  const Job seen = find("b");
  ASSERT_TRUE(seen.flow);
  EXPECT_EQ(seen.flow->id, flow_);
  EXPECT_EQ(seen.flow->name, "b");
  EXPECT_EQ(seen.flow->blocked_by, 2);
  EXPECT_TRUE(seen.flow->may_fail);
  EXPECT_EQ(seen.flow->parent, "");
  addChildren("a", "x").value();
  EXPECT_EQ(find("a/x").flow->parent, id("a").str());
  EXPECT_FALSE(push().flow) << "a job outside of flows";
  for (const Job& each : allJobs()) {
    EXPECT_EQ(each.flow != nullptr, nameOf(each.id) != each.id.str()) << "in lists too";
  }
}

TEST_P(FlowAddingTest, blocked_jobs_count_nowhere_but_as_blocked) {
  setPool(with<PoolSettings>([](auto& s) { s.per_tenant_concurrency = 1; }));
  CreateFlow flow;
  flow.tenant = "t";
  flow.jobs = flowJobs("a; b after a; c after b; d any a");
  start(flow);
  const auto counted = stats();
  EXPECT_EQ(counted.blocked, 3);
  EXPECT_EQ(counted.pending, 1);
  EXPECT_EQ(counted.runnable, 1);
  EXPECT_EQ(counted.delayed, 0);
  EXPECT_EQ(counted.unplaceable, 0);
  EXPECT_EQ(claimable(), Names{"a"});
  const auto refused = write(
      [&](Store& s) { return s.jobs().claimOne(*s.pools().find(PoolId("p")), "w", {}, id("b")); });
  ASSERT_EQ(codeOf(refused), ErrorCode::kNotClaimable);
  EXPECT_EQ(refused.error().detail, "the job waits for job a");
  const Status removed = write([](Store& s) { return s.pools().remove(PoolId("p")); });
  EXPECT_EQ(codeOf(removed), ErrorCode::kPoolNotEmpty);
  JobFilter blocked;
  blocked.statuses = {JobStatus::kBlocked};
  EXPECT_EQ(allJobs("p", blocked).size(), 3U);
}

TEST_P(FlowAddingTest, a_pool_with_nothing_but_blocked_jobs_is_not_empty) {
  start("a; b after a @q");
  const Status removed = write([](Store& s) { return s.pools().remove(PoolId("q")); });
  EXPECT_EQ(codeOf(removed), ErrorCode::kPoolNotEmpty);
  const auto overview = read([](Store& s) { return s.pools().overview(); });
  for (const auto& pool : overview) {
    EXPECT_EQ(pool.stats.blocked, pool.pool->id.str() == "q" ? 1 : 0);
    EXPECT_EQ(pool.stats.pending, pool.pool->id.str() == "q" ? 0 : 1);
  }
}

TEST_P(FlowAddingTest, the_wait_of_an_unblocked_job_begins_when_it_is_unblocked) {
  start("a; b after a");
  clock.advance(1h);
  EXPECT_EQ(stats().oldest_pending_seconds, 3600);
  done("a");
  EXPECT_EQ(stats().oldest_pending_seconds, 0);
  EXPECT_EQ(find("b").available_at, clock.now());
  clock.advance(5s);
  EXPECT_EQ(stats().oldest_pending_seconds, 5);
}

TEST_P(FlowAddingTest, a_delay_counts_from_when_the_job_is_unblocked) {
  CreateFlow flow;
  flow.jobs = flowJobs("a; b after a; c after a; d after a");
  flow.jobs[1].job.delay = 10s;
  flow.jobs[2].job.available_at = clock.now() + 2h;
  flow.jobs[3].job.available_at = clock.now() + 1min;
  start(flow);
  clock.advance(1h);
  EXPECT_EQ(write([](Store& s) { return s.jobs().promoteDue(100); }), 0);
  done("a");
  EXPECT_EQ(find("b").available_at, clock.now() + 10s);
  EXPECT_EQ(find("c").available_at, clock.now() + 1h) << "later, as it was asked for";
  EXPECT_EQ(find("d").available_at, clock.now()) << "that is over";
  EXPECT_EQ(claimable(), Names{"d"});
  EXPECT_EQ(stats().delayed, 2);
  clock.advance(10s);
  EXPECT_EQ(claimable(), (Names{"b", "d"}));
  clock.advance(1h);
  EXPECT_EQ(claimable(), (Names{"b", "c", "d"}));
}

TEST_P(FlowAddingTest, an_edge_to_a_job_with_a_verdict_is_judged_at_once) {
  start("done; bad; gone; live", open());
  done("done"), poison("bad"), cancel("gone");
  settle();
  const auto added =
      add("a after done; b failure done; c after bad; d failure bad; e any bad gone; f after gone; "
          "g after live; h after done live; i after c; j failure c; k any i");
  ASSERT_TRUE(added) << added.error().detail;
  settle();
  EXPECT_EQ(states(),
            "done=done bad=poisoned gone=cancelled:cancelled live=pending a=pending "
            "b=cancelled:not_needed c=cancelled:upstream_failed d=pending e=pending "
            "f=cancelled:upstream_cancelled g=blocked h=blocked i=cancelled:upstream_failed "
            "j=pending k=pending");
  EXPECT_EQ(find("h").flow->blocked_by, 1);
  const auto answer = answered(*added);
  EXPECT_EQ(answer.substr(0, answer.find(" g=")),
            "a=pending b=cancelled c=cancelled d=pending e=pending f=cancelled");
}

TEST_P(FlowAddingTest, an_edge_to_an_ended_job_waits_for_its_children) {
  start("a; b", open());
  addChildren("a", "x").value();
  done("a");
  add("c after a; d any a").value();
  settle();
  EXPECT_EQ(state("c"), "blocked");
  EXPECT_EQ(state("d"), "blocked");
  poison("a/x");
  settle();
  EXPECT_EQ(state("c"), "cancelled:upstream_failed");
  EXPECT_EQ(state("d"), "pending");
}

TEST_P(FlowAddingTest, a_job_that_comes_while_verdicts_are_told_is_told_once) {
  std::string wide = "a";
  for (int i = 0; i < 40; ++i) wide += "; w" + std::to_string(i) + " after a";
  start(wide, open());
  cancel("a");  // the rest of the cascade may be left to settle
  add("late after a; later failure a w3; last any a w39").value();
  settleOnce(3);
  add("more any w0 w20; none after w39").value();
  settle(2);
  EXPECT_EQ(state("late"), "cancelled:upstream_cancelled");
  EXPECT_EQ(state("later"), "cancelled:upstream_cancelled");
  EXPECT_EQ(state("none"), "cancelled:upstream_cancelled");
  EXPECT_EQ(state("last"), "pending");
  EXPECT_EQ(state("more"), "pending");
}

TEST_P(FlowAddingTest, the_same_job_again_is_the_first_one) {
  start("a; b after a", open());
  const auto before = lastEvent();
  const auto again = add("a; b after a").value();
  EXPECT_FALSE(again.added);
  EXPECT_EQ(answered(again), "a=pending b=blocked");
  EXPECT_EQ(again.jobs[0].id, id("a"));
  EXPECT_EQ(again.jobs[1].id, id("b"));
  EXPECT_EQ(lastEvent(), before);
  const auto more = add("b after a; c after b; a").value();
  EXPECT_TRUE(more.added);
  EXPECT_EQ(more.flow.counts.total, 3);
  EXPECT_EQ(answered(more), "b=blocked c=blocked a=pending");
  done("a");
  EXPECT_EQ(answered(add("a").value()), "a=done") << "as it is now";
}

TEST_P(FlowAddingTest, another_body_under_the_same_name_is_refused) {
  start("a; b after a", open());
  const auto taken = [&](auto change) {
    auto jobs = flowJobs("b after a");
    change(jobs[0]);
    const auto total = flow().counts.total;
    const auto refused = add(jobs);
    EXPECT_EQ(flow().counts.total, total);
    return codeOf(refused);
  };
  EXPECT_EQ(taken([](auto&) {}), std::nullopt);
  EXPECT_EQ(taken([](auto& job) { job.job.data = "2"; }), ErrorCode::kNameTaken);
  EXPECT_EQ(taken([](auto& job) { job.pool = PoolId("q"); }), ErrorCode::kNameTaken);
  EXPECT_EQ(taken([](auto& job) { job.edges.clear(); }), ErrorCode::kNameTaken);
  EXPECT_EQ(taken([](auto& job) { job.edges[0].when = EdgeCondition::kAfterAny; }),
            ErrorCode::kNameTaken);
  EXPECT_EQ(codeOf(add("z; b")), ErrorCode::kNameTaken);
  EXPECT_EQ(flow().counts.total, 2) << "all or nothing: no z";
  add("c after b a").value();
  EXPECT_FALSE(add("c after a b")->added) << "in another order it is the same";
}

TEST_P(FlowAddingTest, a_fan_out_that_is_tried_again_adds_nothing) {
  start("a; after after a");
  addChildren("a", "x; y after x").value();
  giveBack("a");
  take("a");
  const auto again = addChildren("a", "x; y after x; z").value();
  EXPECT_TRUE(again.added);
  EXPECT_EQ(again.flow.counts.total, 5);
  EXPECT_FALSE(addChildren("a", "x; y after x; z")->added);
  EXPECT_EQ(codeOf(addChildren("a", "x after z")), ErrorCode::kNameTaken);
}

TEST_P(FlowAddingTest, names_are_of_one_level) {
  start("a; b");
  addChildren("a", "a; b after a").value();
  addChildren("b", "a").value();
  EXPECT_NE(id("a/a"), id("a"));
  EXPECT_EQ(faults(addChildren("b", "c after b")), Names{"unknown_dependency /jobs/0/after/0"})
      << "an edge does not leave its level";
}

TEST_P(FlowAddingTest, what_is_wrong_with_a_graph_is_said_with_its_place) {
  EXPECT_EQ(faultsOf("a; b after a nobody"), Names{"unknown_dependency /jobs/1/after/1"});
  EXPECT_EQ(faultsOf("a; b failure nobody; c any none"),
            (Names{"unknown_dependency /jobs/1/after_failure/0",
                   "unknown_dependency /jobs/2/after_any/0"}));
  EXPECT_EQ(faultsOf("a after a").at(0).substr(0, 5), "cycle");
  EXPECT_EQ(faultsOf("a after c; b after a; c any b; d").at(0).substr(0, 5), "cycle");
  EXPECT_EQ(faultsOf("a; b; a").at(0).substr(0, 14), "duplicate_name");
  EXPECT_EQ(faultsOf("a; b after a a").at(0).substr(0, 14), "duplicate_name");
  EXPECT_EQ(faultsOf("a; b after a any a").at(0).substr(0, 14), "duplicate_name");
  EXPECT_EQ(flowsInAll(), 0);
  EXPECT_EQ(read([](Store& s) { return s.pools().list("", 9).size(); }), 0U) << "and no pool";
}

TEST_P(FlowAddingTest, an_edge_to_a_later_request_is_not_known) {
  start("a", open());
  EXPECT_EQ(faults(add("b after c")), Names{"unknown_dependency /jobs/0/after/0"});
  add("c").value();
  EXPECT_TRUE(add("b after c"));
}

TEST_P(FlowAddingTest, a_flow_has_only_so_many_jobs) {
  rules.flow_max_jobs = 5;
  reopen();
  start("a; b; c", open());
  EXPECT_EQ(faults(add("d; e; f")).at(0).substr(0, 13), "too_many_jobs");
  EXPECT_EQ(flow().counts.total, 3);
  add("d").value();
  EXPECT_FALSE(add("a; b; c; d")->added) << "these are there already";
  addChildren("a", "x").value();
  EXPECT_EQ(faults(addChildren("a", "y")).at(0).substr(0, 13), "too_many_jobs");
  EXPECT_EQ(faultsOf("1; 2; 3; 4; 5; 6").at(0).substr(0, 13), "too_many_jobs");
}

TEST_P(FlowAddingTest, a_flow_has_only_so_many_levels) {
  rules.flow_max_depth = 3;
  reopen();
  start("a");
  addChildren("a", "b").value();
  addChildren("a/b", "c").value();
  EXPECT_EQ(faults(addChildren("a/b/c", "d")).at(0).substr(0, 8), "too_deep");
  EXPECT_EQ(flow().counts.total, 3);
}

TEST_P(FlowAddingTest, a_closed_flow_takes_children_only) {
  start("a");
  EXPECT_EQ(codeOf(add("b")), ErrorCode::kFlowClosed);
  EXPECT_TRUE(addChildren("a", "x"));
  flow_ = FlowId("none");
  EXPECT_EQ(codeOf(add("b")), ErrorCode::kNotFound);
  EXPECT_EQ(codeOf(close()), ErrorCode::kNotFound);
}

TEST_P(FlowAddingTest, a_unique_key_of_a_living_job_is_taken) {
  const auto withKey = [](const std::string& line) {
    auto jobs = flowJobs(line);
    jobs.back().job.unique_key = "k";
    return jobs;
  };
  CreateFlow flow;
  flow.jobs = withKey("a; b after a");
  start(flow);
  EXPECT_EQ(codeOf(tryStart(flow)), ErrorCode::kUniqueKeyTaken) << "a blocked job lives";
  EXPECT_EQ(flowsInAll(), 1) << "nothing was created";
  const auto twin = tryPush({.data = "1", .unique_key = "k"});
  EXPECT_FALSE(twin.created);
  EXPECT_EQ(twin.job.id, id("b"));
  CreateFlow two;
  two.jobs = withKey("x; y");
  two.jobs[0].job.unique_key = "k2";
  two.jobs[1].job.unique_key = "k2";
  EXPECT_EQ(codeOf(tryStart(two)), ErrorCode::kUniqueKeyTaken) << "of an earlier job among them";
  done("a"), done("b");
  settle();
  EXPECT_TRUE(tryStart(flow)) << "it is over";
}

TEST_P(FlowAddingTest, jobs_inherit_tenant_and_priority) {
  CreateFlow flow;
  flow.tenant = "acme";
  flow.priority = 7;
  flow.jobs = flowJobs("a; b; c");
  flow.jobs[1].job.tenant = "other";
  flow.jobs[2].job.priority = 0;
  flow.jobs[2].has_priority = true;
  start(flow);
  EXPECT_EQ(find("a").tenant, "acme");
  EXPECT_EQ(find("a").priority, 7);
  EXPECT_EQ(find("b").tenant, "other");
  EXPECT_EQ(find("b").priority, 7);
  EXPECT_EQ(find("c").priority, 0);
  addChildren("b", "x").value();
  EXPECT_EQ(find("b/x").tenant, "other") << "of the parent";
  EXPECT_EQ(find("b/x").priority, 7);
}

}  // namespace
}  // namespace muster::test
