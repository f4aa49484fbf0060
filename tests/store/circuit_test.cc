#include <set>
#include <thread>

#include "models/json/json_doc.h"
#include "tests/store/store_fixture.h"

namespace muster::test {
namespace {

using enum JobStatus;

class CircuitTest : public StoreTest {
 protected:
  CircuitTest() { setPool(guarded()); }

  static PoolSettings guarded() {
    return with<PoolSettings>([](auto& s) {
      s.circuit_failures = 3;
      s.circuit_window_seconds = 100;
      s.circuit_probe_seconds = 10;
      s.circuit_probe_cap_seconds = 30;
      s.retry_base_ms = 0;
      s.lease_seconds = 1000;
    });
  }
  CircuitRecord circuit() {
    return read([](Store& s) { return s.circuits().find(*s.pools().find(PoolId("p"))); });
  }
  CircuitState state() { return circuit().state(); }
  Job failOne(const std::string& error = "HTTP 503") {
    return fail(pushAndClaim(), failure(error)).value();
  }
  // Opens it, with `in_hand` more jobs given out before.
  std::vector<Job> open(int in_hand = 0) {
    std::vector<Job> held;
    for (int i = 0; i < in_hand; ++i) held.push_back(pushAndClaim());
    for (int i = 0; i < 3; ++i) failOne();
    EXPECT_EQ(state(), CircuitState::kOpen);
    return held;
  }
  Job probe(const std::string& worker = "w") {
    clock.advance(std::max<Millis>(circuit().probe_at - clock.now(), 0ms));
    const auto claimed = claim(5, worker);
    EXPECT_EQ(claimed.size(), 1U);
    return claimed.empty() ? Job() : claimed.front();
  }
  void reset() {
    write([](Store& s) { s.circuits().reset(PoolId("p"), "resumed"); });
  }
  std::vector<Event> circuitEvents() {
    std::vector<Event> events = eventsAfter(0);
    std::erase_if(events, [](const Event& e) { return !e.type.starts_with("pool.circuit_"); });
    return events;
  }
  Names circuitEventTypes() {
    Names types;
    for (const Event& event : circuitEvents()) types.push_back(event.type);
    return types;
  }
  static std::string detail(const Event& event, std::string_view name) {
    const auto doc = JsonDoc::parse(event.details);
    for (auto it = doc->root().begin(); it != doc->root().end(); ++it) {
      if (it.key() == name) return (*it).string().value_or(std::string((*it).raw()));
    }
    return "";
  }
};
MUSTER_ON_EVERY_BACKEND(CircuitTest);

TEST_P(CircuitTest, opensAtTheLastOfEnoughFailures) {
  failOne("HTTP 503 from 10.0.0.1"), failOne("HTTP 500 from 10.0.0.2");
  EXPECT_EQ(state(), CircuitState::kClosed);
  EXPECT_EQ(circuit().failures, 2);
  const auto before = lastEvent();
  const Job last = failOne("HTTP 429 from 10.0.0.3");
  EXPECT_EQ(state(), CircuitState::kOpen);
  EXPECT_EQ(last.status, kPending);
  EXPECT_EQ(last.attempts, 0) << "it is not the job that is at fault";
  EXPECT_TRUE(claim(10).empty());
  ASSERT_EQ(circuitEventTypes(), Names{"pool.circuit_opened"});
  EXPECT_EQ(eventTypesAfter(before),
            (Names{"job.created", "job.claimed", "job.failed", "pool.circuit_opened"}));
  const Event opened = circuitEvents().front();
  EXPECT_GT(opened.seq, before);
  EXPECT_EQ(opened.pool, "p");
  EXPECT_EQ(detail(opened, "error_class"), "HTTP # from #");
  EXPECT_EQ(detail(opened, "error"), "HTTP 503 from 10.0.0.1");
  EXPECT_EQ(detail(opened, "failures"), "3");
  EXPECT_EQ(detail(opened, "probe_at"), formatTime(clock.now() + 10s));
  EXPECT_EQ(detail(opened, "probe_failed"), "false");
}

TEST_P(CircuitTest, isNotThereUnlessItIsSwitchedOn) {
  setPool(with<PoolSettings>([](auto& s) { s.retry_base_ms = 0; }));
  for (int i = 0; i < 20; ++i) failOne();
  EXPECT_EQ(state(), CircuitState::kClosed);
  EXPECT_EQ(circuit().failures, 0);
  EXPECT_EQ(claim(100).size(), 20U);
}

TEST_P(CircuitTest, stayClosedWhileFailuresAreOfDifferentKinds) {
  failOne("HTTP 503"), failOne("HTTP 503"), failOne("disk full"), failOne("HTTP 503");
  failOne("HTTP 503");
  EXPECT_EQ(state(), CircuitState::kClosed);
  failOne("HTTP 503");
  EXPECT_EQ(state(), CircuitState::kOpen);
}

TEST_P(CircuitTest, goesByTheClassThatWorkersName) {
  for (const char* error : {"a", "b", "c"}) {
    FailureReport report = failure(error);
    report.error_class = "provider";
    fail(pushAndClaim(), report).value();
  }
  EXPECT_EQ(state(), CircuitState::kOpen);
  EXPECT_EQ(circuit().error_class, "provider");
}

TEST_P(CircuitTest, startsAgainAfterASuccess) {
  failOne(), failOne();
  complete(pushAndClaim()).value();
  EXPECT_EQ(circuit().failures, 0);
  failOne(), failOne();
  EXPECT_EQ(state(), CircuitState::kClosed);
  EXPECT_TRUE(circuitEvents().empty());
}

TEST_P(CircuitTest, countsWithinTheWindow) {
  failOne();
  clock.advance(60s);
  failOne();
  clock.advance(41s);
  failOne();
  EXPECT_EQ(state(), CircuitState::kClosed);
  EXPECT_EQ(circuit().failures, 2);
  clock.advance(59s);
  failOne();
  EXPECT_EQ(state(), CircuitState::kOpen) << "the last three lie within it";
}

TEST_P(CircuitTest, doesNotCountWhatIsNotAFailureOfItsOwn) {
  for (int i = 0; i < 4; ++i) release(pushAndClaim()).value();
  for (int i = 0; i < 4; ++i) {
    const Job job = pushAndClaim({.data = "1"}, "lost" + std::to_string(i));
    write([&](Store& s) { s.jobs().releaseByWorker(job.claimed_by, "worker_lost"); });
  }
  for (int i = 0; i < 4; ++i) {
    const Job job = pushAndClaim();
    fail(job, with<FailureReport>([](auto& r) { r.cancelled = true, r.error = "stopped"; }))
        .value();
    EXPECT_EQ(attempts(job.id).at(0).error_class, "");
  }
  for (int i = 0; i < 4; ++i) pushAndClaim();
  clock.advance(1001s);
  write([](Store& s) { s.jobs().expireLeases(10); });
  EXPECT_TRUE(circuit().isClean());
}

TEST_P(CircuitTest, givesBackTheTriesOfWhatFailsTheSameWayMeanwhile) {
  std::vector<Job> held = open(3);
  held.push_back(Job());
  NewJob once{.data = "1"};
  once.max_retries = 1;
  reset();
  held[3] = pushAndClaim(once);
  for (int i = 0; i < 3; ++i) failOne();
  const auto report = with<FailureReport>([](auto& r) {
    r.error = "HTTP 503";
    r.retryable = false;
  });
  for (int i : {0, 1, 3}) {
    const auto before = lastEvent();
    const Job job =
        fail(held[static_cast<std::size_t>(i)], i == 1 ? report : failure("HTTP 503")).value();
    EXPECT_EQ(job.status, kPending) << i;
    EXPECT_EQ(job.attempts, 0) << i;
    const auto events = eventsAfter(before);
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].type, "job.failed");
    EXPECT_EQ(detail(events[0], "excused"), "true");
    EXPECT_EQ(detail(events[0], "error_class"), "HTTP #");
    EXPECT_EQ(attempts(job.id).at(0).error_class, "HTTP #");
  }
  EXPECT_EQ(state(), CircuitState::kOpen);
  EXPECT_EQ(fail(held[2], failure("other"))->attempts, 1);
  EXPECT_EQ(state(), CircuitState::kClosed) << "another class closes it";
}

