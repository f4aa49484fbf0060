#include "tests/store/resource_fixture.h"

namespace muster::test {
namespace {

// Leases, refs and scopes: what keeps a resource, and what lets it go.
class ResourceUseTest : public ResourceTest {
 protected:
  LeaseResource::Reply lease(const LeaseResource& op) { return act(op).value(); }
  std::int64_t expire() { return act(ExpireResources{}).value(); }
};

TEST_P(ResourceUseTest, an_unused_resource_goes_when_its_time_is_over) {
  keep("r");
  clock.advance(3599s);
  EXPECT_EQ(expire(), 0);
  const auto before = lastEvent();
  clock.advance(1s);
  EXPECT_EQ(expire(), 1);
  EXPECT_EQ(expire(), 0);
  EXPECT_EQ(find("r").state, ResourceState::kEvicted);
  EXPECT_EQ(find("r").reason, "expired");
  const auto events = eventsAfter(before);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].type, "resource.evicted");
  EXPECT_NE(events[0].details.find(R"("reason":"expired")"), std::string::npos);
}

TEST_P(ResourceUseTest, a_lease_keeps_its_resource) {
  keep("r");
  const auto held = lease({.name = "r", .ttl = Millis(7200s)});
  EXPECT_EQ(held.expires_at, clock.now() + 7200s);
  EXPECT_EQ(held.resource.in_use_count, 1);
  EXPECT_EQ(held.resource.expires_at, std::nullopt);
  clock.advance(7199s);
  EXPECT_EQ(expire(), 0);
  clock.advance(1s);
  EXPECT_EQ(expire(), 1) << "the lease";
  EXPECT_EQ(find("r").expires_at, clock.now() + 3600s) << "from its last use";
  clock.advance(3600s);
  EXPECT_EQ(expire(), 1) << "the resource";
}

TEST_P(ResourceUseTest, a_worker_has_one_lease_of_a_resource) {
  keep("r");
  registerWorker(newWorker("w"));
  const auto first = lease({.name = "r", .worker = "w"});
  EXPECT_EQ(first.expires_at, clock.now() + 300s);
  clock.advance(60s);
  const auto again = lease({.name = "r", .worker = "w"});
  EXPECT_EQ(again.lease_id, first.lease_id);
  EXPECT_EQ(again.expires_at, clock.now() + 300s);
  EXPECT_EQ(again.resource.lease_count, 1);
  EXPECT_NE(lease({"r"}).lease_id, lease({"r"}).lease_id) << "of nobody";
  EXPECT_EQ(find("r").lease_count, 3);
}

TEST_P(ResourceUseTest, a_lease_that_is_over_may_be_released) {
  keep("r");
  const auto held = lease({"r"});
  EXPECT_EQ(act(ReleaseResource{"r", held.lease_id}).value().in_use_count, 0);
  EXPECT_EQ(act(ReleaseResource{"r", held.lease_id}).value().in_use_count, 0);
  act(DeleteResource{"r"}).value();
  EXPECT_EQ(act(ReleaseResource{"r", held.lease_id}).value().state, ResourceState::kEvicted);
}

TEST_P(ResourceUseTest, leases_of_a_worker_end_with_it) {
  keep("r");
  for (const char* id : {"ended", "silent", "anew", "alive"}) {
    registerWorker(newWorker(id));
    lease({.name = "r", .worker = id, .ttl = Millis(9000s)});
  }
  WorkerChange end;
  end.status = "terminated";
  write([&](Store& store) { store.workers().change(WorkerId("ended"), end).value(); });
  EXPECT_EQ(find("r").lease_count, 3);
  registerWorker(newWorker("anew"));
  EXPECT_EQ(find("r").lease_count, 2);
  clock.advance(600s);
  write([&](Store& store) { store.workers().heartbeat(WorkerId("alive"), {}).value(); });
  write([&](Store& store) { store.workers().stale("", {}, true, 10); });
  EXPECT_EQ(find("r").lease_count, 1);
  EXPECT_EQ(codeOf(act(LeaseResource{.name = "r", .worker = "ended"})), ErrorCode::kGone);
}

