// Flows on PostgreSQL, where several services end jobs at the same instant.
#include <atomic>
#include <barrier>
#include <set>
#include <thread>

#include "tests/store/flow_fixture.h"
#include "tests/store/flow_recount.h"
#include "tests/support/postgres_server.h"

namespace muster::test {
namespace {

class FlowPostgresTest : public testing::Test {
 protected:
  FlowPostgresTest() {
    for (auto& storage : services_) {
      StorageOptions options;
      options.url = database_.url();
      options.own_clock = true;
      auto opened = openStorage(options, clock_);
      if (!opened) throw std::runtime_error(opened.error());
      storage = *std::move(opened);
    }
  }
  void TearDown() override {
    settle();
    Names faults;
    EXPECT_TRUE(services_[0]->readAndWait([&](Store& s) { faults = flowCounterFaults(s); }));
    for (const std::string& fault : faults) ADD_FAILURE() << fault;
    EXPECT_EQ(log().find("deadlock detected"), std::string::npos);
    for (const char* status : {"blocked", "pending", "done", "cancelled"}) {
      const std::string counted =
          std::string("SELECT coalesce(sum(") + status + "), 0) FROM lane_counts";
      EXPECT_EQ(database_.value(counted), std::to_string(rows(status))) << status;
    }
  }

