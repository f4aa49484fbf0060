#include "models/operations/affinities.h"

#include "tests/store/store_fixture.h"

namespace muster::test {
namespace {

// Workers w1 and w2 take job after job; o1 and o2 take one each, on host a and on host b.
class AffinityTest : public StoreTest {
 protected:
  AffinityTest() {
    for (const char* id : {"w1", "w2"}) registerWorker(loopWorker(id, "a"));
    registerWorker(newWorker("o1", "a"));
    registerWorker(newWorker("o2", "b"));
    setPool(with<PoolSettings>([](auto& s) { s.per_tenant_concurrency = 100; }));
  }
  static NewWorker loopWorker(const std::string& id, const std::string& host) {
    NewWorker worker = newWorker(id, host);
    worker.mode = "loop";
    return worker;
  }
  static NewJob keyed(const std::string& key, PinMode mode = PinMode::kPreferred) {
    NewJob job{.data = "1", .affinity = key};
    job.affinity_mode = mode;
    return job;
  }
  static NewJob required(const std::string& key) { return keyed(key, PinMode::kRequired); }
  std::string holderOf(const std::string& key) {
    const auto found = read([&](Store& s) { return run(FindAffinity{key}, s); });
    return found ? found->holder.text() : std::string();
  }
  Result<Affinity> find(const std::string& key) {
    return read([&](Store& s) { return run(FindAffinity{key}, s); });
  }
  std::string pinOf(const Job& pushed) {
    const Job now = job(pushed.id);
    if (!now.pin || now.pin->holder.empty()) return {};
    return std::string(name(now.pin->mode)) + " " + now.pin->holder;
  }
  Names claimed(const std::string& worker, int max = 1) { return idsOf(claim(max, worker)); }
  std::int64_t tend() {
    return write([](Store& s) { return *run(TendPins{}, s); });
  }
  void end(const std::string& worker, const std::string& status) {
    write([&](Store& s) {
      WorkerChange change;
      change.status = status;
      s.workers().change(WorkerId(worker), change).value();
    });
  }
  // Silent for so long that it is lost.
  void lose(const std::string& worker) {
    write([&](Store& s) {
      const auto known = s.workers().find(WorkerId(worker));
      s.workers().end(*known, worker_status::kLost, "no heartbeat");
    });
  }
  Result<PutAffinity::Reply> put(const std::string& key, const Holder& holder, bool force = false) {
    PutAffinity op{.key = key, .holder = holder, .force = force};
    op.by.is_admin = true;
    return write([&](Store& s) { return run(op, s); });
  }
  static Holder worker(const std::string& id) { return {Holder::Kind::kWorker, id}; }
  static Holder host(const std::string& name) { return {Holder::Kind::kHost, name}; }
};
MUSTER_ON_EVERY_BACKEND(AffinityTest);

TEST_P(AffinityTest, the_first_claim_binds_a_key_to_a_loop_worker) {
  push(keyed("k"));
  EXPECT_EQ(codeOf(find("k")), ErrorCode::kNotFound) << "nobody has it yet";
  const auto event = lastEvent();
  EXPECT_EQ(claimed("w1").size(), 1U);
  const Affinity bound = find("k").value();
  EXPECT_EQ(bound.holder, worker("w1"));
  EXPECT_EQ(bound.worker, "w1");
  EXPECT_EQ(bound.host, "a");
  EXPECT_EQ(bound.state, AffinityState::kActive);
  EXPECT_EQ(bound.expires_at, clock.now() + Seconds(3600));
  EXPECT_EQ(bound.inflight_count, 1);
  EXPECT_EQ(eventTypesAfter(event), (Names{"affinity.bound", "job.claimed"}));
}

TEST_P(AffinityTest, a_once_worker_binds_a_key_to_its_host) {
  push(keyed("k"));
  EXPECT_EQ(claimed("o1").size(), 1U);
  EXPECT_EQ(holderOf("k"), "host:a");
  const Job next = push(keyed("k"));
  EXPECT_EQ(pinOf(next), "preferred host:a");
  EXPECT_EQ(claimed("o2"), Names{}) << "another host";
  EXPECT_EQ(claimed("w2"), Names{next.id.str()}) << "the same host";
  EXPECT_EQ(holderOf("k"), "host:a");
}

TEST_P(AffinityTest, a_worker_without_a_host_binds_nothing) {
  registerWorker(newWorker("bare"));
  push(keyed("k"));
  push(keyed("k"));
  EXPECT_EQ(claimed("bare").size(), 1U);
  EXPECT_EQ(holderOf("k"), "");
  EXPECT_EQ(claimed("stranger").size(), 1U) << "nor does one that is not registered";
  EXPECT_EQ(holderOf("k"), "");
}

TEST_P(AffinityTest, jobs_that_wait_go_to_the_holder_when_the_key_is_bound) {
  const Job first = push(keyed("k")), second = push(keyed("k")), plain = push();
  EXPECT_EQ(pinOf(second), "");
  EXPECT_EQ(claimed("w1"), Names{first.id.str()});
  EXPECT_EQ(pinOf(second), "preferred worker:w1");
  EXPECT_EQ(job(second.id).pin->unpin_at, clock.now() + Seconds(5));
  EXPECT_EQ(claimed("w2", 9), Names{plain.id.str()});
  EXPECT_EQ(claimed("w1", 9), Names{second.id.str()});
}

TEST_P(AffinityTest, a_new_job_goes_to_who_has_its_key) {
  push(keyed("k"));
  claim(1, "w1");
  const Job next = push(keyed("k"));
  const Job other = push(keyed("other"));
  EXPECT_EQ(pinOf(next), "preferred worker:w1");
  EXPECT_EQ(claimed("w2", 9), Names{other.id.str()});
  EXPECT_EQ(claimed("w1", 9), Names{next.id.str()});
}

TEST_P(AffinityTest, keys_of_tenants_are_apart) {
  NewJob of_a = keyed("k"), of_b = keyed("k");
  of_a.tenant = "a";
  of_b.tenant = "b";
  push(of_a);
  claim(1, "w1");
  const Job b = push(of_b);
  EXPECT_EQ(pinOf(b), "");
  const Job a = push(of_a);
  EXPECT_EQ(pinOf(a), "preferred worker:w1");
  EXPECT_EQ(claimed("w2", 9), Names{b.id.str()});
  EXPECT_EQ(claimed("w1", 9), Names{a.id.str()});
}

TEST_P(AffinityTest, the_order_of_claims_stays_priority_and_age_among_all_that_a_worker_may_take) {
  push(keyed("k"));
  push(keyed("h"));
  EXPECT_EQ(claimed("w1", 1).size(), 1U);
  EXPECT_EQ(claimed("o1", 1).size(), 1U);
  ASSERT_EQ(holderOf("k"), "worker:w1");
  ASSERT_EQ(holderOf("h"), "host:a");
  NewJob urgent{.data = "1", .priority = 3};
  const Job plain = push(), mine = push(keyed("k")), on_host = push(keyed("h")), last = push(),
            first = push(urgent);
  EXPECT_EQ(claimed("w1", 9), (Names{first.id.str(), plain.id.str(), mine.id.str(),
                                     on_host.id.str(), last.id.str()}));
}

TEST_P(AffinityTest, a_preferred_pin_runs_out_and_who_takes_the_job_takes_the_key) {
  push(keyed("k"));
  claim(1, "w1");
  const Job next = push(keyed("k"));
  EXPECT_EQ(tend(), 0);
  EXPECT_EQ(claimed("w2"), Names{});
  clock.advance(5s);
  const auto event = lastEvent();
  EXPECT_EQ(tend(), 1);
  EXPECT_EQ(eventTypesAfter(event), Names{"job.unpinned"});
  EXPECT_EQ(tend(), 0);
  EXPECT_EQ(pinOf(next), "");
  EXPECT_EQ(claimed("w2"), Names{next.id.str()});
  EXPECT_EQ(holderOf("k"), "worker:w2");
}

TEST_P(AffinityTest, the_time_of_a_preferred_pin_is_fixed_once) {
  push(keyed("k"));
  claim(1, "w1");
  NewJob waits = keyed("k");
  waits.delay = 10s;
  waits.pin_wait = 3s;
  const Job next = push(waits);
  EXPECT_EQ(job(next.id).pin->unpin_at, clock.now() + Seconds(13));
  clock.advance(10s);
  write([](Store& s) { s.jobs().promoteDue(10); });
  const Job taken = claim(1, "w1").at(0);
  clock.advance(3s);
  release(taken).value();
  EXPECT_EQ(pinOf(next), "") << "its time was over when it came back";
  EXPECT_EQ(claimed("w2"), Names{next.id.str()});
}

TEST_P(AffinityTest, a_job_that_waits_for_nobody_is_never_pinned) {
  push(keyed("k"));
  claim(1, "w1");
  NewJob now = keyed("k");
  now.pin_wait = Millis(0);
  const Job next = push(now);
  EXPECT_EQ(pinOf(next), "");
  EXPECT_EQ(claimed("w2"), Names{next.id.str()});
}

TEST_P(AffinityTest, a_required_pin_does_not_run_out) {
  push(required("k"));
  claim(1, "w1");
  const Job next = push(required("k"));
  clock.advance(4000s);
  tend();
  EXPECT_EQ(pinOf(next), "required worker:w1");
  EXPECT_FALSE(job(next.id).pin->unpin_at);
  EXPECT_EQ(claimed("w2"), Names{});
  EXPECT_EQ(claimed("w1"), Names{next.id.str()});
}

TEST_P(AffinityTest, a_claim_by_id_of_a_job_that_is_pinned_elsewhere_is_refused_with_a_sentence) {
  push(keyed("k"));
  claim(1, "w1");
  const Job next = push(keyed("k"));
  const auto refused = claimOne(next.id, "w2");
  ASSERT_EQ(codeOf(refused), ErrorCode::kNotClaimable);
  EXPECT_EQ(refused.error().detail, "the job is pinned to worker:w1");
  EXPECT_TRUE(claimOne(next.id, "w1"));
}

TEST_P(AffinityTest, a_claim_by_id_binds_and_takes_turns_too) {
  NewJob of_a = keyed("k");
  of_a.tenant = "a";
  const Job first = push(of_a), second = push(of_a);
  EXPECT_TRUE(claimOne(first.id, "w1"));
  EXPECT_EQ(pinOf(second), "preferred worker:w1");
  EXPECT_TRUE(claimOne(second.id, "w1"));
}

TEST_P(AffinityTest, who_is_about_to_end_gets_no_more_jobs_of_its_keys) {
  push(keyed("k"));
  claim(1, "w1");
  const Job waits = push(keyed("k"));
  end("w1", "terminating");
  EXPECT_EQ(find("k")->state, AffinityState::kDraining);
  EXPECT_EQ(pinOf(waits), "") << "those that wait are free at once";
  const Job next = push(keyed("k"));
  EXPECT_EQ(pinOf(next), "");
  EXPECT_EQ(claimed("w2", 9), (Names{waits.id.str(), next.id.str()}));
  EXPECT_EQ(holderOf("k"), "worker:w2");
}

TEST_P(AffinityTest, a_silent_holder_is_waited_for_by_those_that_must_and_by_no_others) {
  push(required("k"));
  push(keyed("l"));
  claim(2, "w1");
  const Job must = push(required("k")), should = push(keyed("l"));
  lose("w1");
  EXPECT_EQ(find("k")->state, AffinityState::kStale);
  EXPECT_EQ(pinOf(must), "required worker:w1");
  EXPECT_EQ(pinOf(should), "");
  const auto refused = write([&](Store& s) {
    return s.pins().check(*s.pools().find(PoolId("p")), required("k"), "", {}, "");
  });
  ASSERT_EQ(codeOf(refused), ErrorCode::kUnavailable);
  EXPECT_EQ(refused.error().retry_after, Seconds(60));
  clock.advance(59s);
  tend();
  EXPECT_EQ(job(must.id).status, JobStatus::kPending);
  clock.advance(1s);
  const auto event = lastEvent();
  tend();
  EXPECT_EQ(job(must.id).status, JobStatus::kPoisoned);
  EXPECT_EQ(job(must.id).reason, "holder_lost");
  EXPECT_EQ(codeOf(find("k")), ErrorCode::kNotFound);
  const Names types = eventTypesAfter(event);
  EXPECT_EQ(std::count(types.begin(), types.end(), "affinity.released"), 2);
}

TEST_P(AffinityTest, a_holder_that_is_back_in_time_keeps_its_keys) {
  push(required("k"));
  claim(1, "w1");
  const Job must = push(required("k"));
  lose("w1");
  clock.advance(30s);
  registerWorker(loopWorker("w1", "a"));
  EXPECT_EQ(find("k")->state, AffinityState::kActive);
  clock.advance(3000s);
  tend();
  EXPECT_EQ(job(must.id).status, JobStatus::kPending);
  EXPECT_EQ(claim(9, "w1").size(), 2U) << "the job that was lost with it, and the one that waited";
}

TEST_P(AffinityTest, a_holder_that_is_proven_dead_is_not_waited_for) {
  push(required("k"));
  claim(1, "w1");
  const Job must = push(required("k"));
  end("w1", "terminated");
  EXPECT_EQ(job(must.id).reason, "holder_lost");
  EXPECT_EQ(codeOf(find("k")), ErrorCode::kNotFound);
}

TEST_P(AffinityTest, a_job_that_ended_so_may_be_retried_and_goes_where_it_can) {
  push(required("k"));
  claim(1, "w1");
  const Job must = push(required("k"));
  end("w1", "terminated");
  write([&](Store& s) { s.jobs().retry(must.id).value(); });
  EXPECT_EQ(pinOf(must), "");
  const auto taken = claimed("w2", 9);
  EXPECT_TRUE(std::find(taken.begin(), taken.end(), must.id.str()) != taken.end());
  EXPECT_EQ(holderOf("k"), "worker:w2");
}

TEST_P(AffinityTest, too_many_failed_tries_in_a_row_release_the_key) {
  NewJob patient = keyed("k");
  patient.max_retries = 50;
  push(patient);
  for (int failures = 0; failures < 3; ++failures) {
    if (failures > 0) {
      EXPECT_EQ(find("k")->failures, failures);
    }
    const auto taken = claim(1, "w1");
    ASSERT_EQ(taken.size(), 1U);
    fail(taken[0], failure("no")).value();
    clock.advance(60s);
    write([](Store& s) { s.jobs().promoteDue(10); });
  }
  EXPECT_EQ(codeOf(find("k")), ErrorCode::kNotFound);
  EXPECT_EQ(claim(1, "w2").size(), 1U);
  EXPECT_EQ(holderOf("k"), "worker:w2");
}

TEST_P(AffinityTest, a_job_that_is_done_ends_a_row_of_failed_ones) {
  NewJob patient = keyed("k");
  patient.max_retries = 50;
  push(patient);
  fail(claim(1, "w1").at(0), failure("no")).value();
  EXPECT_EQ(find("k")->failures, 1);
  clock.advance(60s);
  write([](Store& s) { s.jobs().promoteDue(10); });
  complete(claim(1, "w1").at(0)).value();
  EXPECT_EQ(find("k")->failures, 0);
}

TEST_P(AffinityTest, a_key_expires_when_nothing_is_in_flight_or_waits) {
  push(keyed("k"));
  const Job held = claim(1, "w1").at(0);
  clock.advance(3600s);
  tend();
  EXPECT_EQ(holderOf("k"), "worker:w1") << "a job of it runs";
  complete(held).value();
  clock.advance(3599s);
  tend();
  EXPECT_EQ(holderOf("k"), "worker:w1");
  clock.advance(1s);
  const auto event = lastEvent();
  EXPECT_EQ(tend(), 1);
  EXPECT_EQ(eventTypesAfter(event), Names{"affinity.released"});
  EXPECT_EQ(holderOf("k"), "");
  clock.advance(3600s);
  EXPECT_EQ(tend(), 1) << "what nobody asks for is forgotten";
  EXPECT_EQ(tend(), 0);
}

TEST_P(AffinityTest, can_be_given_to_a_worker_or_a_host) {
  const auto made = put("k", worker("w1"));
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->is_new);
  EXPECT_FALSE(put("k", worker("w1"))->is_new) << "the same holder";
  EXPECT_EQ(codeOf(put("k", worker("w2"))), ErrorCode::kAffinityConflict);
  EXPECT_TRUE(put("k", worker("w2"), true)->is_new);
  EXPECT_EQ(holderOf("k"), "worker:w2");
  EXPECT_TRUE(put("h", host("b")));
  EXPECT_EQ(codeOf(put("x", worker("nobody"))), ErrorCode::kNotFound);
  EXPECT_EQ(codeOf(put("x", worker("o1"))), ErrorCode::kInvalid) << "it ends too soon";
  end("w2", "terminated");
  EXPECT_EQ(codeOf(put("x", worker("w2"))), ErrorCode::kGone);
}

TEST_P(AffinityTest, may_be_given_only_by_its_worker_or_an_admin) {
  PutAffinity op{.key = "k", .holder = worker("w1")};
  const auto as = [&](const std::string& who) {
    op.by = {.worker = who};
    return codeOf(write([&](Store& s) { return run(op, s); }));
  };
  EXPECT_EQ(as(""), ErrorCode::kForbidden);
  EXPECT_EQ(as("w2"), ErrorCode::kForbidden);
  EXPECT_EQ(as("w1"), std::nullopt);
  op.holder = host("a");
  op.force = true;
  EXPECT_EQ(as("o2"), ErrorCode::kForbidden) << "it is on another host";
  EXPECT_EQ(as("w2"), std::nullopt);
}

TEST_P(AffinityTest, given_by_request_takes_the_waiting_jobs_along) {
  const Job waits = push(keyed("k"));
  put("k", worker("w1")).value();
  EXPECT_EQ(pinOf(waits), "preferred worker:w1");
  put("k", worker("w2"), true).value();
  EXPECT_EQ(pinOf(waits), "preferred worker:w2");
  EXPECT_EQ(claimed("w1"), Names{});
  EXPECT_EQ(claimed("w2"), Names{waits.id.str()});
}

TEST_P(AffinityTest, released_by_request_lets_the_waiting_jobs_go) {
  const Job waits = push(required("k"));
  put("k", worker("w1")).value();
  EXPECT_EQ(pinOf(waits), "required worker:w1");
  DeleteAffinity op{.key = "k", .by = {.is_admin = true}};
  EXPECT_TRUE(write([&](Store& s) { return run(op, s); }));
  EXPECT_EQ(pinOf(waits), "");
  EXPECT_EQ(codeOf(write([&](Store& s) { return run(op, s); })), ErrorCode::kNotFound);
  EXPECT_EQ(claimed("w2"), Names{waits.id.str()});
}

TEST_P(AffinityTest, is_listed_with_its_jobs) {
  put("a", worker("w1")).value();
  put("b", host("b")).value();
  push(keyed("a"));
  push(keyed("a"));
  push(keyed("nobody's"));
  claim(1, "w1");
  const auto list = [&](ListAffinities op) {
    Names found;
    const auto page = read([&](Store& s) { return run(op, s); }).value();
    for (const Affinity& each : page.affinities) {
      found.push_back(each.key + " " + std::to_string(each.inflight_count) + " " +
                      std::to_string(each.waiting_count));
    }
    if (page.next) found.emplace_back("more");
    return found;
  };
  EXPECT_EQ(list({}), (Names{"a 1 1", "b 0 0"}));
  EXPECT_EQ(list({.limit = 1}), (Names{"a 1 1", "more"}));
  EXPECT_EQ(list({.holder = "host:b"}), Names{"b 0 0"});
  EXPECT_EQ(list({.state = AffinityState::kStale}), Names{});
  EXPECT_EQ(list({.tenant = "t"}), Names{});
}

TEST_P(AffinityTest, touched_lives_anew) {
  put("k", worker("w1")).value();
  clock.advance(3000s);
  const auto touch = [&](std::optional<Millis> ttl) {
    TouchAffinity op{.key = "k", .ttl = ttl, .by = {.is_admin = true}};
    return write([&](Store& s) { return run(op, s); });
  };
  EXPECT_EQ(touch({})->expires_at, clock.now() + Seconds(3600));
  EXPECT_EQ(touch(Seconds(10))->expires_at, clock.now() + Seconds(10));
  clock.advance(10s);
  tend();
  EXPECT_EQ(codeOf(touch({})), ErrorCode::kNotFound);
}

TEST_P(AffinityTest, more_jobs_than_one_step_moves_follow_when_a_claim_meets_them) {
  constexpr int kJobs = 1200;
  write([](Store& s) {
    const auto pool = s.pools().find(PoolId("p"));
    for (int i = 0; i < kJobs; ++i) s.jobs().push(*pool, required("k"));
  });
  EXPECT_EQ(claim(1, "w1").size(), 1U);
  EXPECT_EQ(stats().pinned, 1000);
  EXPECT_EQ(claim(9, "w2").size(), 0U) << "those that it met went to their holder";
  EXPECT_EQ(stats().pinned, kJobs - 1);
  EXPECT_EQ(claim(1000, "w1").size(), 1000U);
}

TEST_P(AffinityTest, a_removed_job_leaves_nothing_behind) {
  const Job first = push(keyed("k"));
  complete(claim(1, "w1").at(0)).value();
  write([&](Store& s) { EXPECT_TRUE(s.jobs().remove(first.id)); });
  const auto left = read([](Store& s) {
    static constexpr Sql kLeft{"SELECT count(*) FROM job_pins"};
    auto rows = s.session.db.query(kLeft);
    rows.next();
    return rows->integer(0);
  });
  EXPECT_EQ(left, 0);
}

}  // namespace
}  // namespace muster::test