TEST_P(ResourceUseTest, a_lease_of_a_job_ends_with_the_try) {
  keep("r");
  const Job job = pushAndClaim();
  EXPECT_EQ(codeOf(act(LeaseResource{.name = "r", .job = job.id, .lease_token = "no"})),
            ErrorCode::kLeaseLost);
  EXPECT_EQ(codeOf(act(LeaseResource{.name = "r", .job = job.id})), ErrorCode::kLeaseLost);
  EXPECT_EQ(codeOf(act(LeaseResource{.name = "r", .job = JobId("none"), .lease_token = "no"})),
            ErrorCode::kNotFound);
  const auto held = lease({.name = "r", .job = job.id, .lease_token = job.lease_token});
  EXPECT_EQ(held.expires_at, std::nullopt);
  const auto again =
      lease({.name = "r", .job = job.id, .lease_token = job.lease_token, .ttl = Millis(60s)});
  EXPECT_EQ(again.lease_id, held.lease_id);
  EXPECT_EQ(again.expires_at, clock.now() + 60s);
  complete(job).value();
  EXPECT_EQ(find("r").lease_count, 0);
}

TEST_P(ResourceUseTest, what_is_over_takes_no_new_use) {
  keep("r");
  clock.advance(3600s);
  const auto refused = act(LeaseResource{"r"});
  EXPECT_EQ(codeOf(refused), ErrorCode::kResourceGone);
  EXPECT_EQ(memberOf(refused.error(), "reason"), "\"expired\"");
  EXPECT_EQ(codeOf(act(TouchResource{"r"})), ErrorCode::kResourceGone);
  EXPECT_TRUE(look(FindContent{"r"})) << "it is read until it is collected";
}

TEST_P(ResourceUseTest, an_upload_cannot_be_leased) {
  act(RegisterResource{stored("r")}).value();
  EXPECT_EQ(codeOf(act(LeaseResource{"r"})), ErrorCode::kNotStored);
}

TEST_P(ResourceUseTest, touching_begins_the_time_to_live_anew) {
  keep("r");
  clock.advance(1000s);
  EXPECT_EQ(act(TouchResource{"r"}).value().expires_at, clock.now() + 3600s);
  EXPECT_EQ(act(TouchResource{"r", Millis(60s)}).value().expires_at, clock.now() + 60s);
  EXPECT_EQ(find("r").expires_at, clock.now() + 60s);
  lease({"r"});
  EXPECT_EQ(act(TouchResource{"r", Millis(90s)}).value().expires_at, std::nullopt);
}

TEST_P(ResourceUseTest, a_leased_resource_that_is_deleted_goes_with_its_last_lease) {
  keep("r");
  const auto held = lease({"r"});
  const auto other = lease({"r"});
  EXPECT_EQ(act(DeleteResource{"r"}).value().state, ResourceState::kEvicting);
  EXPECT_EQ(codeOf(act(LeaseResource{"r"})), ErrorCode::kResourceGone);
  EXPECT_EQ(codeOf(act(RegisterResource{stored("r")})), ErrorCode::kResourceExists);
  EXPECT_TRUE(look(FindContent{"r"})) << "it is read as before";
  act(ReleaseResource{"r", held.lease_id}).value();
  EXPECT_EQ(find("r").state, ResourceState::kEvicting);
  const Resource gone = act(ReleaseResource{"r", other.lease_id}).value();
  EXPECT_EQ(gone.state, ResourceState::kEvicted);
  EXPECT_EQ(gone.reason, "deleted");
}

TEST_P(ResourceUseTest, a_ref_keeps_its_resource) {
  keep("r");
  const Job job = push();
  refer(job.id, "r");
  clock.advance(std::chrono::hours(48));
  EXPECT_EQ(expire(), 0);
  EXPECT_EQ(codeOf(act(DeleteResource{"r"})), ErrorCode::kResourceInUse);
  EXPECT_EQ(find("r").in_use_count, 0) << "the job has not been claimed";
  claimOne(job.id).value();
  EXPECT_EQ(find("r").in_use_count, 1);
  forget(job.id, "r");
  EXPECT_EQ(find("r").expires_at, clock.now() + 3600s);
}

