// What PostgreSQL has to do beyond what every store does: several services on one database.
#include "models/store/postgres/postgres_storage.h"

#include <atomic>
#include <filesystem>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "tests/store/store_fixture.h"
#include "tests/support/eventually.h"
#include "tests/support/postgres_server.h"

namespace muster::test {
namespace {

// Moves on by itself.
class RunningClock : public Clock {
 public:
  Time now() const override {
    return std::chrono::time_point_cast<Millis>(std::chrono::system_clock::now());
  }
  std::chrono::nanoseconds monotonic() const override {
    return std::chrono::steady_clock::now().time_since_epoch();
  }
};

// Several services, as the store sees them: storages in one process on one database.
class PostgresTest : public testing::Test {
 protected:
  std::unique_ptr<Storage> open(const Clock& clock, Storage::CommitListener foreign = {}) {
    StorageOptions options;
    options.url = database_.url();
    options.rules.pool_defaults.retry_base_ms = 0;
    options.rules.templates = {{"echo", {"1"}}};
    options.on_foreign_commit = std::move(foreign);
    auto opened = openStorage(options, clock);
    if (!opened) throw std::runtime_error(opened.error());
    return *std::move(opened);
  }
  template <class Work>
  static auto run(Storage& storage, Work work, Isolation isolation = Isolation::kShared) {
    std::optional<std::invoke_result_t<Work&, Store&>> answer;
    const auto status =
        storage.writeAndWait([&](Store& store) { answer.emplace(work(store)); }, isolation);
    if (!status) throw std::runtime_error(status.error().detail);
    return *std::move(answer);
  }
  static Job push(Storage& storage, const NewJob& job = {.data = "1"}) {
    return run(storage, [&](Store& s) {
      return s.jobs().push(*s.pools().findOrCreate(PoolId("p")).value(), job).job;
    });
  }
  static std::vector<Job> claim(Storage& storage, const std::string& worker, int max = 1) {
    return run(storage, [&](Store& s) {
      const auto pool = s.pools().find(PoolId("p"));
      return pool ? s.jobs().claim(*pool, worker, {}, max) : std::vector<Job>();
    });
  }
  static Result<Job> complete(Storage& storage, const Job& job) {
    return run(storage, [&](Store& s) {
      return s.jobs().complete(job.id, {job.lease_token, ""}, std::nullopt, "");
    });
  }

