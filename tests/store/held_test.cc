#include "models/operations/affinities.h"
#include "models/operations/hosts.h"
#include "models/operations/resources.h"
#include "tests/store/ref_fixture.h"
#include "tests/store/resource_recount.h"
#include "tests/store/sqlite_statement_log.h"

namespace muster::test {
namespace {

// What workers have in memory.
class HeldTest : public RefFixture {
 protected:
  HeldTest() {
    rules.resources.max_mem_bytes = 1000;
    rules.resources.max_disk_bytes = 1000;
    reopen();
    loopWorker();
  }
  void TearDown() override {
    EXPECT_EQ(read(resourceCounterFaults), Names());
    RefFixture::TearDown();
  }

  template <class Op>
  auto act(const Op& op) {
    return write([&](Store& store) { return run(op, store); });
  }
  Worker loopWorker(const Names& resources = {}, const std::string& id = "w") {
    NewWorker worker = newWorker(id, "h");
    worker.mode = "loop";
    worker.resources = resources;
    return registerWorker(worker);
  }
  Resource hold(const std::string& id, const std::string& scope = "",
                std::optional<std::int64_t> mem_bytes = {}, const std::string& uri = "") {
    NewResource made;
    made.id = id;
    made.type = "session";
    made.holder = {Holder::Kind::kWorker, "w"};
    made.scope = scope;
    made.mem_bytes = mem_bytes;
    made.uri = uri;
    made.ttl = Millis(std::chrono::hours(24));
    return act(RegisterResource{made}).value().resource;
  }
  Heartbeat beat(const WorkerChange& change = {}, const std::string& id = "w") {
    const auto unit = [&](Store& s) { return s.workers().heartbeat(WorkerId(id), change); };
    return (Workers::changesResources(change, rules.resources) ? write(unit) : share(unit)).value();
  }
  static WorkerChange removed(const Names& names) {
    return with<WorkerChange>([&](auto& c) { c.removed = names; });
  }
  static WorkerChange inMemory(std::int64_t bytes) {
    return with<WorkerChange>([&](auto& c) {
      c.metrics = "{}";
      c.use.mem_bytes = bytes;
    });
  }
  // "evict a,b" or "SCOPE a,b", each.
  static Names told(const std::vector<ResourceCommand>& commands) {
    Names texts;
    for (const ResourceCommand& command : commands) {
      std::string text = (command.scope.empty() ? "evict" : command.scope) + " ";
      for (const std::string& id : command.ids) text += id + ",";
      text.pop_back();
      texts.push_back(text);
    }
    return texts;
  }
  void end(const std::string& status) {
    const auto change = with<WorkerChange>([&](auto& c) { c.status = status; });
    write([&](Store& s) { return s.workers().change(WorkerId("w"), change); }).value();
  }
  // The reaper finds it silent.
  void reap() {
    clock.advance(61s);
    EXPECT_EQ(write([](Store& s) { return s.workers().stale("", {}, true, 10); }).workers,
              Names{"w"});
  }
  TendHolders::Reply tend() { return act(TendHolders{}).value(); }
};
MUSTER_ON_EVERY_BACKEND(HeldTest);

TEST_P(HeldTest, a_silent_worker_has_a_grace_before_what_it_held_is_lost) {
  hold("r");
  const Job waits = pushRefs({"r"});
  const auto before = lastEvent();
  reap();
  EXPECT_EQ(seen("r"), "stale 1");
  EXPECT_EQ(eventTypesAfter(before), (Names{"resource.stale", "worker.lost"}));
  clock.advance(59s);
  tend();
  EXPECT_EQ(seen("r"), "stale 1");
  EXPECT_EQ(job(waits.id).status, JobStatus::kPending);
  clock.advance(1s);
  const auto at_the_end = lastEvent();
  EXPECT_GT(tend().changed, 0);
  EXPECT_EQ(seen("r"), "lost worker_lost");
  EXPECT_EQ(job(waits.id).status, JobStatus::kPoisoned);
  EXPECT_EQ(job(waits.id).reason, "resource_lost");
  EXPECT_EQ(eventTypesAfter(at_the_end), (Names{"resource.lost", "job.poisoned"}));
  EXPECT_EQ(tend().changed, 0) << "once";
}

TEST_P(HeldTest, a_job_that_runs_goes_on_without_what_it_refers_to) {
  NewResource given;
  given.id = "r";
  given.type = "file";
  given.holder = parseHolder("external").value();
  act(RegisterResource{given}).value();
  const Job runs = claimId(pushRefs({"r"}).id);
  act(DeleteResource{"r", true, {.is_admin = true}}).value();
  EXPECT_TRUE(complete(runs));
}

TEST_P(HeldTest, a_worker_that_is_proven_dead_has_no_grace) {
  hold("a");
  end("terminated");
  EXPECT_EQ(seen("a"), "lost worker_lost");
  loopWorker();
  hold("b");
  write([](Store& s) { s.launches().proveDead(WorkerId("w")); });
  EXPECT_EQ(seen("b"), "lost worker_lost");
  EXPECT_EQ(tend().changed, 0);
}

TEST_P(HeldTest, a_worker_that_is_only_said_to_be_lost_has_a_grace) {
  hold("r");
  end("lost");
  EXPECT_EQ(seen("r"), "stale 0");
}

TEST_P(HeldTest, a_worker_that_comes_back_keeps_what_it_names) {
  hold("kept");
  const Resource by_uid = hold("kept-by-uid");
  hold("dropped"), hold("going"), hold("in-cloud", "", {}, "s3://b/k");
  act(DeleteResource{"going"}).value();
  const Job waits = pushRefs({"dropped"});
  reap();
  const auto before = lastEvent();
  loopWorker({"kept", by_uid.uid, "never-seen"});
  EXPECT_EQ(seen("kept"), "active 0");
  EXPECT_EQ(seen("kept-by-uid"), "active 0");
  EXPECT_EQ(seen("dropped"), "lost not_held");
  EXPECT_EQ(seen("going"), "evicted deleted");
  EXPECT_EQ(seen("in-cloud"), "active 0") << "there is a copy";
  EXPECT_EQ(resource("in-cloud").holder, (Holder{Holder::Kind::kExternal, ""}));
  EXPECT_EQ(job(waits.id).reason, "resource_lost");
  const Names types = eventTypesAfter(before);
  EXPECT_EQ(std::count(types.begin(), types.end(), "resource.recovered"), 3);
  EXPECT_EQ(std::count(types.begin(), types.end(), "resource.lost"), 1);
  clock.advance(10min);
  tend();
  EXPECT_EQ(seen("kept"), "active 0") << "the grace is over for nobody any more";
}

TEST_P(HeldTest, a_worker_that_was_not_missed_says_what_it_still_has) {
  hold("a"), hold("b");
  const auto before = lastEvent();
  loopWorker({"b"});
  EXPECT_EQ(seen("a"), "lost not_held");
  EXPECT_EQ(seen("b"), "active 0");
  EXPECT_EQ(eventTypesAfter(before), (Names{"resource.lost", "worker.registered"}));
  loopWorker();
  EXPECT_EQ(seen("b"), "lost not_held");
}

TEST_P(HeldTest, what_was_lost_does_not_come_back) {
  hold("r");
  reap();
  clock.advance(60s);
  tend();
  loopWorker({"r"});
  EXPECT_EQ(seen("r"), "lost worker_lost");
}

TEST_P(HeldTest, more_than_a_step_goes_step_by_step) {
  write([](Store& store) {
    for (int i = 0; i < 1500; ++i) {
      NewResource made;
      made.type = "session";
      made.holder = {Holder::Kind::kWorker, "w"};
      run(RegisterResource{made}, store).value();
    }
  });
  const auto count = [this](ResourceState state) {
    std::int64_t found = 0;
    const auto reply = read([](Store& s) { return run(CountResources{}, s); }).value();
    for (const auto& entry : reply.counts) {
      if (entry.state == state) found += entry.count;
    }
    return found;
  };
  reap();
  EXPECT_EQ(count(ResourceState::kStale), 1000);
  EXPECT_EQ(tend().changed, 500);
  EXPECT_EQ(count(ResourceState::kStale), 1500);
  clock.advance(60s);
  EXPECT_TRUE(tend().more);
  EXPECT_EQ(count(ResourceState::kStale), 500);
  tend();
  EXPECT_EQ(count(ResourceState::kStale), 0);
  EXPECT_FALSE(tend().more);
}

TEST_P(HeldTest, many_readers_end_step_by_step) {
  hold("r");
  write([](Store& store) {
    PushJobs op{PoolId("p"), {}};
    for (int i = 0; i < 2300; ++i) op.jobs.push_back(referring({"r"}));
    ASSERT_TRUE(run(op, store));
  });
  end("terminated");
  EXPECT_EQ(seen("r"), "lost worker_lost");
  EXPECT_GT(stats().pending, 0);
  while (act(ExpireResources{}).value() > 0) {
  }
  while (write([](Store& store) { return run(TendPins{}, store); }).value() > 0) {
  }
  EXPECT_EQ(stats().pending, 0);
  EXPECT_EQ(stats().poisoned, 2300);
}

TEST_P(HeldTest, a_worker_is_told_to_evict_until_it_says_that_it_has) {
  hold("a"), hold("b");
  EXPECT_EQ(told(beat().commands), Names());
  act(DeleteResource{"a"}).value();
  EXPECT_EQ(told(beat().commands), Names{"evict a"});
  EXPECT_EQ(told(beat().commands), Names{"evict a"});
  EXPECT_EQ(told(read([](Store& s) { return s.workers().commandsOf(WorkerId("w")); })),
            Names{"evict a"});
  EXPECT_EQ(told(beat(removed({"a", "never-seen"})).commands), Names());
  EXPECT_EQ(seen("a"), "evicted deleted");
  EXPECT_EQ(seen("b"), "active 0");
  beat(removed({"a"}));
}

TEST_P(HeldTest, a_released_scope_is_a_command_of_its_own) {
  hold("a", "flow:1"), hold("b", "flow:2"), hold("c"), hold("d", "flow:1");
  act(ReleaseScope{"flow:1"}).value(), act(ReleaseScope{"flow:2"}).value();
  act(DeleteResource{"c"}).value();
  EXPECT_EQ(told(beat().commands), (Names{"flow:1 a,d", "flow:2 b", "evict c"}));
  beat(removed({"a", "b", "c", "d"}));
  EXPECT_EQ(seen("d"), "evicted scope_released");
}

TEST_P(HeldTest, what_is_in_use_is_not_to_be_evicted_yet) {
  hold("leased", "s"), hold("named", "s");
  const auto lease = act(LeaseResource{.name = "leased", .worker = "w"}).value();
  const Job reads = claimId(pushRefs({"named"}).id);
  act(ReleaseScope{"s"}).value();
  EXPECT_EQ(told(beat().commands), Names());
  act(ReleaseResource{"leased", lease.lease_id}).value();
  EXPECT_EQ(told(beat().commands), Names{"s leased"});
  complete(reads).value();
  EXPECT_EQ(told(beat().commands), Names{"s leased,named"});
}

TEST_P(HeldTest, a_hundred_are_named_at_once) {
  for (int i = 0; i < 103; ++i) hold("r" + std::to_string(i), "s");
  act(ReleaseScope{"s"}).value();
  const auto commands = beat().commands;
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(commands[0].ids.size(), 100U);
  EXPECT_EQ(beat(removed(commands[0].ids)).commands[0].ids, (Names{"r100", "r101", "r102"}));
}

TEST_P(HeldTest, a_worker_reports_what_it_evicted_by_itself) {
  hold("idle"), hold("named"), hold("leased");
  const Job waits = pushRefs({"named"});
  act(LeaseResource{.name = "leased", .worker = "w"}).value();
  beat(removed({"idle", "named", "leased"}));
  EXPECT_EQ(seen("idle"), "evicted released");
  EXPECT_EQ(seen("named"), "lost not_held");
  EXPECT_EQ(seen("leased"), "lost not_held");
  EXPECT_EQ(job(waits.id).reason, "resource_lost");
}

TEST_P(HeldTest, a_worker_speaks_for_what_it_holds_only) {
  hold("r");
  loopWorker({}, "other");
  beat(removed({"r"}), "other");
  EXPECT_EQ(seen("r"), "active 0");
}

TEST_P(HeldTest, above_the_high_watermark_the_longest_unused_go) {
  hold("old", "", 300);
  clock.advance(1s);
  hold("named", "", 300), hold("newer", "", 300), hold("newest", "", 100);
  pushRefs({"named"});
  EXPECT_EQ(told(beat(inMemory(900)).commands), Names()) << "not above it";
  clock.advance(1s);
  act(TouchResource{"newest"}).value();
  EXPECT_EQ(told(beat(inMemory(1000)).commands), Names{"evict old"}) << "down to 800";
  EXPECT_EQ(resource("old").reason, "pressure");
  EXPECT_EQ(told(beat(inMemory(1000)).commands), Names{"evict old"}) << "it counts as gone";
  auto next = inMemory(1200);
  next.removed = {"old"};
  EXPECT_EQ(told(beat(next).commands), Names{"evict newer,newest"});
  EXPECT_EQ(seen("named"), "active 1");
}

TEST_P(HeldTest, one_of_unknown_size_goes_alone) {
  hold("a"), hold("b");
  EXPECT_EQ(told(beat(inMemory(2000)).commands), Names{"evict a"});
  EXPECT_EQ(told(beat(inMemory(2000)).commands), Names{"evict a"});
  auto next = inMemory(2000);
  next.removed = {"a"};
  EXPECT_EQ(told(beat(next).commands), Names{"evict b"});
}

TEST_P(HeldTest, a_worker_over_its_limit_is_known_to_claims) {
  const auto is_over = [this] {
    const auto claimer = read([](Store& s) { return s.workers().claimer(WorkerId("w")); }).value();
    return isOverLimit(claimer.use, rules.resources.workerLimits());
  };
  EXPECT_FALSE(is_over());
  beat(inMemory(1001));
  EXPECT_TRUE(is_over());
  beat();
  EXPECT_TRUE(is_over()) << "a heartbeat without metrics says nothing";
  beat(inMemory(1000));
  EXPECT_FALSE(is_over());
  beat(with<WorkerChange>([](auto& c) {
    c.metrics = "{}";
    c.use.disk_bytes = 1001;
  }));
  EXPECT_TRUE(is_over());
  loopWorker();
  EXPECT_FALSE(is_over()) << "a new incarnation has said nothing";
}

TEST_P(HeldTest, live_workers_are_summed_by_pool) {
  registerWorker(newWorker("v", "h", {}, "q"));
  loopWorker({}, "x");
  beat(inMemory(10)), beat(inMemory(20), "x"), beat(inMemory(5), "v");
  const auto by_pool = [this] {
    std::map<std::string, std::int64_t> found;
    const auto sums = read([](Store& s) { return run(SumWorkerResources{}, s); }).value();
    for (const auto& sum : sums) found[sum.pool] = sum.mem_bytes;
    return found;
  };
  EXPECT_EQ(by_pool(), (std::map<std::string, std::int64_t>{{"p", 30}, {"q", 5}}));
  end("terminated");
  EXPECT_EQ(by_pool(), (std::map<std::string, std::int64_t>{{"p", 20}, {"q", 5}}));
}

TEST_P(HeldTest, the_record_of_a_worker_stays_while_it_holds_something) {
  hold("r");
  reap();
  const auto remove_ended = [this] {
    return write([](Store& s) { return s.workers().removeEnded(s.now() + Seconds(1), 10); });
  };
  EXPECT_EQ(remove_ended(), 0);
  EXPECT_TRUE(write([](Store& s) { return s.workers().remove(WorkerId("w")); }));
  EXPECT_EQ(seen("r"), "lost worker_lost") << "somebody has forgotten it";
  loopWorker();
  hold("s");
  end("terminated");
  EXPECT_EQ(remove_ended(), 1);
}

TEST_P(HeldTest, a_lost_worker_whose_process_is_seen_to_end_has_no_more_grace) {
  PoolSettings settings;
  rules.templates = {{"echo", {.version = "v1"}}};
  settings.template_name = "echo";
  reopen();
  setPool(settings);
  const LaunchOrder order =
      write([](Store& s) { return s.launches().order(*s.pools().find(PoolId("p")), Seconds(30)); });
  NewWorker launched = newWorker(order.worker.str(), "h");
  launched.mode = "loop";
  write([&](Store& s) { return s.launches().admit(launched, order.token); }).value();
  NewResource made;
  made.id = "r";
  made.type = "session";
  made.holder = {Holder::Kind::kWorker, order.worker.str()};
  act(RegisterResource{made}).value();
  clock.advance(61s);
  write([](Store& s) { return s.workers().stale("", {}, true, 10); });
  EXPECT_EQ(seen("r"), "stale 0");
  write([&](Store& s) { return s.launches().exited(order.worker, {}); });
  EXPECT_EQ(seen("r"), "lost worker_lost");
}

// What is in the way of everybody who holds nothing.
TEST(HeldStatementsTest, a_worker_that_holds_nothing_costs_no_statement_more) {
  const Folder folder;
  const FakeClock clock;
  StatementLog log;
  StorageOptions options;
  options.url = "sqlite:" + folder.file("muster.db");
  const auto storage = openStorage(options, clock).value();
  const auto write = [&](const Storage::Unit& unit) {
    const Status status = storage->writeAndWait(unit);
    ASSERT_TRUE(status) << status.error().detail;
  };
  write([](Store& s) {
    NewWorker worker = newWorker("w", "h");
    worker.mode = "loop";
    s.workers().registerWorker(worker);
    s.jobs().push(*s.pools().findOrCreate(PoolId("p")).value(), {.data = "1"});
  });
  const auto before = log.count("resources");
  const auto beat_and_claim = [&] {
    write([](Store& s) {
      WorkerChange change;
      change.metrics = "{}";
      change.use.mem_bytes = 5;
      s.workers().heartbeat(WorkerId("w"), change).value();
      const auto claimer = s.workers().claimer(WorkerId("w")).value();
      s.jobs().claim(*s.pools().find(PoolId("p")), "w", claimer.traits, 1);
      s.workers().change(WorkerId("w"), {}).value();
    });
  };
  beat_and_claim();
  EXPECT_EQ(log.count("resources"), before);
  write([](Store& s) {
    NewResource made;
    made.type = "session";
    made.holder = {Holder::Kind::kWorker, "w"};
    run(RegisterResource{made}, s).value();
  });
  const auto holding = log.count("resources");
  beat_and_claim();
  EXPECT_EQ(log.count("resources"), holding + 1) << "one look for commands";
}

}  // namespace
}  // namespace muster::test