TEST_P(CircuitTest, letsOneJobGoWhenItIsTime) {
  open();
  clock.advance(10s - 1ms);
  EXPECT_TRUE(claim(10).empty());
  EXPECT_EQ(stats().runnable, 0);
  clock.advance(1ms);
  EXPECT_EQ(stats().runnable, 1);
  EXPECT_EQ(claim(10).size(), 1U);
  EXPECT_EQ(state(), CircuitState::kProbing);
  EXPECT_EQ(stats().runnable, 0);
  clock.advance(500s);
  EXPECT_TRUE(claim(10, "other").empty()) << "until it is decided";
}

TEST_P(CircuitTest, isClosedByTheSuccessOfTheProbe) {
  open();
  complete(probe()).value();
  EXPECT_TRUE(circuit().isClean());
  EXPECT_EQ(claim(10).size(), 2U);
  ASSERT_EQ(circuitEventTypes(), (Names{"pool.circuit_opened", "pool.circuit_closed"}));
  EXPECT_EQ(detail(circuitEvents()[1], "reason"), "success");
  EXPECT_EQ(detail(circuitEvents()[1], "error_class"), "HTTP #");
}

TEST_P(CircuitTest, isClosedByAnySuccess) {
  const auto held = open(1);
  const Job tried = probe();
  complete(held[0]).value();
  EXPECT_EQ(state(), CircuitState::kClosed);
  EXPECT_EQ(fail(tried, failure("HTTP 503"))->attempts, tried.attempts) << "an ordinary try again";
  EXPECT_EQ(circuit().failures, 1);
}