  PostgresDatabase database_;
  RunningClock clock_;
};

TEST_F(PostgresTest, aServiceThatStandsStillInATransactionIsDroppedByTheOthers) {
  const RunningClock clock;
  const auto frozen = open(clock), other = open(clock);
  std::promise<void> inside, go;
  std::atomic<int> runs = 0;
  Status ended;
  std::jthread stands([&] {
    ended = frozen->writeAndWait([&](Store& s) {
      s.pools().findOrCreate(PoolId("p")).value();
      s.session.flush();
      if (++runs > 1) return;  // a second try is not to wait
      static_cast<void>(s.cluster().leader());
      inside.set_value();
      go.get_future().wait();
    });
  });
  inside.get_future().wait();
  const auto drop = [&](Millis silence) {
    std::int64_t dropped = 0;
    EXPECT_TRUE(
        other->readAndWait([&](Store& s) { dropped = s.cluster().endStandstills(silence); }));
    return dropped;
  };
  EXPECT_EQ(drop(Seconds(60)), 0) << "it may take a while";
  EXPECT_TRUE(eventually(kPatience, [&] { return drop(Millis(100)) == 1; }));
  EXPECT_TRUE(other->writeAndWait([](Store& s) { s.pools().findOrCreate(PoolId("q")).value(); }))
      << "nobody waits any more";
  go.set_value();
  stands.join();
  EXPECT_TRUE(!ended || runs == 2) << "what it had done was undone";
}

TEST_F(PostgresTest, tenantsTakeTurnsOverAllServices) {
  const auto one = open(clock_), other = open(clock_);
  for (int i = 0; i < 4; ++i) {
    for (const char* tenant : {"a", "b", "c"}) push(*one, {.data = "1", .tenant = tenant});
  }
  std::string served;
  for (int i = 0; i < 9; ++i) served += claim(i % 2 == 0 ? *one : *other, "w").at(0).tenant;
  EXPECT_EQ(served, "abcabcabc");
  EXPECT_TRUE(claim(*other, "w").empty()) << "each has its three places";
}

TEST_F(PostgresTest, whatCannotBeTextIsKeptAsTheReplacementCharacter) {
  const auto storage = open(clock_);
  const Job job = push(*storage);
  FailureReport report;
  report.error = std::string("a\0b\xff", 4);
  claim(*storage, "w");
  run(*storage, [&](Store& s) { return s.jobs().fail(job.id, {}, report); }).value();
  std::string kept;
  storage->readAndWait([&](Store& s) { kept = s.jobs().attempts(job.id).at(0).error; });
  EXPECT_EQ(kept, "a\uFFFDb\uFFFD");
}

TEST_F(PostgresTest, aReaderThatFollowsMissesNoEventOfManyWriters) {
  constexpr int kWriters = 4, kPushesEach = 300;
  const auto one = open(clock_), other = open(clock_);
  std::atomic<bool> finished = false;
  std::vector<std::int64_t> followed;
  std::jthread reader([&] {
    std::int64_t after = 0;
    for (bool last = false; !last;) {
      last = finished;  // look once more after the end
      EventPage page;
      const auto status =
          one->readAndWait([&](Store& s) { page = s.events().list(after, {}, 100'000).value(); });
      ASSERT_TRUE(status) << status.error().detail;
      for (const Event& event : page.events) followed.push_back(event.seq);
      after = page.read_to;
    }
  });
  {
    std::vector<std::jthread> writers;
    for (int w = 0; w < kWriters; ++w) {
      writers.emplace_back([&, w] {
        for (int i = 0; i < kPushesEach; ++i) push(w % 2 == 0 ? *one : *other);
      });
    }
  }
  finished = true;
  reader.join();
  const std::size_t all = kWriters * kPushesEach + 1;  // and the pool
  EXPECT_EQ(followed.size(), all);
  EXPECT_TRUE(std::is_sorted(followed.begin(), followed.end()));
  EXPECT_EQ(database_.value("SELECT count(*) FROM events"), std::to_string(all));
}

TEST_F(PostgresTest, eightClaimersOfTwoServicesClaimEachJobOnce) {
  const auto one = open(clock_), other = open(clock_);
  for (int i = 0; i < 20; ++i) {
    run(*one, [](Store& s) {
      const auto pool = s.pools().findOrCreate(PoolId("p")).value();
      for (int j = 0; j < 100; ++j) s.jobs().push(*pool, {.data = "1"});
      return 0;
    });
  }
  std::mutex mutex;
  std::multiset<std::string> claimed;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        for (int max = 1;; max = max % 5 + 1) {
          const auto jobs = claim(t % 2 == 0 ? *one : *other, "w" + std::to_string(t), max);
          if (jobs.empty()) return;
          const std::lock_guard lock(mutex);
          for (const Job& job : jobs) claimed.insert(job.id.str());
        }
      });
    }
  }
  EXPECT_EQ(claimed.size(), 2000U);
  EXPECT_EQ(std::set(claimed.begin(), claimed.end()).size(), 2000U);
}

TEST_F(PostgresTest, aTenantHasItsPlacesOnceInAllServices) {
  const auto one = open(clock_), other = open(clock_);
  for (int i = 0; i < 50; ++i) push(*one, {.data = "1", .tenant = i % 2 == 0 ? "a" : "b"});
  std::atomic<int> claimed = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 5; ++i) {
          claimed += static_cast<int>(
              claim(t % 2 == 0 ? *one : *other, "w" + std::to_string(t), 2).size());
        }
      });
    }
  }
  EXPECT_EQ(claimed, 6) << "three each";
}