TEST_P(ResourceUseTest, force_ends_the_jobs_that_wait_for_a_resource) {
  keep("r");
  const Job runs = pushAndClaim(), waits = push();
  refer(runs.id, "r"), refer(waits.id, "r");
  lease({"r"});
  const Resource gone = act(DeleteResource{"r", true, {.is_admin = true}}).value();
  EXPECT_EQ(gone.state, ResourceState::kEvicted);
  EXPECT_EQ(gone.lease_count, 0);
  EXPECT_EQ(gone.ref_count, 1) << "of the job that runs";
  EXPECT_EQ(job(waits.id).status, JobStatus::kPoisoned);
  EXPECT_EQ(job(waits.id).reason, "resource_lost");
  EXPECT_EQ(act(RemoveGoneResources{clock.now() + 1s}).value(), 0) << "a job still names it";
  EXPECT_EQ(act(ExpireResources{}).value(), 0) << "the job may end well";
  release(runs).value();
  EXPECT_EQ(act(ExpireResources{}).value(), 1);
  EXPECT_EQ(job(runs.id).reason, "resource_lost");
  EXPECT_EQ(act(RemoveGoneResources{clock.now() + 1s}).value(), 1);
}

TEST_P(ResourceUseTest, a_scope_is_released_together) {
  const auto scoped = [&](const std::string& id, const std::string& scope) {
    NewResource given = held(id, {Holder::Kind::kExternal, ""});
    given.scope = scope;
    act(RegisterResource{given}).value();
  };
  scoped("a", "s"), scoped("b", "s"), scoped("c", "s"), scoped("d", "other");
  const auto kept = lease({.name = "b"});
  const Job job = push();
  refer(job.id, "c");
  const auto released = act(ReleaseScope{"s"}).value();
  EXPECT_EQ(released.released, 1);
  EXPECT_EQ(released.deferred, 2);
  EXPECT_FALSE(released.more);
  EXPECT_EQ(find("a").reason, "scope_released");
  EXPECT_EQ(find("b").state, ResourceState::kEvicting);
  EXPECT_EQ(find("d").state, ResourceState::kActive);
  EXPECT_EQ(act(ReleaseScope{"s"}).value().deferred, 0) << "they are on their way";
  act(ReleaseResource{"b", kept.lease_id}).value();
  forget(job.id, "c");
  EXPECT_EQ(find("b").state, ResourceState::kEvicted);
  EXPECT_EQ(find("c").state, ResourceState::kEvicted);
}

TEST_P(ResourceUseTest, a_large_scope_is_released_in_steps) {
  write([&](Store& store) {
    for (int i = 0; i < 1001; ++i) {
      NewResource given = held("r" + std::to_string(i), {Holder::Kind::kExternal, ""});
      given.scope = "s";
      EXPECT_TRUE(run(RegisterResource{given}, store));
    }
  });
  const auto first = act(ReleaseScope{"s"}).value();
  EXPECT_EQ(first.released, 1000);
  EXPECT_TRUE(first.more);
  const auto second = act(ReleaseScope{"s"}).value();
  EXPECT_EQ(second.released, 1);
  EXPECT_FALSE(second.more);
}

TEST_P(ResourceUseTest, records_of_what_is_gone_are_kept_for_a_time) {
  keep("r");
  act(DeleteResource{"r"}).value();
  EXPECT_EQ(act(RemoveGoneResources{clock.now()}).value(), 0);
  clock.advance(1s);
  EXPECT_EQ(act(RemoveGoneResources{clock.now()}).value(), 1);
  EXPECT_EQ(codeOf(look(FindResource{"r"})), ErrorCode::kNotFound);
}

MUSTER_ON_EVERY_BACKEND(ResourceUseTest);

}  // namespace
}  // namespace muster::test