TEST_P(CircuitTest, waitsLongerWithEachProbeThatFails) {
  open();
  for (const Millis wait : {20s, 30s, 30s}) {
    const Job tried = probe();
    const Job failed = fail(tried, failure("HTTP 503")).value();
    EXPECT_EQ(failed.attempts, tried.attempts - 1);
    EXPECT_EQ(failed.status, kPending);
    EXPECT_EQ(circuit().probe_at, clock.now() + wait);
    EXPECT_TRUE(claim(10).empty());
  }
  EXPECT_EQ(circuitEventTypes(), Names(4, "pool.circuit_opened"));
  EXPECT_EQ(detail(circuitEvents()[3], "probe_failed"), "true");
}

TEST_P(CircuitTest, triesAnotherJobNextTime) {
  open();  // leaves three jobs behind
  std::set<std::string> tried;
  for (int i = 0; i < 3; ++i) {
    const Job job = probe();
    tried.insert(job.id.str());
    fail(job, failure("HTTP 503")).value();
  }
  EXPECT_EQ(tried.size(), 3U) << "a bad job at the head must not keep it open for ever";
}

TEST_P(CircuitTest, letsTheNextGoWhenTheProbeComesBackUndecided) {
  open();
  release(probe()).value();
  EXPECT_EQ(state(), CircuitState::kOpen);
  const Job lost = probe("lost");
  write([](Store& s) { s.jobs().releaseByWorker("lost", "worker_lost"); });
  EXPECT_EQ(job(lost.id).attempts, lost.attempts) << "a crash counts as ever";
  EXPECT_EQ(state(), CircuitState::kOpen);
  probe();
  clock.advance(1001s);
  write([](Store& s) { s.jobs().expireLeases(10); });
  EXPECT_EQ(state(), CircuitState::kOpen);
  const Job cancelled = probe();
  write([&](Store& s) { s.jobs().cancel(cancelled.id, "").value(); });
  fail(cancelled, failure("HTTP 503")).value();
  EXPECT_EQ(state(), CircuitState::kOpen);
  probe();
  purge({kClaimed});
  EXPECT_EQ(state(), CircuitState::kOpen);
  complete(probe()).value();
  EXPECT_EQ(state(), CircuitState::kClosed);
}