TEST_F(PostgresTest, failuresOfTwoServicesOpenACircuitTogetherAndOneOfThemGetsTheProbe) {
  constexpr int kFailures = 24, kThreads = 4;
  const auto one = open(clock_), other = open(clock_);
  PoolSettings settings;
  settings.circuit_failures = kFailures;
  settings.circuit_probe_seconds = 3600;
  run(
      *one, [&](Store& s) { return s.pools().put(PoolId("p"), settings); }, Isolation::kAlone)
      .value();
  for (int i = 0; i < kFailures; ++i) push(*one);
  const auto held = claim(*other, "w", kFailures);
  ASSERT_EQ(held.size(), static_cast<std::size_t>(kFailures));
  FailureReport report;
  report.error = "HTTP 503";
  const auto fail = [&](int i) {
    const Job& job = held[static_cast<std::size_t>(i)];
    run(i % 2 == 0 ? *one : *other, [&](Store& s) {
      return s.jobs().fail(job.id, {job.lease_token, ""}, report);
    }).value();
  };
  const auto circuit = [&](Storage& storage) {
    return run(storage, [](Store& s) { return s.circuits().find(*s.pools().find(PoolId("p"))); });
  };
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = t; i < kFailures - 1; i += kThreads) fail(i);
      });
    }
  }
  EXPECT_EQ(circuit(*one).state(), CircuitState::kClosed);
  EXPECT_EQ(circuit(*one).failures, kFailures - 1) << "none was lost";
  fail(kFailures - 1);
  for (Storage* storage : {one.get(), other.get()}) {
    EXPECT_EQ(circuit(*storage).state(), CircuitState::kOpen);
    EXPECT_TRUE(claim(*storage, "early").empty());
  }
  // The hour is over.
  database_.execute(
      "UPDATE circuits SET probe_at = 0; UPDATE store_clock SET circuits = circuits + 1");

  std::mutex mutex;
  std::vector<Job> tried;
  std::atomic<int> looks = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        eventually(kPatience, [&] {
          auto jobs = claim(t % 2 == 0 ? *one : *other, "w" + std::to_string(t), 1 + t / 2);
          const std::lock_guard lock(mutex);
          tried.insert(tried.end(), jobs.begin(), jobs.end());
          if (!tried.empty()) ++looks;
          return looks > 3 * kThreads;
        });
      });
    }
  }
  ASSERT_EQ(tried.size(), 1U);
  complete(*one, tried[0]).value();
  EXPECT_EQ(claim(*other, "w", 100).size(), static_cast<std::size_t>(kFailures - 1));
}

TEST_F(PostgresTest, aSuccessAtOneServiceEndsTheFailuresThatAnotherHasSeen) {
  const auto one = open(clock_), other = open(clock_);
  PoolSettings settings;
  settings.circuit_failures = 2;
  run(
      *one, [&](Store& s) { return s.pools().put(PoolId("p"), settings); }, Isolation::kAlone)
      .value();
  const auto held = [&](Storage& storage) {
    push(storage);
    return claim(storage, "w").at(0);
  };
  // Whether the try was given back.
  const auto failsFree = [&](Storage& storage) {
    const Job job = held(storage);
    const auto failed = run(storage, [&](Store& s) {
      return s.jobs().fail(job.id, {job.lease_token, ""}, FailureReport());
    });
    return failed->attempts < job.attempts;
  };
  // With every round the one that succeeds has not seen a failure of its own.
  for (int round = 0; round < 5; ++round) {
    EXPECT_FALSE(failsFree(round % 2 == 0 ? *one : *other));
    Storage& well = round % 2 == 0 ? *other : *one;
    complete(well, held(well)).value();
  }
  EXPECT_FALSE(failsFree(*one)) << "it was still closed";
  EXPECT_TRUE(failsFree(*other));
  EXPECT_TRUE(claim(*one, "w").empty());
}

TEST_F(PostgresTest, ofEqualKeysOneWins) {
  const auto one = open(clock_), other = open(clock_);
  push(*one);  // the pool
  for (int round = 0; round < 30; ++round) {
    const std::string key = std::to_string(round);
    std::atomic<int> pushed = 0, worked = 0;
    {
      std::vector<std::jthread> threads;
      for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
          Storage& storage = t % 2 == 0 ? *one : *other;
          pushed += run(storage, [&](Store& s) {
            return s.jobs()
                .push(*s.pools().find(PoolId("p")), {.data = "1", .unique_key = key})
                .created;
          });
          worked += run(storage, [&](Store& s) {
            const RequestKey request{"", "POST", "/", key, "hash"};
            if (s.idempotency().find(request).value()) return 0;
            s.idempotency().remember(request, {200, "{}"});
            return 1;
          });
        });
      }
    }
    EXPECT_EQ(pushed, 1);
    EXPECT_EQ(worked, 1);
  }
}

TEST_F(PostgresTest, mergesOfMetadataAtTheSameTimeLoseNothing) {
  const auto one = open(clock_), other = open(clock_);
  run(
      *one, [](Store& s) { return s.workers().registerWorker(newWorker("w")); }, Isolation::kAlone);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 25; ++i) {
          WorkerChange change;
          change.metadata = "{\"" + std::to_string(t * 25 + i) + "\":1}";
          run(t % 2 == 0 ? *one : *other, [&](Store& s) {
            return s.workers().heartbeat(WorkerId("w"), change);
          }).value();
        }
      });
    }
  }
  std::string metadata;
  one->readAndWait([&](Store& s) { metadata = s.workers().find(WorkerId("w"))->metadata; });
  for (int i = 0; i < 100; ++i) {
    EXPECT_NE(metadata.find("\"" + std::to_string(i) + "\""), std::string::npos) << i;
  }
}