  template <class Work>
  auto on(std::size_t service, Work work, Isolation isolation = Isolation::kShared) {
    std::optional<std::invoke_result_t<Work&, Store&>> answer;
    const Status status = services_[service % 2]->writeAndWait(
        [&](Store& store) { answer.emplace(work(store)); }, isolation);
    if (!status) throw std::runtime_error(status.error().detail);
    return *std::move(answer);
  }
  FlowJobsAdded start(const std::string& line, bool open = false) {
    CreateFlow flow;
    flow.jobs = flowJobs(line);
    flow.open = open;
    return on(
               0, [&](Store& s) { return muster::run(flow, s); }, Isolation::kAlone)
        .value();
  }
  // All that can be claimed, by name.
  std::map<std::string, Job> claimAll(const FlowJobsAdded& of) {
    std::map<std::string, Job> held;
    const auto jobs = on(
        0, [](Store& s) { return s.jobs().claim(*s.pools().find(PoolId("p")), "w", {}, 10'000); });
    for (const Job& job : jobs) {
      for (const FlowJobAdded& added : of.jobs) {
        if (added.id == job.id) held[added.name] = job;
      }
    }
    return held;
  }
  static int completeIn(Store& s, const std::vector<Job>& jobs) {
    for (const Job& job : jobs) s.jobs().complete(job.id, {job.lease_token, ""}, "1", "").value();
    return 0;
  }
  // Each on a service of its own, all at the same instant.
  void together(const std::vector<std::function<void(std::size_t)>>& acts) {
    std::barrier ready(static_cast<std::ptrdiff_t>(acts.size()));
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < acts.size(); ++i) {
      threads.emplace_back([&, i] {
        ready.arrive_and_wait();
        acts[i](i);
      });
    }
  }
  void completeTogether(const std::vector<std::vector<Job>>& units) {
    std::vector<std::function<void(std::size_t)>> acts;
    for (const auto& jobs : units) {
      acts.emplace_back([this, &jobs](std::size_t service) {
        on(service, [&](Store& s) { return completeIn(s, jobs); });
      });
    }
    together(acts);
  }
  void settle(std::size_t service = 0) {
    while (on(
               service, [](Store& s) { return muster::run(SettleFlows{}, s); }, Isolation::kAlone)
               ->more) {
    }
  }
  std::int64_t rows(const std::string& status) {
    return std::stoll(database_.value("SELECT count(*) FROM jobs WHERE status = '" + status + "'"));
  }
  std::int64_t events(const std::string& type) {
    return std::stoll(database_.value("SELECT count(*) FROM events WHERE type = '" + type + "'"));
  }
  std::string log() { return PostgresServer::shared().log().substr(log_begin_); }
  static std::string n(const std::string& name, int i) { return name + std::to_string(i); }

  const std::size_t log_begin_ = PostgresServer::shared().log().size();
  PostgresDatabase database_;
  FakeClock clock_;
  std::unique_ptr<Storage> services_[2];
};

TEST_F(FlowPostgresTest, the_last_two_upstream_jobs_end_at_the_same_instant) {
  constexpr int kFlows = 4, kPairs = 100;
  for (int flow = 0; flow < kFlows; ++flow) {
    std::string line;
    for (int i = 0; i < kPairs; ++i) {
      line += n("a", i) + "; " + n("b", i) + "; " + n("x", i) + " after " + n("a", i) + " " +
              n("b", i) + "; ";
    }
    const auto made = start(line);
    auto held = claimAll(made);
    ASSERT_EQ(held.size(), 2U * kPairs);
    for (int i = 0; i < kPairs; ++i) {
      completeTogether({{held[n("a", i)]}, {held[n("b", i)]}});
      ASSERT_EQ(rows("pending"), i + 1) << "x is lost in round " << i;
    }
    const auto unblocked = claimAll(made);
    EXPECT_EQ(unblocked.size(), static_cast<std::size_t>(kPairs));
    for (const auto& [name, job] : unblocked) {
      on(1, [&job = job](Store& s) { return completeIn(s, {job}); });
    }
    settle(flow % 2);
  }
  EXPECT_EQ(events("job.unblocked"), kFlows * kPairs);
  EXPECT_EQ(events("flow.succeeded"), kFlows);
}

TEST_F(FlowPostgresTest, two_services_tell_the_same_two_jobs_in_either_order) {
  constexpr int kRounds = 150;
  for (int round = 0; round < kRounds; ++round) {
    // What one service ends first, the other ends last.
    const auto made = start(
        "a; b; c; d; x after a d; y after b c; z any a b c d; v failure a; w failure d; "
        "y2 after d; x2 after c");
    auto held = claimAll(made);
    ASSERT_EQ(held.size(), 4U);
    completeTogether({{held["a"], held["b"]}, {held["d"], held["c"]}});
    settle();
    ASSERT_EQ(rows("pending"), 5) << "round " << round;
    auto rest = claimAll(made);
    ASSERT_EQ(rest.size(), 5U);
    completeTogether({{rest["z"], rest["x"], rest["x2"]}, {rest["y2"], rest["y"]}});
  }
  settle();
  EXPECT_EQ(events("flow.succeeded"), kRounds);
  EXPECT_EQ(rows("cancelled"), 2 * kRounds);
}

TEST_F(FlowPostgresTest, a_downstream_job_comes_at_the_instant_in_which_its_upstream_job_ends) {
  constexpr int kRounds = 150;
  for (int round = 0; round < kRounds; ++round) {
    const auto made = start("a", true);
    auto held = claimAll(made);
    FlowJobsAdded added;
    together({[&](std::size_t service) {
                on(service, [&](Store& s) { return completeIn(s, {held["a"]}); });
              },
              [&](std::size_t service) {
                const AddFlowJobs more{made.flow.id, flowJobs("x after a; y failure a")};
                added =
                    on(
                        service, [&](Store& s) { return muster::run(more, s); }, Isolation::kAlone)
                        .value();
              }});
    settle();
    ASSERT_EQ(rows("blocked"), 0) << "round " << round;
    ASSERT_EQ(rows("cancelled"), round + 1);
    ASSERT_EQ(rows("pending"), 1);
    auto x = claimAll(added);
    on(1, [&](Store& s) { return completeIn(s, {x["x"]}); });
  }
}

TEST_F(FlowPostgresTest, a_parent_and_its_last_children_end_at_the_same_instant) {
  constexpr int kRounds = 100;
  for (int round = 0; round < kRounds; ++round) {
    const auto made = start("a; b after a");
    auto held = claimAll(made);
    AddChildren op{made.jobs[0].id, held["a"].lease_token, false, flowJobs("c; d")};
    const auto children = on(
                              0, [&](Store& s) { return muster::run(op, s); }, Isolation::kAlone)
                              .value();
    auto below = claimAll(children);
    ASSERT_EQ(below.size(), 2U);
    completeTogether({{held["a"]}, {below["c"]}, {below["d"]}});
    settle();
    ASSERT_EQ(rows("pending"), 1) << "round " << round;
    auto b = claimAll(made);
    ASSERT_EQ(b.size(), 1U);
    on(1, [&](Store& s) { return completeIn(s, {b["b"]}); });
  }
  settle();
  EXPECT_EQ(events("flow.succeeded"), kRounds);
}

TEST_F(FlowPostgresTest, four_threads_of_two_services_work_through_layers) {
  constexpr int kLayers = 20, kWidth = 15;
  std::string line;
  for (int layer = 0; layer < kLayers; ++layer) {
    for (int i = 0; i < kWidth; ++i) {
      line += "n" + std::to_string(layer) + "." + std::to_string(i);
      if (layer > 0) line += " after";
      for (int from = 0; layer > 0 && from < kWidth; from += 1 + (i + layer) % 3) {
        line += " n" + std::to_string(layer - 1) + "." + std::to_string(from);
      }
      line += "; ";
    }
  }
  const auto made = start(line);
  std::atomic<int> finished = 0;
  std::atomic<bool> failed = false;
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        const std::string worker = "w" + std::to_string(t);
        while (finished < kLayers * kWidth && !failed) {
          const auto jobs = on(t, [&](Store& s) {
            return s.jobs().claim(*s.pools().find(PoolId("p")), worker, {},
                                  1 + static_cast<int>(t));
          });
          // Half of them in one unit, the rest one by one.
          std::vector<Job> most(jobs.begin(),
                                jobs.begin() + static_cast<std::ptrdiff_t>((jobs.size() + 1) / 2));
          on(t, [&](Store& s) { return completeIn(s, most); });
          for (std::size_t i = most.size(); i < jobs.size(); ++i) {
            on(t + 1, [&](Store& s) { return completeIn(s, {jobs[i]}); });
          }
          finished += static_cast<int>(jobs.size());
          // Nothing is claimed, nothing can be: a job was forgotten.
          if (jobs.empty() && rows("claimed") + rows("pending") == 0 && rows("blocked") > 0) {
            failed = rows("claimed") + rows("pending") == 0;
          }
        }
      });
    }
  }
  EXPECT_FALSE(failed) << "jobs wait, and nothing runs";
  settle();
  EXPECT_EQ(rows("done"), kLayers * kWidth);
  EXPECT_EQ(events("flow.succeeded"), 1);
  EXPECT_EQ(events("job.unblocked"), (kLayers - 1) * kWidth);
}