TEST_P(CircuitTest, saysWhyAJobCannotBeClaimed) {
  open();
  const Job one = push(), two = push();
  auto refused = claimOne(one.id);
  ASSERT_EQ(codeOf(refused), ErrorCode::kNotClaimable);
  EXPECT_NE(refused.error().detail.find("HTTP #"), std::string::npos) << refused.error().detail;
  EXPECT_NE(refused.error().detail.find(formatTime(clock.now() + 10s)), std::string::npos)
      << refused.error().detail;
  clock.advance(10s);
  const Job tried = claimOne(two.id).value();
  EXPECT_EQ(state(), CircuitState::kProbing);
  refused = claimOne(one.id);
  ASSERT_EQ(codeOf(refused), ErrorCode::kNotClaimable);
  EXPECT_NE(refused.error().detail.find(two.id.str()), std::string::npos) << refused.error().detail;
  complete(tried).value();
  EXPECT_TRUE(claimOne(one.id));
}

TEST_P(CircuitTest, isClosedByHand) {
  open();
  reset();
  EXPECT_TRUE(circuit().isClean());
  EXPECT_EQ(detail(circuitEvents().back(), "reason"), "resumed");
  EXPECT_EQ(claim(10).size(), 3U);
  const auto before = lastEvent();
  failOne(), reset(), reset();
  EXPECT_TRUE(circuit().isClean());
  EXPECT_EQ(eventTypesAfter(before).back(), "job.failed") << "it was not open";
}

TEST_P(CircuitTest, goesWithItsSwitchAndWithItsPool) {
  open();
  PoolSettings off = guarded();
  off.circuit_failures = 0;
  setPool(off);
  EXPECT_EQ(claim(10).size(), 3U);
  EXPECT_EQ(detail(circuitEvents().back(), "reason"), "switched_off");
  setPool(guarded());
  EXPECT_TRUE(circuit().isClean());
  open();
  purge({kPending, kClaimed, kPoisoned});
  EXPECT_TRUE(write([](Store& s) { return s.pools().remove(PoolId("p")); }));
  setPool(guarded());
  EXPECT_TRUE(circuit().isClean());
  push();
  EXPECT_EQ(claim().size(), 1U);
}

TEST_P(CircuitTest, isThatOfOnePool) {
  open();
  push({.data = "1"}, "q");
  const auto other = claim(1, "w", "q");
  ASSERT_EQ(other.size(), 1U);
  complete(other[0]).value();
  EXPECT_EQ(state(), CircuitState::kOpen);
}

TEST_P(CircuitTest, tellsTheCheckerHowManyJobsWillBeGivenOut) {
  const auto allows = [this] {
    return read(
        [](Store& s) { return s.scaling().state(*s.pools().find(PoolId("p"))).circuit_allows; });
  };
  EXPECT_EQ(allows(), std::nullopt);
  open();
  EXPECT_EQ(allows(), 0);
  clock.advance(10s);
  EXPECT_EQ(allows(), 1);
  const Job tried = probe();
  EXPECT_EQ(allows(), 0);
  complete(tried).value();
  EXPECT_EQ(allows(), std::nullopt);
}

TEST_P(CircuitTest, tellsWhenTheNextProbeMayGo) {
  const auto next = [this] {
    return share([](Store& s) { return s.circuits().nextProbe(*s.pools().find(PoolId("p"))); });
  };
  EXPECT_EQ(next(), std::nullopt);
  open();
  EXPECT_EQ(next(), clock.now() + 10s);
  const Job tried = probe();
  EXPECT_EQ(next(), std::nullopt) << "it depends on the one under way";
  fail(tried, failure("HTTP 503")).value();
  EXPECT_EQ(next(), clock.now() + 20s);
}