TEST_F(PostgresTest, betweenReapAndCompleteExactlyOneWinsAndTheEventsAgree) {
  constexpr int kRounds = 1000;
  constexpr Sql kSilence{"UPDATE workers SET last_heartbeat = 0 WHERE worker_id = $1"};
  const auto one = open(clock_), other = open(clock_);
  for (int round = 0; round < kRounds; ++round) {
    const std::string worker = "w" + std::to_string(round);
    run(
        *one, [&](Store& s) { return s.workers().registerWorker(newWorker(worker)); },
        Isolation::kAlone);
    push(*one);
    const Job job = claim(*one, worker).at(0);
    run(*one, [&](Store& s) { return s.session.db.execute(kSilence, worker); });
    bool won = false;
    std::int64_t released = 0;
    const auto completes = [&] { won = complete(*one, job).has_value(); };
    const auto reaps = [&] {
      released = run(
                     *other, [](Store& s) { return s.workers().stale("", 10s, true, 10); },
                     Isolation::kAlone)
                     .jobs_released;
    };
    // Now and then they do not race: whoever is first wins.
    if (round % 10 == 0) {
      completes(), reaps();
      ASSERT_TRUE(won);
    } else if (round % 10 == 5) {
      reaps(), completes();
      ASSERT_FALSE(won);
    } else {
      const std::jthread completer(completes), reaper(reaps);
    }
    ASSERT_EQ(won ? 0 : 1, released) << "round " << round;
    std::vector<Event> events;
    one->readAndWait([&](Store& s) {
      EventFilter filter;
      filter.job = job.id.str();
      events = s.events().latest(filter, 10);
    });
    int endings = 0, late = 0;
    for (const Event& event : events) {
      endings += event.type == "job.completed" || event.type == "job.reassigned";
      late += event.type == "job.late_result_dropped";
    }
    ASSERT_EQ(endings, 1);
    ASSERT_EQ(late, won ? 0 : 1);
    if (!won) complete(*one, claim(*one, "again").at(0)).value();
  }
}

TEST_F(PostgresTest, aServiceWhoseClockIsWrongStealsNoLease) {
  const FakeClock ahead(clock_.now() + 1h);
  const auto one = open(clock_), other = open(ahead);
  push(*one);
  const Job job = claim(*one, "w").at(0);
  run(
      *one, [](Store& s) { return s.workers().registerWorker(newWorker("alive")); },
      Isolation::kAlone);
  EXPECT_EQ(run(
                *other, [](Store& s) { return s.jobs().expireLeases(10); }, Isolation::kAlone),
            0);
  EXPECT_TRUE(
      run(
          *other, [](Store& s) { return s.workers().stale("", {}, true, 10); }, Isolation::kAlone)
          .workers.empty());
  const Time now = run(*other, [](Store& s) { return s.now(); });
  EXPECT_LT(now, clock_.now() + 1min) << "the database's, not its own";
  EXPECT_TRUE(complete(*other, job));
}

TEST_F(PostgresTest, twoServicesThatCheckAtOnceSpendAPlaceOnce) {
  const auto one = open(clock_), other = open(clock_);
  run(
      *one,
      [](Store& s) {
        return s.pools().put(PoolId("p"),
                             with<PoolSettings>([](auto& given) { given.max_workers = 3; }));
      },
      Isolation::kAlone)
      .value();
  // What the checker does: look, decide, write the workers, in one unit.
  std::atomic<int> launched = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        launched += run(
            t % 2 == 0 ? *one : *other,
            [&](Store& s) {
              const auto pool = s.pools().find(PoolId("p"));
              const auto state = s.scaling().state(*pool);
              if (state.starting >= *pool->settings.max_workers) return 0;
              Pool with_template = *pool;
              with_template.settings.template_name = "echo";
              s.launches().order(with_template, 30s);
              return 1;
            },
            Isolation::kAlone);
      });
    }
  }
  EXPECT_EQ(launched, 3);
}

