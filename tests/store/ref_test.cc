// What jobs refer to is kept from push to their end.
#include "models/store/sql/resource_refs.h"
#include "tests/store/ref_fixture.h"

namespace muster::test {
namespace {

class RefTest : public RefFixture {
 protected:
  std::vector<std::string> inputsOf(const Job& job) {
    std::vector<std::string> all;
    for (const JobInput& input : job.inputs) all.push_back(input.as + "=" + input.resource.id);
    return all;
  }
};
MUSTER_ON_EVERY_BACKEND(RefTest);

TEST_P(RefTest, a_ref_counts_until_its_job_ends) {
  make("a/model");
  const Job first = pushRefs({"a/model"}), second = pushRefs({"a/model"});
  EXPECT_EQ(seen("a/model"), "active 2");
  complete(claimId(first.id)).value();
  EXPECT_EQ(seen("a/model"), "active 1");
  write([&](Store& s) { return s.jobs().cancel(second.id, ""); }).value();
  EXPECT_EQ(seen("a/model"), "active 0");
}

TEST_P(RefTest, a_claimed_job_has_what_it_refers_to) {
  make("a/model");
  make("b/model");
  NewJob given = referring({"a/model", "b/model", "note"});
  given.refs[1].as = "the/other";
  push();
  tryPushRefs(given).value();
  const auto claimed = claim(2);
  ASSERT_EQ(claimed.size(), 2U);
  EXPECT_EQ(inputsOf(claimed[0]), Names{});
  EXPECT_EQ(inputsOf(claimed[1]), (Names{"model=a/model", "the/other=b/model"}));
}

TEST_P(RefTest, the_second_of_one_name_has_its_whole_id) {
  make("a/model");
  make("b/model");
  const Job job = claimId(pushRefs({"a/model", "b/model"}).id);
  EXPECT_EQ(inputsOf(job), (Names{"b/model=b/model", "model=a/model"}));
  NewJob given = referring({"a/model", "b/model"});
  for (ResourceRef& ref : given.refs) ref.as = "m";
  EXPECT_EQ(faultOf(tryPushRefs(given)), "duplicate_name /resource_refs/1/as");
}

TEST_P(RefTest, the_same_ref_twice_counts_once) {
  make("a");
  const Job job = pushRefs({"a", "a"});
  EXPECT_EQ(seen("a"), "active 1");
  EXPECT_EQ(inputsOf(claimId(job.id)), Names{"a=a"});
}

TEST_P(RefTest, what_is_gone_takes_no_ref) {
  make("gone");
  evict("gone");
  make("going");
  const Job user = pushRefs({"going"});
  evict("going");
  make("over", [](Resource& r) { r.ttl = Seconds(10); });
  make("half", [](Resource& r) { r.state = ResourceState::kUploading; });
  make("theirs", [](Resource& r) { r.tenant = "t"; });
  clock.advance(10s);
  EXPECT_EQ(faultOf(tryPushRefs(referring({"gone"}))), "resource_evicted /resource_refs/0");
  EXPECT_EQ(faultOf(tryPushRefs(referring({"going"}))), "resource_evicted /resource_refs/0");
  EXPECT_EQ(faultOf(tryPushRefs(referring({"over"}))), "resource_evicted /resource_refs/0");
  EXPECT_EQ(codeOf(tryPushRefs(referring({"over"}))), ErrorCode::kResourceGone);
  EXPECT_EQ(faultOf(tryPushRefs(referring({"half"}))), "not_stored /resource_refs/0");
  EXPECT_EQ(codeOf(tryPushRefs(referring({"half"}))), ErrorCode::kNotStored);
  EXPECT_EQ(faultOf(tryPushRefs(referring({"theirs"}))), "other_tenant /resource_refs/0");
  NewJob own = referring({"theirs"});
  own.tenant = "t";
  EXPECT_TRUE(tryPushRefs(own));
  EXPECT_EQ(seen("going"), "evicting deleted");
  complete(claimId(user.id)).value();
  EXPECT_EQ(seen("going"), "evicted deleted");
}

TEST_P(RefTest, what_nobody_registered_is_handed_over_as_sent) {
  EXPECT_TRUE(tryPushRefs(referring({"unknown"})));
  setPool(with<PoolSettings>([](auto& s) { s.strict_refs = true; }));
  EXPECT_EQ(faultOf(tryPushRefs(referring({"unknown"}))), "unknown_resource /resource_refs/0");
}

TEST_P(RefTest, a_batch_fails_as_a_whole) {
  make("a");
  PushJobs op{PoolId("p"), std::vector<NewJob>(4, referring({"a"})), true};
  make("half", [](Resource& r) { r.state = ResourceState::kUploading; });
  op.jobs[3].refs.insert(op.jobs[3].refs.begin(), {"half", "", ""});
  EXPECT_EQ(faultOf(pushAll(op)), "not_stored /items/3/resource_refs/0");
  EXPECT_EQ(allJobs().size(), 0U);
  EXPECT_EQ(seen("a"), "active 0");
  op.jobs.pop_back();
  EXPECT_EQ(pushAll(op)->size(), 3U);
  EXPECT_EQ(seen("a"), "active 3");
}

TEST_P(RefTest, a_job_that_lives_already_keeps_the_refs_it_has) {
  make("a");
  make("b");
  NewJob given = referring({"a"});
  given.unique_key = "k";
  const Job first = tryPushRefs(given).value();
  given.refs = {{"b", "", ""}};
  EXPECT_EQ(tryPushRefs(given)->id, first.id);
  EXPECT_EQ(seen("a"), "active 1");
  EXPECT_EQ(seen("b"), "active 0");
}

TEST_P(RefTest, refs_go_to_the_resource_and_never_to_its_successor) {
  const std::string uid = make("a");
  const Job job = pushRefs({"a"});
  evict("a", resource_reason::kDeleted, true);
  const std::string second = make("a");
  EXPECT_EQ(seen("a"), "active 0");
  EXPECT_EQ(claimId(job.id).inputs.at(0).resource.uid, uid);
  EXPECT_EQ(claimId(pushRefs({second}).id).inputs.at(0).resource.uid, second);
}

TEST_P(RefTest, the_time_to_live_begins_with_the_end_of_the_last_ref) {
  make("a", [](Resource& r) { r.ttl = Seconds(60); });
  EXPECT_EQ(resource("a").expires_at, clock.now() + 60s);
  const Job job = pushRefs({"a"});
  EXPECT_EQ(resource("a").expires_at, std::nullopt);
  clock.advance(300s);
  complete(claimId(job.id)).value();
  EXPECT_EQ(resource("a").expires_at, clock.now() + 60s);
}

TEST_P(RefTest, a_retry_refers_again) {
  make("a");
  const Job job = pushRefs({"a"});
  write([&](Store& s) { return s.jobs().cancel(job.id, ""); }).value();
  EXPECT_EQ(seen("a"), "active 0");
  write([&](Store& s) { return s.jobs().retry(job.id); }).value();
  EXPECT_EQ(seen("a"), "active 1");
}

TEST_P(RefTest, a_job_whose_resource_is_gone_is_not_tried_again) {
  make("a");
  make("b");
  const Job lost = pushRefs({"a"}), kept = pushRefs({"b"});
  for (const Job& each : {lost, kept}) {
    write([&](Store& s) { return s.jobs().cancel(each.id, ""); }).value();
  }
  evict("a");
  const auto retried = write([&](Store& s) { return s.jobs().retry(lost.id); });
  EXPECT_EQ(codeOf(retried), ErrorCode::kResourceGone);
  EXPECT_EQ(job(lost.id).status, JobStatus::kCancelled);
  const auto step = write([](Store& s) {
    return s.jobs().retryMany(PoolId("p"), {.statuses = {JobStatus::kCancelled}}, {}, 100, 100);
  });
  EXPECT_EQ(step.count, 1);
  EXPECT_EQ(job(lost.id).status, JobStatus::kCancelled);
  EXPECT_EQ(job(kept.id).status, JobStatus::kPending);
}

TEST_P(RefTest, refs_go_with_their_job) {
  make("a");
  const Job pending = pushRefs({"a"}), done = pushRefs({"a"});
  complete(claimId(done.id)).value();
  EXPECT_TRUE(write([&](Store& s) { return s.jobs().remove(done.id); }));
  EXPECT_EQ(seen("a"), "active 1");
  EXPECT_EQ(purge({JobStatus::kPending}), 1);
  EXPECT_EQ(seen("a"), "active 0");
}

TEST_P(RefTest, units_of_one_transaction_see_what_the_others_refer_to) {
  make("a");
  const Job old = pushRefs({"a"});
  write([&](Store& s) {
    EXPECT_TRUE(s.jobs().remove(old.id));
    const auto pushed = run(PushJobs{PoolId("p"), {referring({"a"})}}, s).value();
    EXPECT_EQ(ResourceRows(s.session).find("a")->resource.ref_count, 1);
    s.jobs().cancel(pushed[0].job.id, "").value();
    s.jobs().retry(pushed[0].job.id).value();
    EXPECT_EQ(ResourceRows(s.session).find("a")->resource.ref_count, 1);
  });
  EXPECT_EQ(seen("a"), "active 1");
}

TEST_P(RefTest, jobs_that_wait_for_what_is_gone_end) {
  make("a");
  const Job waits = pushRefs({"a"}), runs = claimId(pushRefs({"a"}).id);
  CreateFlow flow;
  flow.jobs = flowJobs("x; y after x; z failure y");
  flow.jobs[1].job.refs = {{"a", "", ""}};
  start(flow);
  EXPECT_EQ(seen("a"), "active 3");
  const int ended = write([&](Store& s) {
    auto row = ResourceRows(s.session).find("a").value();
    ResourceRows(s.session).evict(row, resource_reason::kDeleted, true);
    return ResourceRefs(s.session).endReaders(row.seq, 1000);
  });
  EXPECT_EQ(ended, 2);
  EXPECT_EQ(job(waits.id).status, JobStatus::kPoisoned);
  EXPECT_EQ(job(waits.id).reason, "resource_lost");
  EXPECT_EQ(job(runs.id).status, JobStatus::kClaimed);
  settle();
  EXPECT_EQ(find("y").reason, "resource_lost");
  EXPECT_EQ(states(), "x=pending y=poisoned z=pending");
  complete(runs).value();
}

TEST_P(RefTest, refs_of_a_flow_are_checked_before_anything_is_made) {
  make("a");
  make("half", [](Resource& r) { r.state = ResourceState::kUploading; });
  CreateFlow flow;
  flow.jobs = flowJobs("x; y after x");
  flow.jobs[0].job.refs = {{"a", "", ""}};
  flow.jobs[1].job.refs = {{"half", "", ""}};
  EXPECT_EQ(faultOf(tryStart(flow)), "not_stored /jobs/1/resource_refs/0");
  EXPECT_EQ(seen("a"), "active 0");
  flow.jobs[1].job.refs = {{"a", "", ""}};
  start(flow);
  EXPECT_EQ(seen("a"), "active 2");
  cancelFlow().value();
  settle();
  EXPECT_EQ(seen("a"), "active 0");
  evict("a");
  EXPECT_EQ(codeOf(retryFlow()), ErrorCode::kResourceGone);
  EXPECT_EQ(flowState(), "cancelled:requested");
  EXPECT_TRUE(removeFlow());
}

TEST_P(RefTest, a_pool_can_have_refs_in_its_payload) {
  make("r/1");
  NewJob job{.data = R"({"v": {"resourceRef": {"resourceId": "r/1", "type": "file"}}})"};
  EXPECT_EQ(tryPushRefs(job)->resource_refs, "");
  EXPECT_EQ(seen("r/1"), "active 0");
  setPool(with<PoolSettings>([](auto& s) { s.payload_refs = true; }));
  const Job pushed = tryPushRefs(job).value();
  EXPECT_EQ(pushed.data, job.data);
  EXPECT_EQ(pushed.resource_refs, R"([{"resource_id":"r/1","type":"file"}])");
  EXPECT_EQ(seen("r/1"), "active 1");
}

TEST_P(RefTest, a_callback_finds_what_it_refers_to_or_ends) {
  make("a");
  CreateFlow flow;
  flow.jobs = flowJobs("x");
  flow.callback_pools = {PoolId("q")};
  flow.callbacks = R"([{"when":"ended","job":{"pool_id":"q","data":1,)"
                   R"("resource_refs":[{"resource_id":"a"}]}}])";
  start(flow);
  done("x");
  settle();
  EXPECT_EQ(seen("a"), "active 1");
  const Job called = claim(1, "w", "q").at(0);
  EXPECT_EQ(inputsOf(called), Names{"a=a"});
  complete(called).value();
  evict("a");
  start(flow);
  done("x");
  settle();
  const Job refused = allJobs("q").front();
  EXPECT_EQ(refused.status, JobStatus::kPoisoned);
  EXPECT_EQ(refused.reason, "resource_evicted");
}

TEST_P(RefTest, a_job_that_was_never_needed_refers_when_it_is_tried_after_all) {
  make("a");
  start("x", with<CreateFlow>([](auto& f) { f.open = true; }));
  poison("x");
  settle();
  auto jobs = flowJobs("y after x");
  jobs[0].job.refs = {{"a", "", ""}};
  add(jobs).value();
  close().value();
  settle();
  EXPECT_EQ(state("y"), "cancelled:upstream_failed");
  EXPECT_EQ(seen("a"), "active 0");
  retryFlow().value();
  EXPECT_EQ(states(), "x=pending y=blocked");
  EXPECT_EQ(seen("a"), "active 1");
  done("x");
  EXPECT_EQ(inputsOf(take("y")), Names{"a=a"});
}

}  // namespace
}  // namespace muster::test
