#include <thread>

#include "models/json/json_doc.h"
#include "tests/store/store_fixture.h"

namespace muster::test {
namespace {

class WorkerTest : public StoreTest {
 protected:
  Result<Heartbeat> heartbeat(const std::string& id, const WorkerChange& change = {}) {
    return write([&](Store& s) { return s.workers().heartbeat(WorkerId(id), change); });
  }
  Result<Worker> change(const std::string& id, const WorkerChange& change,
                        std::optional<std::int64_t> if_version = {}) {
    return write([&](Store& s) { return s.workers().change(WorkerId(id), change, if_version); });
  }
  static WorkerChange status(const std::string& status) {
    return with<WorkerChange>([&](auto& c) { c.status = status; });
  }
  static WorkerChange metadata(const std::string& json) {
    return with<WorkerChange>([&](auto& c) { c.metadata = json; });
  }
  Worker worker(const std::string& id) {
    return read([&](Store& s) { return s.workers().find(WorkerId(id)); }).value();
  }
  Names list(const WorkerFilter& filter, int limit = 200) {
    Names ids;
    std::string cursor;
    do {
      const auto page = read([&](Store& s) { return s.workers().list(filter, cursor, limit); });
      EXPECT_LE(page.workers.size(), static_cast<std::size_t>(limit));
      for (const Worker& each : page.workers) ids.push_back(each.id.str());
      cursor = page.next_cursor;
    } while (!cursor.empty());
    return ids;
  }
};
MUSTER_ON_EVERY_BACKEND(WorkerTest);

TEST_P(WorkerTest, aRegisteredWorkerIsActive) {
  NewWorker given = newWorker("w", "box", {"gpu"});
  given.pid = 42;
  given.executor_types = {"shell"};
  given.slots = 4;
  given.mode = "loop";
  given.region = "eu";
  given.started_at = clock.now() - 1s;
  given.metadata = R"({"a":1})";
  const auto before = lastEvent();
  const Worker answer = registerWorker(given);
  for (const Worker& seen : {answer, worker("w")}) {
    EXPECT_EQ(seen.status, "active");
    EXPECT_EQ(seen.pool, "p");
    EXPECT_EQ(seen.host, "box");
    EXPECT_EQ(seen.pid, 42);
    EXPECT_EQ(seen.capabilities, Names{"gpu"});
    EXPECT_EQ(seen.executor_types, Names{"shell"});
    EXPECT_EQ(seen.slots, 4);
    EXPECT_EQ(seen.mode, "loop");
    EXPECT_EQ(seen.region, "eu");
    EXPECT_EQ(seen.started_at, clock.now() - 1s);
    EXPECT_EQ(seen.last_heartbeat, clock.now());
    EXPECT_EQ(seen.metadata, R"({"a":1})");
    EXPECT_EQ(seen.metrics, "{}");
    EXPECT_EQ(seen.version, 1);
  }
  EXPECT_EQ(eventTypesAfter(before), Names{"worker.registered"});
}

TEST_P(WorkerTest, aWorkerWithoutAnIdGetsOne) {
  const Worker first = registerWorker({}), second = registerWorker({});
  EXPECT_TRUE(isValidId(first.id.str()));
  EXPECT_NE(first.id, second.id);
  EXPECT_EQ(first.metadata, "{}");
}

TEST_P(WorkerTest, registeringAgainIsANewIncarnation) {
  NewWorker given = newWorker("w");
  given.metadata = R"({"old":1})";
  registerWorker(given);
  change("w", with<WorkerChange>([](auto& c) {
           c.status = "terminating";
           c.current_task = "t";
         }))
      .value();
  const Job held = pushAndClaim();
  const Worker again = registerWorker(newWorker("w", "other-box"));
  EXPECT_EQ(again.status, "active");
  EXPECT_EQ(again.host, "other-box");
  EXPECT_EQ(again.metadata, "{}");
  EXPECT_TRUE(again.current_task.empty());
  EXPECT_GT(again.version, 1);
  const Job freed = job(held.id);
  EXPECT_EQ(freed.status, JobStatus::kPending);
  EXPECT_EQ(freed.attempts, 1) << "the try stays counted";
  EXPECT_EQ(codeOf(complete(held)), ErrorCode::kLeaseLost);
}

TEST_P(WorkerTest, anEndedWorkerMayRegisterAnew) {
  for (const char* end : {"terminated", "lost"}) {
    registerWorker(newWorker("w"));
    change("w", status(end)).value();
    EXPECT_EQ(registerWorker(newWorker("w")).status, "active");
    EXPECT_TRUE(worker("w").status_reason.empty());
    EXPECT_TRUE(heartbeat("w"));
  }
}

TEST_P(WorkerTest, aHeartbeatKeepsItFresh) {
  registerWorker(newWorker("w"));
  clock.advance(20s);
  EXPECT_EQ(heartbeat("w")->status, "active");
  EXPECT_EQ(worker("w").last_heartbeat, clock.now());
  EXPECT_EQ(codeOf(heartbeat("never-seen")), ErrorCode::kNotFound);
}

TEST_P(WorkerTest, aHeartbeatMergesMetadataAndReplacesMetrics) {
  registerWorker(newWorker("w"));
  heartbeat("w", metadata(R"({"a":1,"b":{"x":1}})")).value();
  heartbeat("w", metadata(R"({"b":{"y":2},"c":3})")).value();
  EXPECT_EQ(worker("w").metadata, R"({"a":1,"b":{"y":2},"c":3})");
  heartbeat("w", metadata(R"({"a":null})")).value();
  heartbeat("w").value();
  EXPECT_EQ(worker("w").metadata, R"({"b":{"y":2},"c":3})");
  const auto metrics = [](std::string json) {
    return with<WorkerChange>([&](auto& c) { c.metrics = json; });
  };
  heartbeat("w", metrics(R"({"cpu":1})")).value();
  heartbeat("w", metrics(R"({"ram":2})")).value();
  heartbeat("w").value();
  EXPECT_EQ(worker("w").metrics, R"({"ram":2})");
}

TEST_P(WorkerTest, concurrentMergesLoseNothing) {
  registerWorker(newWorker("w"));
  constexpr int kThreads = 4, kEach = 25;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([this, t] {
        for (int i = 0; i < kEach; ++i) {
          const auto key = "k" + std::to_string(t) + "_" + std::to_string(i);
          heartbeat("w", metadata("{\"" + key + "\":" + std::to_string(i) + "}")).value();
        }
      });
    }
  }
  const std::string merged = worker("w").metadata;
  EXPECT_EQ(JsonDoc::parse(merged)->root().size(), static_cast<std::size_t>(kThreads * kEach));
}