TEST_P(CircuitTest, whatWasUndoneDidNotHappen) {
  failOne(), failOne();
  const Job held = pushAndClaim();
  const auto undone = storage->writeAndWait([&](Store& s) {
    s.jobs().fail(held.id, {held.lease_token, ""}, failure("HTTP 503")).value();
    throw std::runtime_error("to be undone");
  });
  EXPECT_FALSE(undone);
  EXPECT_EQ(state(), CircuitState::kClosed);
  EXPECT_EQ(claim(10).size(), 2U);
  fail(held, failure("HTTP 503")).value();
  EXPECT_EQ(state(), CircuitState::kOpen);
}

TEST_P(CircuitTest, oneOfManyThatClaimAtOnceGetsTheProbe) {
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 8; ++i) push();
    open();
    clock.advance(10s);
    std::vector<std::vector<Job>> claimed(8);
    {
      std::vector<std::jthread> threads;
      for (std::size_t t = 0; t < claimed.size(); ++t) {
        threads.emplace_back(
            [&, t] { claimed[t] = claim(t % 2 == 0 ? 1 : 3, "w" + std::to_string(t)); });
      }
    }
    std::vector<Job> all;
    for (const auto& each : claimed) all.insert(all.end(), each.begin(), each.end());
    ASSERT_EQ(all.size(), 1U);
    complete(all[0]).value();
    purge({kPending, kDone});
  }
}

using CircuitKeptTest = CircuitTest;
MUSTER_ON_BACKENDS(CircuitKeptTest, backendsThat(&Backend::keeps_data));

TEST_P(CircuitKeptTest, aRestartFindsItAsItWas) {
  failOne(), failOne();
  reopen();
  failOne();
  EXPECT_EQ(state(), CircuitState::kOpen);
  const Job tried = probe();
  const CircuitRecord before = circuit();
  reopen();
  EXPECT_EQ(circuit(), before);
  EXPECT_TRUE(claim(10).empty());
  complete(tried).value();
  EXPECT_EQ(state(), CircuitState::kClosed);
}

class JobRetryTest : public StoreTest {};
MUSTER_ON_EVERY_BACKEND(JobRetryTest);

TEST_P(JobRetryTest, aJobOverridesWhatItNamesOfThePoolsPolicy) {
  setPool(with<PoolSettings>([](auto& s) {
    s.retry_base_ms = 1000;
    s.retry_cap_ms = 3000;
  }));
  struct Row {
    std::string_view retry;
    Millis first, third, fourth;
  };
  const Row table[] = {
      {"", 1s, 3s, 3s},
      {R"({"base_ms": 50})", 50ms, 200ms, 400ms},
      {R"({"cap_ms":1500})", 1s, 1500ms, 1500ms},
      {R"({"base_ms":0})", 0ms, 0ms, 0ms},
      {R"({"base_ms":2000,"cap_ms":86400000,"jitter":0})", 2s, 8s, 16s},
  };
  for (const Row& row : table) {
    for (const bool with_data : {true, false}) {
      NewJob given{.data = "1"};
      given.max_retries = 9;
      given.retry = row.retry;
      Job job = push(given);
      EXPECT_EQ(job.retry, row.retry);
      EXPECT_EQ(this->job(job.id).retry, row.retry);
      for (int i = 1; i <= 3; ++i) {
        clock.advance(1h);
        const Job held = claimOne(job.id).value();
        EXPECT_EQ(held.retry, row.retry);
        job = share([&](Store& s) {
                return s.jobs().fail(held.id, {held.lease_token, ""}, failure("x"), with_data);
              }).value();
        if (i == 1) {
          EXPECT_EQ(job.available_at, clock.now() + row.first) << row.retry;
        }
        if (i == 3) {
          EXPECT_EQ(job.available_at, clock.now() + row.third) << row.retry;
        }
      }
      clock.advance(1h);
      claimOne(job.id, "gone").value();
      write([](Store& s) { s.jobs().releaseByWorker("gone", "worker_lost"); });
      EXPECT_EQ(this->job(job.id).available_at, clock.now() + row.fourth) << row.retry;
    }
  }
}

}  // namespace
}  // namespace muster::test