TEST_F(FlowPostgresTest, two_services_settle_at_once) {
  std::string line = "a; ";
  for (int i = 0; i < 900; ++i) line += n("x", i) + " after a; ";
  const auto made = start(line, true);
  for (int more = 0; more < 2; ++more) {
    std::string rest;
    for (int i = 0; i < 1000; ++i) rest += n("y" + std::to_string(more), i) + " after a; ";
    const AddFlowJobs op{made.flow.id, flowJobs(rest)};
    on(
        0, [&](Store& s) { return muster::run(op, s); }, Isolation::kAlone)
        .value();
  }
  auto held = claimAll(made);
  on(0, [&](Store& s) { return completeIn(s, {held["a"]}); });
  const auto settles = [this](std::size_t service) {
    while (
        on(
            service, [](Store& s) { return muster::run(SettleFlows{100}, s); }, Isolation::kAlone)
            ->more) {
    }
  };
  together({settles, settles, settles});
  EXPECT_EQ(rows("pending"), 2900);
  EXPECT_EQ(events("job.unblocked"), 2900);
}

TEST_F(FlowPostgresTest, a_cancel_meets_the_ends_of_jobs) {
  constexpr int kRounds = 60;
  for (int round = 0; round < kRounds; ++round) {
    const auto made = start("a; b; x after a b; y failure a; z any b");
    auto held = claimAll(made);
    together({[&](std::size_t service) {
                on(service, [&](Store& s) { return completeIn(s, {held["a"]}); });
              },
              [&](std::size_t service) {
                on(
                    service, [&](Store& s) { return muster::run(CancelFlow{made.flow.id}, s); },
                    Isolation::kAlone)
                    .value();
              },
              [&](std::size_t service) {
                on(service, [&](Store& s) { return completeIn(s, {held["b"]}); });
              }});
    settle(round % 2);
    ASSERT_EQ(rows("pending") + rows("blocked") + rows("claimed"), 0) << "round " << round;
  }
  EXPECT_EQ(events("flow.cancelled"), kRounds);
}

}  // namespace
}  // namespace muster::test
