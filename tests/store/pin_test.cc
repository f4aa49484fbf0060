// Jobs that only one holder may take: in whose lanes they stand, what stats and checks make of
// them.
#include <mutex>

#include "models/operations/affinities.h"
#include "models/policy/scaling.h"
#include "tests/store/store_fixture.h"

namespace muster::test {
namespace {

class PinTest : public StoreTest {
 protected:
  PinTest() {
    rules.host = "here";
    rules.templates = {{"t", {"v1"}}};
    reopen();
    setPool(with<PoolSettings>([](auto& s) {
      s.template_name = "t";
      s.worker_mode = "loop";
      s.max_workers = 2;
    }));
  }
  void loopWorker(const std::string& id, const std::string& host, int slots = 1) {
    NewWorker worker = newWorker(id, host);
    worker.mode = "loop";
    worker.slots = slots;
    registerWorker(worker);
  }
  std::string launchLoopWorker() {
    return write([](Store& s) {
      const LaunchOrder order = s.launches().order(*pool(s), Seconds(30));
      NewWorker worker;
      worker.id = order.worker;
      worker.pool = "p";
      worker.mode = "loop";
      worker.host = "here";
      s.launches().admit(worker, order.token).value();
      return order.worker.str();
    });
  }
  void bind(const std::string& key, const Holder& holder) {
    PutAffinity op{.key = key, .holder = holder, .by = {.is_admin = true}};
    write([&](Store& s) { run(op, s).value(); });
  }
  static NewJob required(const std::string& key) {
    NewJob job{.data = "1", .affinity = key};
    job.affinity_mode = PinMode::kRequired;
    return job;
  }
  static Holder worker(const std::string& id) { return {Holder::Kind::kWorker, id}; }
  static Holder host(const std::string& name) { return {Holder::Kind::kHost, name}; }
  ScaleState state() {
    return write([](Store& s) { return s.scaling().state(*pool(s)); });
  }
  ScaleDecision check() {
    return write([](Store& s) {
      auto scaling = s.scaling();
      const ScaleDecision decision =
          decideScale(scaling.state(*pool(s)), {}, scaling.config(*pool(s)));
      scaling.apply(*pool(s), decision);
      return decision;
    });
  }
  std::string statusOf(const std::string& id) {
    return read([&](Store& s) { return s.workers().find(WorkerId(id))->status; });
  }
  // What its resources take, as it says.
  void inMemory(const std::string& id, std::int64_t bytes) {
    WorkerChange change;
    change.metrics = "{}";
    change.use.mem_bytes = bytes;
    write([&](Store& s) { s.workers().heartbeat(WorkerId(id), change).value(); });
  }
  std::int64_t memoryLimit() const { return rules.resources.workerLimits().mem_bytes; }
  // Who is `node`, and has too much already.
  std::vector<Job> claimPinned(int max, const std::string& id, const std::string& node) {
    return write([&](Store& s) {
      WorkerTraits traits;
      traits.node = node;
      return s.jobs().claim(*pool(s), id, traits, max, true);
    });
  }
  static std::shared_ptr<const Pool> pool(Store& s) { return s.pools().find(PoolId("p")); }
};
MUSTER_ON_EVERY_BACKEND(PinTest);

TEST_P(PinTest, what_is_pinned_to_a_worker_counts_as_far_as_it_has_room) {
  loopWorker("w1", "a", 2);
  bind("k", worker("w1"));
  for (int i = 0; i < 5; ++i) push(required("k"));
  PoolStats now = stats();
  EXPECT_EQ(now.pending, 5);
  EXPECT_EQ(now.pinned, 5);
  EXPECT_EQ(now.runnable, 2);
  EXPECT_EQ(now.elsewhere, 2) << "nobody is launched for them";
  EXPECT_EQ(now.pinned_waiting, 3);
  claim(1, "w1");
  EXPECT_EQ(stats().runnable, 1);
  claim(1, "w1");
  now = stats();
  EXPECT_EQ(now.runnable, 0) << "it is busy";
  EXPECT_EQ(now.pinned_waiting, 3);
  EXPECT_EQ(now.unplaceable, 0);
}

TEST_P(PinTest, what_is_pinned_to_a_worker_that_is_going_is_not_runnable) {
  loopWorker("w1", "a");
  bind("k", worker("w1"));
  push(required("k"));
  EXPECT_EQ(stats().runnable, 1);
  clock.advance(3600s);
  EXPECT_EQ(stats().runnable, 0) << "it is silent";
  EXPECT_EQ(stats().pinned_waiting, 1);
}

TEST_P(PinTest, a_worker_over_its_limit_has_no_room) {
  loopWorker("w1", "a", 2);
  bind("k", worker("w1"));
  push(required("k"));
  push();
  EXPECT_EQ(stats().runnable, 2);
  EXPECT_EQ(state().free_slots, 1) << "the other is for what is pinned to it";
  EXPECT_EQ(check().to_launch, 0);
  inMemory("w1", memoryLimit() + 1);
  const PoolStats now = stats();
  EXPECT_EQ(now.runnable, 1);
  EXPECT_EQ(now.pinned_waiting, 1);
  EXPECT_TRUE(now.pinned_places.empty());
  EXPECT_EQ(state().free_slots, 0);
  EXPECT_EQ(state().idle, 1) << "it is there all the same";
  EXPECT_EQ(check().to_launch, 1) << "for the job that anybody may take";
  inMemory("w1", memoryLimit());
  EXPECT_EQ(stats().runnable, 2);
  EXPECT_EQ(state().free_slots, 1);
}

TEST_P(PinTest, a_worker_over_its_limit_takes_only_what_is_pinned_to_it) {
  loopWorker("w1", "a", 5);
  bind("k", worker("w1"));
  bind("l", host("a"));
  push(with<NewJob>([](auto& j) { j.data = "1", j.priority = 9; }));
  push(with<NewJob>([](auto& j) { j.data = "1", j.tenant = "t"; }));
  EXPECT_TRUE(claimPinned(5, "w1", "a").empty());
  push(required("l"));
  EXPECT_TRUE(claimPinned(5, "w1", "a").empty()) << "others of its host may take it";
  const Job first = push(required("k")), second = push(required("k"));
  const auto claimed = claimPinned(5, "w1", "a");
  ASSERT_EQ(claimed.size(), 2U);
  EXPECT_EQ(claimed[0].id, first.id);
  EXPECT_EQ(claimed[1].id, second.id);
  EXPECT_TRUE(claimPinned(5, "w2", "a").empty());
  const auto rest = write([](Store& s) {
    WorkerTraits traits;
    traits.node = "a";
    return s.jobs().claim(*pool(s), "w1", traits, 5);
  });
  EXPECT_EQ(rest.size(), 3U) << "once it has less, it takes the others too";
}

TEST_P(PinTest, a_claim_tells_whether_the_job_was_pinned) {
  std::mutex mutex;
  std::vector<bool> pinned;  // of the claims, in their order
  storage.reset();
  place = GetParam().make();
  StorageOptions options;
  options.url = place->url();
  options.durability = GetParam().durability;
  options.rules = rules;
  options.own_clock = true;
  options.on_commit = [&](std::span<const Event> events) {
    const std::lock_guard lock(mutex);
    for (const Event& event : events) {
      if (event.type == event_type::kJobClaimed) pinned.push_back(event.pinned);
    }
  };
  storage = openStorage(options, clock).value();
  push();
  loopWorker("w1", "a", 9);
  bind("k", worker("w1"));
  bind("l", host("a"));
  push({.data = "1", .affinity = "of nobody yet"});
  const Job one = push(required("k"));
  push(required("k"));
  push(required("l"));
  claimOne(one.id, "w1").value();
  EXPECT_EQ(claim(9, "w1").size(), 4U);
  storage->stop();
  EXPECT_EQ(pinned, (std::vector<bool>{true, false, false, true, true}));
  reopen();
}

TEST_P(PinTest, what_is_pinned_to_a_host_is_as_if_placed_there) {
  bind("k", host("here"));
  push(required("k"));
  PoolStats now = stats();
  EXPECT_EQ(now.runnable, 1) << "somebody can be launched here";
  EXPECT_EQ(now.elsewhere, 0);
  EXPECT_EQ(now.pinned, 1);
  EXPECT_EQ(now.pinned_waiting, 0);
  loopWorker("w1", "there");
  bind("l", host("there"));
  push(required("l"));
  now = stats();
  EXPECT_EQ(now.runnable, 2);
  EXPECT_EQ(now.elsewhere, 1);
  EXPECT_EQ(now.unplaceable, 0);
}

TEST_P(PinTest, what_is_pinned_to_a_host_where_nobody_runs_is_unplaceable_with_a_sentence) {
  loopWorker("w1", "c");
  bind("k", host("c"));
  push(required("k"));
  write([](Store& s) {
    WorkerChange change;
    change.status = "terminated";
    s.workers().change(WorkerId("w1"), change).value();
  });
  const PoolStats now = stats();
  EXPECT_EQ(now.runnable, 0);
  EXPECT_EQ(now.unplaceable, 1);
  EXPECT_EQ(now.pinned_waiting, 1);
  ASSERT_EQ(now.unplaceable_jobs.size(), 1U);
  EXPECT_EQ(now.unplaceable_jobs[0].reason, "the key k is on host c, where nobody runs");
  EXPECT_EQ(now.unplaceable_jobs[0].placement, R"({"allowed_nodes":["c"]})");
  const auto all = read([](Store& s) { return s.pools().overview(); });
  EXPECT_EQ(all.at(0).stats.unplaceable, 1);
  EXPECT_EQ(all.at(0).stats.pinned, 1);
}

TEST_P(PinTest, pinned_jobs_use_the_places_of_their_worker_first) {
  loopWorker("w1", "a");
  bind("k", worker("w1"));
  push(required("k"));
  push();
  const ScaleState now = state();
  EXPECT_EQ(now.free_slots, 0) << "the one there is goes to the pinned job";
  EXPECT_EQ(now.launchable(), 1);
  EXPECT_EQ(check().to_launch, 1) << "for the other";
}

TEST_P(PinTest, nobody_is_launched_for_what_is_pinned_to_a_worker) {
  loopWorker("w1", "a");
  bind("k", worker("w1"));
  for (int i = 0; i < 5; ++i) push(required("k"));
  EXPECT_EQ(check().to_launch, 0);
}

TEST_P(PinTest, an_idle_worker_that_may_not_run_a_pinned_job_makes_room_for_one_that_may) {
  const auto move = [this](const std::string& id, const std::string& to) {
    write([&](Store& s) {
      static constexpr Sql kMove{"UPDATE workers SET host = $2 WHERE worker_id = $1"};
      s.session.db.execute(kMove, id, to);
    });
  };
  const std::string first = launchLoopWorker(), second = launchLoopWorker();
  move(first, "away");
  move(second, "away");
  bind("k", host("here"));
  push(required("k"));
  const ScaleDecision decision = check();
  EXPECT_EQ(decision.to_launch, 0);
  EXPECT_EQ(decision.to_drain, 1);
  EXPECT_EQ(decision.binding_limit, binding_limit::kMaxWorkers);
  EXPECT_EQ((statusOf(first) == "terminating") + (statusOf(second) == "terminating"), 1);
  EXPECT_EQ(check().to_drain, 0) << "one at a time: it has not gone yet";
}

TEST_P(PinTest, a_worker_that_is_waited_for_is_not_stopped) {
  const std::string kept = launchLoopWorker();
  launchLoopWorker();
  bind("k", worker(kept));
  push(required("k"));
  EXPECT_EQ(state().drainable, 1);
  for (int i = 0; i < 3; ++i) {
    check();
    clock.advance(40s);
    write([](Store& s) {
      for (const Worker& each : s.workers().list({}, "", 10).workers) {
        s.workers().heartbeat(each.id, {}).value();
      }
    });
  }
  EXPECT_EQ(statusOf(kept), "active");
}

TEST_P(PinTest, a_share_per_node_counts_pinned_jobs_too) {
  loopWorker("w1", "a", 3);
  loopWorker("w2", "a", 3);
  bind("k", worker("w1"));
  NewJob one = required("k");
  one.placement.max_parallel_per_node = 1;
  NewJob other{.data = "1"};
  other.placement.max_parallel_per_node = 1;
  push(one);
  push(other);
  EXPECT_EQ(claim(9, "w1").size(), 1U);
  EXPECT_EQ(claim(9, "w2").size(), 0U) << "the node has its share";
}

TEST_P(PinTest, a_tenants_limit_counts_pinned_jobs_too) {
  setPool(with<PoolSettings>([](auto& s) { s.per_tenant_concurrency = 1; }));
  loopWorker("w1", "a", 3);
  NewJob job = required("k");
  job.tenant = "t";
  push(job);
  const Job held = claim(9, "w1").at(0);
  const Job next = push(job);
  EXPECT_EQ(claim(9, "w1").size(), 0U);
  EXPECT_EQ(codeOf(claimOne(next.id, "w1")), ErrorCode::kNotClaimable);
  complete(held).value();
  EXPECT_EQ(claim(9, "w1").size(), 1U);
}

TEST_P(PinTest, a_key_of_a_worker_that_serves_another_pool_pins_nothing_here) {
  setPool({}, "q");
  registerWorker(with<NewWorker>([](auto& w) {
    w = newWorker("w1", "a", {}, "q");
    w.mode = "loop";
  }));
  bind("k", worker("w1"));
  NewJob preferred{.data = "1", .affinity = "k"};
  const Job free = push(preferred);
  EXPECT_EQ(claim(9, "w2").size(), 1U);
  EXPECT_EQ(job(free.id).claimed_by, "w2");
  bind("l", worker("w1"));
  const Job never = push(required("l"));
  EXPECT_EQ(job(never.id).status, JobStatus::kPoisoned);
  EXPECT_EQ(job(never.id).reason, "conflicting_pins");
  const auto refused =
      write([](Store& s) { return s.pins().check(*pool(s), required("l"), "", {}, ""); });
  EXPECT_EQ(codeOf(refused), ErrorCode::kConflictingPins);
}

TEST_P(PinTest, lanes_of_holders_are_forgotten_when_they_are_empty) {
  loopWorker("w1", "a");
  bind("k", worker("w1"));
  const Job done = push(required("k"));
  complete(claim(1, "w1").at(0)).value();
  const auto remove = [this] {
    return write([](Store& s) { return s.pools().removeEmptyLanes(100); });
  };
  EXPECT_GE(remove(), 0);
  write([&](Store& s) { EXPECT_TRUE(s.jobs().remove(done.id)); });
  EXPECT_GE(remove(), 1);
  push(required("k"));
  EXPECT_EQ(claim(1, "w1").size(), 1U);
}

TEST_P(PinTest, a_claim_asks_the_same_whatever_is_pinned_to_others) {
  constexpr int kOthers = 300;
  for (int i = 0; i < kOthers; ++i) {
    const std::string id = "o" + std::to_string(i);
    loopWorker(id, "host" + std::to_string(i));
    bind(id, worker(id));
    push(required(id));
  }
  const Job plain = push();
  EXPECT_EQ(stats().pinned, kOthers);
  write([&](Store& s) {
    const auto claimed = s.jobs().claim(*pool(s), "w", {}, 1);
    ASSERT_EQ(claimed.size(), 1U);
    EXPECT_EQ(claimed[0].id, plain.id);
    EXPECT_EQ(s.session.turns.find(PoolId("p")), nullptr) << "the one plain lane needs no turns";
    EXPECT_LE(s.session.lanes.at("p").open.size(), 2U);
  });
}

}  // namespace
}  // namespace muster::test