TEST_F(PostgresTest, everyServiceHearsOfWhatTheOthersDidAndNotOfItself) {
  std::mutex mutex;
  Names heard;
  const auto one = open(clock_, [&](std::span<const Event> events) {
    const std::lock_guard lock(mutex);
    for (const Event& event : events) heard.push_back(event.type + " " + event.job);
  });
  const auto other = open(clock_);
  const auto hears = [&](const std::string& what) {
    return eventually(kPatience, [&] {
      const std::lock_guard lock(mutex);
      return std::find(heard.begin(), heard.end(), what) != heard.end();
    });
  };
  const Job own = push(*one);
  const Job foreign = push(*other);
  EXPECT_TRUE(hears("job.created " + foreign.id.str()));
  database_.execute(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
      "WHERE pid <> pg_backend_pid() AND datname = current_database()");
  const Job after = push(*other);
  EXPECT_TRUE(hears("job.created " + after.id.str())) << "over a lost connection too";
  const std::lock_guard lock(mutex);
  EXPECT_EQ(heard, (Names{"job.created " + foreign.id.str(), "job.created " + after.id.str()}))
      << own.id.str() << " was its own";
}

TEST_F(PostgresTest, aConnectionThatWasLostWhileNobodyUsedItIsReplaced) {
  const auto storage = open(clock_);
  push(*storage);
  for (int i = 0; i < 5; ++i) {
    database_.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE pid <> pg_backend_pid() AND datname = current_database()");
    push(*storage);
    std::int64_t pending = 0;
    EXPECT_TRUE(
        storage->readAndWait([&](Store& s) { pending = s.pools().stats(PoolId("p")).pending; }));
    EXPECT_EQ(pending, i + 2);
  }
}

// On a server of its own: it is stopped in the middle.
TEST(PostgresOutage, isToldToWhoAsksAndNothingAcknowledgedIsLost) {
  PostgresServer server;
  PostgresDatabase database(true, server);
  const RunningClock clock;
  StorageOptions options;
  options.url = database.url();
  auto opened = openStorage(options, clock);
  ASSERT_TRUE(opened) << opened.error();
  Storage& storage = **opened;

  std::mutex mutex;
  std::set<std::string> acknowledged;
  std::atomic<int> refused = 0;
  std::atomic<bool> stop = false;
  std::vector<std::jthread> producers;
  for (int t = 0; t < 4; ++t) {
    producers.emplace_back([&] {
      while (!stop) {
        std::string id;
        const auto status = storage.writeAndWait(
            [&id](Store& s) {
              id = s.jobs()
                       .push(*s.pools().findOrCreate(PoolId("p")).value(), {.data = "1"})
                       .job.id.str();
            },
            Isolation::kShared);
        if (status) {
          const std::lock_guard lock(mutex);
          acknowledged.insert(id);
        } else {
          EXPECT_EQ(codeOf(status), ErrorCode::kStoreUnavailable) << status.error().detail;
          EXPECT_TRUE(status.error().retry_after);
          ++refused;
        }
      }
    });
  }
  const auto pushed = [&] {
    const std::lock_guard lock(mutex);
    return acknowledged.size();
  };
  for (int round = 0; round < 2; ++round) {
    const std::size_t before = pushed();
    EXPECT_TRUE(eventually(kPatience, [&] { return pushed() > before + 50; }));
    const int refused_before = refused;
    server.stop();
    EXPECT_TRUE(eventually(kPatience, [&] { return refused > refused_before + 10; }));
    server.start();
    const std::size_t away = pushed();
    EXPECT_TRUE(eventually(kPatience, [&] { return pushed() > away + 50; })) << "it came back";
  }
  stop = true;
  producers.clear();
  std::set<std::string> kept;
  std::string cursor;
  do {
    JobPage page;
    ASSERT_TRUE(
        storage.readAndWait([&](Store& s) { page = s.jobs().list(PoolId("p"), {}, cursor, 200); }));
    for (const Job& job : page.jobs) kept.insert(job.id.str());
    cursor = page.next_cursor;
  } while (!cursor.empty());
  for (const std::string& id : acknowledged) EXPECT_TRUE(kept.contains(id)) << id;
  PoolStats stats;
  ASSERT_TRUE(storage.readAndWait([&](Store& s) { stats = s.pools().stats(PoolId("p")); }));
  EXPECT_EQ(static_cast<std::size_t>(stats.pending), kept.size());
}

}  // namespace
}  // namespace muster::test