TEST_P(WorkerTest, aHeartbeatNeverRevives) {
  for (const char* end : {"terminated", "lost"}) {
    registerWorker(newWorker(end));
    change(end, status(end)).value();
    const Worker ended = worker(end);
    clock.advance(1s);
    EXPECT_EQ(codeOf(heartbeat(end, metadata(R"({"a":1})"))), ErrorCode::kGone) << end;
    EXPECT_EQ(worker(end).status, end);
    EXPECT_EQ(worker(end).last_heartbeat, ended.last_heartbeat);
    EXPECT_EQ(worker(end).metadata, "{}");
  }
}

TEST_P(WorkerTest, aTerminatingWorkerLearnsOfItAndKeepsItsJob) {
  registerWorker(newWorker("w"));
  const Job held = pushAndClaim();
  const auto before = lastEvent();
  change("w", status("terminating")).value();
  change("w", status("terminating")).value();
  EXPECT_EQ(eventTypesAfter(before), Names{"worker.terminating"});
  EXPECT_EQ(heartbeat("w")->status, "terminating");
  EXPECT_EQ(read([](Store& s) { return s.workers().claimer(WorkerId("w")); })->status,
            "terminating");
  EXPECT_TRUE(complete(held));
}

TEST_P(WorkerTest, settingTerminatedFreesItsClaims) {
  registerWorker(newWorker("w"));
  const Job held = pushAndClaim();
  const auto before = lastEvent();
  EXPECT_EQ(change("w", status("terminated"))->status, "terminated");
  EXPECT_EQ(job(held.id).status, JobStatus::kPending);
  EXPECT_EQ(job(held.id).attempts, 1);
  EXPECT_EQ(eventTypesAfter(before), (Names{"job.reassigned", "worker.terminated"}));
}

TEST_P(WorkerTest, anEndedWorkerIsFinal) {
  registerWorker(newWorker("w"));
  change("w", status("terminated")).value();
  const Worker ended = worker("w");
  for (const char* next : {"active", "lost", "napping"}) {
    EXPECT_EQ(codeOf(change("w", status(next))), ErrorCode::kGone) << next;
  }
  EXPECT_EQ(codeOf(change("w", metadata("{}"))), ErrorCode::kGone);
  EXPECT_TRUE(change("w", status("terminated"))) << "its own status again is no change";
  EXPECT_EQ(worker("w").version, ended.version);
  EXPECT_EQ(codeOf(read([](Store& s) { return s.workers().claimer(WorkerId("w")); })),
            ErrorCode::kGone);
}

TEST_P(WorkerTest, anUnknownStatusIsKept) {
  registerWorker(newWorker("w"));
  EXPECT_EQ(change("w", status("napping"))->status, "napping");
  EXPECT_EQ(heartbeat("w")->status, "napping");
  EXPECT_EQ(change("w", status("active"))->status, "active");
}

TEST_P(WorkerTest, aChangeMergesAndIsGuardedByTheVersion) {
  registerWorker(newWorker("w"));
  const auto both = with<WorkerChange>([](auto& c) {
    c.metadata = R"({"a":1})";
    c.current_task = "t1";
  });
  EXPECT_EQ(codeOf(change("w", both, 7)), ErrorCode::kVersionMismatch);
  const Worker changed = change("w", both, 1).value();
  EXPECT_EQ(changed.version, 2);
  EXPECT_EQ(changed.current_task, "t1");
  EXPECT_EQ(change("w", metadata(R"({"b":2})"))->metadata, R"({"a":1,"b":2})");
  EXPECT_EQ(change("w", with<WorkerChange>([](auto& c) { c.current_task = ""; }))->current_task,
            "");
  EXPECT_EQ(codeOf(change("never-seen", both)), ErrorCode::kNotFound);
}

TEST_P(WorkerTest, onlyAnEndedWorkerIsForgotten) {
  const auto remove = [this](const std::string& id) {
    return write([&](Store& s) { return s.workers().remove(WorkerId(id)); });
  };
  registerWorker(newWorker("w"));
  EXPECT_EQ(codeOf(remove("w")), ErrorCode::kWorkerActive);
  change("w", status("terminating")).value();
  EXPECT_EQ(codeOf(remove("w")), ErrorCode::kWorkerActive);
  change("w", status("terminated")).value();
  EXPECT_TRUE(remove("w"));
  EXPECT_EQ(codeOf(remove("w")), ErrorCode::kNotFound);
}

TEST_P(WorkerTest, forgettingIsGuardedByTheVersion) {
  registerWorker(newWorker("w"));
  const auto version = change("w", status("terminated"))->version;
  const auto remove = [this](std::int64_t if_version) {
    return write([&](Store& s) { return s.workers().remove(WorkerId("w"), if_version); });
  };
  EXPECT_EQ(codeOf(remove(version - 1)), ErrorCode::kVersionMismatch);
  EXPECT_TRUE(remove(version));
}

TEST_P(WorkerTest, aWorkerThatNamesNoRegionIsInTheServicesOwn) {
  rules.region = "eu";
  reopen();
  EXPECT_EQ(registerWorker(newWorker("w")).region, "eu");
  NewJob here{.data = "1"}, there{.data = "1"};
  here.placement.region = "eu";
  there.placement.region = "us";
  push(there);
  const Job job = push(here);
  EXPECT_EQ(idsOf(claim(5, "unregistered")), idsOf({job}));
}

TEST_P(WorkerTest, anUnregisteredWorkerMayClaimUnlessTheRulesAreStrict) {
  const auto claimer = [this] {
    return read([](Store& s) { return s.workers().claimer(WorkerId("never-seen")); });
  };
  EXPECT_TRUE(claimer()->status.empty());
  rules.strict_workers = true;
  reopen();
  EXPECT_EQ(codeOf(claimer()), ErrorCode::kWorkerUnknown);
  registerWorker(newWorker("w"));
  EXPECT_EQ(read([](Store& s) { return s.workers().claimer(WorkerId("w")); })->status, "active");
}

TEST_P(WorkerTest, listFiltersByStatusPoolCapabilityAndSilence) {
  registerWorker(newWorker("a", "", {"gpu"}));
  registerWorker(newWorker("b", "", {"gpu=x"}));
  registerWorker(newWorker("c", "", {"GPU"}, "q"));
  registerWorker(newWorker("d", "", {}, ""));
  clock.advance(30s);
  heartbeat("b").value();
  change("a", status("terminating")).value();
  change("c", status("lost")).value();
  const auto by = [](auto set) { return with<WorkerFilter>(set); };
  EXPECT_EQ(list({}), (Names{"a", "b", "c", "d"}));
  EXPECT_EQ(list(by([](auto& f) { f.statuses = {"active"}; })), (Names{"b", "d"}));
  EXPECT_EQ(list(by([](auto& f) { f.statuses = {"lost", "terminating"}; })), (Names{"a", "c"}));
  EXPECT_EQ(list(by([](auto& f) { f.pool = "p"; })), (Names{"a", "b"}));
  EXPECT_EQ(list(by([](auto& f) { f.capability = "gpu"; })), Names{"a"});
  EXPECT_EQ(list(by([](auto& f) { f.stale_threshold = 30s; })), Names{}) << "at the edge";
  EXPECT_EQ(list(by([](auto& f) { f.stale_threshold = 29s; })), (Names{"a", "c", "d"}));
  EXPECT_EQ(list(by([](auto& f) { f.statuses = {"active"}, f.pool = "p"; })), Names{"b"});
}

TEST_P(WorkerTest, listIsPagedAlsoWhenFiltersPassOverMany) {
  Names gpu;
  write([&](Store& s) {
    gpu.clear();
    for (int i = 1000; i < 2200; ++i) {
      const std::string id = "w" + std::to_string(i);
      s.workers().registerWorker(newWorker(id, "", i % 100 == 99 ? Names{"gpu"} : Names{}));
      if (i % 100 == 99) gpu.push_back(id);
    }
  });
  EXPECT_EQ(list({}, 7).size(), 1200U);
  EXPECT_EQ(list(with<WorkerFilter>([](auto& f) { f.capability = "gpu"; }), 5), gpu);
  EXPECT_EQ(list(with<WorkerFilter>([](auto& f) { f.capability = "gpu"; }), 12), gpu);
}

}  // namespace
}  // namespace muster::test
