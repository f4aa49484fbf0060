// Flows at random: everything that can happen to them, in any order, against a plain model.
#include <fmt/format.h>

#include <random>

#include "tests/store/flow_fixture.h"
#include "tests/store/flow_model.h"

namespace muster::test {
namespace {

// Some flows at a time. What is done in between is settled now and then, a few edges at a time;
// then all must be as the model says.
class FlowWalkTest : public FlowTest {
 protected:
  static constexpr int kSteps = 350;
  static constexpr std::size_t kFlows = 4, kMostJobs = 30;

  struct Walk {
    FlowId id;
    FlowModel model;
    std::size_t fired = 0;  // callbacks that were seen
  };
  struct Spot {
    Walk* walk = nullptr;
    int job = 0;
    FlowModel::Member& member() const { return walk->model.jobs[static_cast<std::size_t>(job)]; }
  };

  int roll(int sides) { return std::uniform_int_distribution(0, sides - 1)(dice); }
  bool chance(int percent) { return roll(100) < percent; }
  Time now() const { return clock.now(); }

  template <class Fits>
  std::optional<Spot> any(Fits fits) {
    std::vector<Spot> spots;
    for (Walk& walk : walks) {
      for (std::size_t i = 0; i < walk.model.jobs.size(); ++i) {
        const Spot spot{&walk, static_cast<int>(i)};
        if (fits(spot)) spots.push_back(spot);
      }
    }
    if (spots.empty()) return std::nullopt;
    return spots[static_cast<std::size_t>(roll(static_cast<int>(spots.size())))];
  }
  std::optional<Spot> anyWith(JobStatus status) {
    return any(
        [&](const Spot& spot) { return spot.member().status == status && !spot.member().gone; });
  }
  template <class Fits>
  Walk* anyFlow(Fits fits) {
    std::vector<Walk*> found;
    for (Walk& walk : walks) {
      if (fits(walk)) found.push_back(&walk);
    }
    return found.empty() ? nullptr
                         : found[static_cast<std::size_t>(roll(static_cast<int>(found.size())))];
  }

  // Jobs for the level below `parent`, with edges to each other and to those that are there.
  std::vector<NewFlowJob> draw(Walk& walk, int parent, int many) {
    std::vector<NewFlowJob> given;
    std::vector<int> level;
    auto& jobs = walk.model.jobs;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (jobs[i].parent == parent) level.push_back(static_cast<int>(i));
    }
    for (int n = 0; n < many; ++n) {
      FlowModel::Member member;
      member.parent = parent;
      member.name = "j" + std::to_string(++last_name);
      member.may_fail = chance(20);
      member.pool = chance(15) ? "q" : "p";
      if (chance(10)) member.expires_at = now() + Millis(1 + roll(20'000));
      NewFlowJob job;
      job.name = member.name;
      job.pool = PoolId(member.pool);
      job.may_fail = member.may_fail;
      job.job = {.data = "1", .max_retries = 1, .expires_at = member.expires_at};
      std::set<int> upstream;
      for (int edges = level.empty() ? 0 : roll(4); edges > 0; --edges) {
        upstream.insert(level[static_cast<std::size_t>(roll(static_cast<int>(level.size())))]);
      }
      std::array<std::size_t, 3> spots{};
      for (const int from : upstream) {
        const int when = chance(60) ? 0 : 1 + roll(2);
        member.edges.push_back({from, static_cast<EdgeCondition>(when)});
        job.edges.push_back({jobs[static_cast<std::size_t>(from)].name,
                             static_cast<EdgeCondition>(when),
                             spots[static_cast<std::size_t>(when)]++});
      }
      level.push_back(static_cast<int>(jobs.size()));
      jobs.push_back(std::move(member));
      given.push_back(std::move(job));
    }
    return given;
  }
  void takeIds(Walk& walk, const Result<FlowJobsAdded>& added) {
    ASSERT_TRUE(added) << added.error().detail;
    EXPECT_TRUE(added->added);
    auto& jobs = walk.model.jobs;
    std::size_t spot = jobs.size() - added->jobs.size();
    for (const FlowJobAdded& job : added->jobs) {
      EXPECT_EQ(job.name, jobs[spot].name);
      jobs[spot++].id = job.id.str();
    }
  }

  void begin(Store& s) {
    Walk walk;
    CreateFlow flow;
    flow.name = "w";
    flow.jobs = draw(walk, -1, 1 + roll(8));
    flow.open = chance(30);
    flow.fail_fast = chance(25);
    if (chance(25)) flow.deadline = Millis(1 + roll(40'000));
    flow.callbacks = R"([{"when":"succeeded","job":{"pool_id":"cb","data":1}},)"
                     R"({"when":"failed","job":{"pool_id":"cb","data":1}},)"
                     R"({"when":"ended","job":{"pool_id":"cb","data":1}}])";
    flow.callback_pools = {PoolId("cb"), PoolId("cb"), PoolId("cb")};
    walk.model.closed = !flow.open;
    walk.model.fail_fast = flow.fail_fast;
    if (flow.deadline) walk.model.deadline = now() + *flow.deadline;
    auto made = run(flow, s);
    takeIds(walk, made);
    if (!made) return;
    walk.id = made->flow.id;
    walks.push_back(std::move(walk));
  }

  void addTop(Store& s) {
    Walk* walk = anyFlow(
        [](const Walk& each) { return !each.model.closed && each.model.jobs.size() < kMostJobs; });
    if (walk == nullptr) return;
    takeIds(*walk, run(AddFlowJobs{walk->id, draw(*walk, -1, 1 + roll(3))}, s));
  }
  void addBelow(Store& s) {
    const auto parent = any([](const Spot& spot) {
      return spot.member().status == JobStatus::kClaimed && !spot.member().gone &&
             spot.walk->model.cause.empty() && spot.walk->model.jobs.size() < kMostJobs;
    });
    if (!parent) return;
    AddChildren op{JobId(parent->member().id), parent->member().token};
    op.jobs = draw(*parent->walk, parent->job, 1 + roll(3));
    takeIds(*parent->walk, run(op, s));
  }
  void closeOne(Store& s) {
    Walk* walk = anyFlow([](const Walk& each) { return !each.model.closed; });
    if (walk == nullptr) return;
    EXPECT_TRUE(run(CloseFlow{walk->id}, s));
    walk->model.closed = true;
  }

  void claimOne(Store& s) {
    const auto spot = any([this](const Spot& each) {
      const auto& job = each.member();
      return job.status == JobStatus::kPending && (!job.expires_at || *job.expires_at > now());
    });
    if (!spot) return;
    auto& job = spot->member();
    const auto taken = s.jobs().claimOne(*s.pools().find(PoolId(job.pool)), "w", {}, JobId(job.id));
    ASSERT_TRUE(taken) << job.name << ": " << taken.error().detail;
    job.status = JobStatus::kClaimed;
    job.token = taken->lease_token;
  }
  void reportOne(Store& s) {
    const auto spot = anyWith(JobStatus::kClaimed);
    if (!spot) return;
    auto& job = spot->member();
    auto& model = spot->walk->model;
    const Reporter holder{job.token, ""};
    FailureReport report;
    switch (roll(8)) {
      case 0:
        EXPECT_TRUE(s.jobs().release(JobId(job.id), holder));
        if (job.cancel_requested) {
          model.stop(spot->job);
        } else {
          job.status = JobStatus::kPending;
        }
        break;
      case 1:
        report.cancelled = true;
        EXPECT_TRUE(s.jobs().fail(JobId(job.id), holder, report));
        model.stop(spot->job);
        break;
      case 2:
      case 3:
        report.retryable = chance(50);  // it was the only try
        EXPECT_TRUE(s.jobs().fail(JobId(job.id), holder, report));
        model.poison(spot->job);
        break;
      default:
        EXPECT_TRUE(s.jobs().complete(JobId(job.id), holder, "1", ""));
        job.status = JobStatus::kDone;
        job.cancel_requested = false;
        job.reasons.clear();
    }
  }
  void loseAll(Store& s) {
    std::int64_t lost = 0;
    for (Walk& walk : walks) lost += walk.model.loseAll();
    EXPECT_EQ(s.jobs().releaseByWorker("w", "worker_lost"), lost);
  }
  void cancelWaiting(Store& s, JobStatus status) {
    const auto spot = anyWith(status);
    if (!spot || !spot->walk->model.cause.empty()) return;
    EXPECT_TRUE(s.jobs().cancel(JobId(spot->member().id), ""));
    spot->walk->model.cancelJob(spot->job);
  }

  // What follows is done only when all is settled: else it would matter what was told already.
  void cancelOne(Store& s) {
    Walk* walk = anyFlow([](const Walk& each) { return each.model.status == "running"; });
    if (walk == nullptr) return;
    walk->model.text = "t" + std::to_string(roll(9));
    EXPECT_TRUE(run(CancelFlow{walk->id, walk->model.text}, s));
    walk->model.cancelAll("cancel");
  }
  void endOverdueFlows(Store& s) {
    std::int64_t overdue = 0;
    for (Walk& walk : walks) {
      FlowModel& model = walk.model;
      if (model.status != "running" || !model.deadline || *model.deadline > now()) continue;
      model.cancelAll("deadline");
      ++overdue;
    }
    EXPECT_EQ(run(EndOverdueFlows{}, s).value(), overdue);
  }
  void expireAll(Store& s) {
    std::int64_t expired = 0;
    for (Walk& walk : walks) {
      for (auto& job : walk.model.jobs) {
        if (!isWaiting(job.status) || !job.expires_at || *job.expires_at > now()) continue;
        job.status = JobStatus::kCancelled;
        job.reasons = {"expired"};
        ++expired;
      }
    }
    EXPECT_EQ(s.jobs().expirePending(9999), expired);
  }
  void retryFlowOf(Store& s) {
    Walk* walk = anyFlow([](const Walk& each) {
      return each.model.status == "failed" || each.model.status == "cancelled";
    });
    if (walk == nullptr) return;
    RetryFlow op{walk->id};
    std::optional<std::vector<int>> chosen;
    if (chance(50)) {
      chosen.emplace();
      op.jobs.emplace();
      auto& jobs = walk->model.jobs;
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        if (jobs[i].gone || jobs[i].status == JobStatus::kDone || !chance(30)) continue;
        chosen->push_back(static_cast<int>(i));
        op.jobs->push_back(JobId(jobs[i].id));
      }
      if (chosen->empty()) return;
    }
    if (chance(30)) op.deadline = Millis(1 + roll(40'000));
    const auto retried = run(op, s);
    ASSERT_TRUE(retried) << retried.error().detail;
    const auto put_back = walk->model.retry(chosen);
    EXPECT_LE(retried->count, static_cast<std::int64_t>(put_back.size()));
    if (op.deadline) walk->model.deadline = now() + *op.deadline;
  }
  void retryOne(Store& s) {
    const auto spot = any([](const Spot& each) {
      const auto& job = each.member();
      const auto& model = each.walk->model;
      return (job.status == JobStatus::kPoisoned || job.status == JobStatus::kCancelled) &&
             !job.gone && model.status != "cancelling" && model.status != "succeeded" &&
             !model.deadline;
    });
    if (!spot) return;
    const auto answer = s.jobs().retry(JobId(spot->member().id));
    ASSERT_TRUE(answer) << answer.error().detail;
    spot->walk->model.retry(std::vector{spot->job});
  }
  void removePoolOf(Store& s) {
    if (!s.pools().find(PoolId("q"))) return;
    purgePool(s, "q");
    for (Walk& walk : walks) {
      for (std::size_t i = 0; i < walk.model.jobs.size(); ++i) {
        if (walk.model.jobs[i].pool == "q") walk.model.remove(static_cast<int>(i));
      }
    }
  }
  void forgetOne(Store& s) {
    Walk* walk = anyFlow([](const Walk& each) { return each.model.ended(); });
    if (walk == nullptr) return;
    EXPECT_TRUE(run(DeleteFlow{walk->id}, s));
    std::erase_if(walks, [id = walk->id](const Walk& each) { return each.id == id; });
  }

  void anyTime(Store& s) {
    const int choice = roll(100);
    if (choice < 38) return claimOne(s);
    if (choice < 78) return reportOne(s);
    if (choice < 84) return addBelow(s);
    if (choice < 88) return addTop(s);
    if (choice < 91) return closeOne(s);
    if (choice < 96) return cancelWaiting(s, JobStatus::kPending);
    if (choice < 98) return cancelWaiting(s, JobStatus::kClaimed);
    loseAll(s);
  }
  void whenSettled(Store& s) {
    if (walks.size() < kFlows) return begin(s);
    switch (roll(9)) {
      case 0:
        return cancelOne(s);
      case 1:
        return endOverdueFlows(s);
      case 2:
        return expireAll(s);
      case 3:
      case 4:
        return retryFlowOf(s);
      case 5:
        return retryOne(s);
      case 6:
        if (chance(20)) removePoolOf(s);
        return;
      case 7:
        return cancelWaiting(s, JobStatus::kBlocked);
      default:
        if (chance(50)) forgetOne(s);
    }
  }

  void settleAndCompare() {
    settle(1 + roll(5));
    for (Walk& walk : walks) compare(walk);
    expectNoCounterFaults();
    all_told = true;
  }
  void compare(Walk& walk) {
    FlowModel& model = walk.model;
    SCOPED_TRACE("flow " + walk.id.str());
    std::map<std::string, Job> seen;
    const auto page = read([&](Store& s) {
                        return run(ListFlowJobs{walk.id, {}, "", "", 200}, s);
                      }).value();
    for (const Job& job : page.jobs) seen[job.id.str()] = job;
    const auto reason = [&](int spot) {
      const auto found = seen.find(model.jobs[static_cast<std::size_t>(spot)].id);
      return found == seen.end() ? std::string() : found->second.reason;
    };
    for (const std::string& fault : model.settle(reason)) ADD_FAILURE() << fault;
    for (std::size_t i = 0; i < model.jobs.size(); ++i) {
      const auto& meant = model.jobs[i];
      const auto found = seen.find(meant.id);
      EXPECT_EQ(found == seen.end(), meant.gone) << meant.name;
      if (found == seen.end()) continue;
      const Job& job = found->second;
      EXPECT_EQ(job.status, meant.status) << meant.name << " " << job.reason;
      if (job.status != meant.status) continue;
      if (job.status == JobStatus::kClaimed) {
        EXPECT_EQ(job.cancel_requested, meant.cancel_requested) << meant.name;
      }
      if (job.status == JobStatus::kCancelled) {
        EXPECT_TRUE(meant.reasons.contains(job.reason)) << meant.name << " " << job.reason;
      }
      const int remaining =
          job.status == JobStatus::kBlocked ? model.remaining(static_cast<int>(i)) : 0;
      EXPECT_EQ(job.flow->blocked_by, remaining) << meant.name;
      EXPECT_EQ(job.flow->round, model.round);
    }
    const Flow flow = read([&](Store& s) { return run(FindFlow{walk.id}, s); })->flow;
    EXPECT_EQ(name(flow.status), model.status);
    EXPECT_EQ(flow.reason, model.reason);
    EXPECT_EQ(flow.closed, model.closed);
    EXPECT_EQ(flow.round, model.round);
    EXPECT_EQ(flow.counts.total, static_cast<std::int64_t>(model.jobs.size()));
    compareCallbacks(walk);
  }
  // Of all flows together: what each has fired in the pool `cb` since the last look. They are
  // claimed one by one: a claim of whatever is there would expire jobs of the walk.
  void compareCallbacks(Walk& walk) {
    const auto pending = with<JobFilter>([](auto& f) { f.statuses = {JobStatus::kPending}; });
    auto pushed =
        read([&](Store& s) { return s.jobs().list(PoolId("cb"), pending, "", 1000).jobs; });
    std::reverse(pushed.begin(), pushed.end());  // oldest first
    for (const Job& each : pushed) {
      const Job job = write([&](Store& s) {
        return s.jobs().claimOne(*s.pools().find(PoolId("cb")), "caller", {}, each.id).value();
      });
      ASSERT_TRUE(job.flow) << "a callback knows its flow";
      fired[job.flow->id.str()].push_back(fmt::format("{} of {} in {}", job.flow->callback,
                                                      job.flow->flow_status, job.flow->round));
      complete(job).value();
    }
    EXPECT_EQ(fired[walk.id.str()], walk.model.callbacks);
  }

  void step() {
    const bool together = !all_told || chance(75);
    const int units = together ? 1 + roll(4) : 1;
    const auto before = walks;
    const auto act = [&](Store& s) {
      walks = before;  // the unit may be run again
      for (int i = 0; i < units && !HasFailure(); ++i) {
        together ? anyTime(s) : whenSettled(s);
        if (anyFlow([](const Walk& walk) { return walk.model.status == "cancelling"; })) return;
      }
    };
    if (chance(8)) {
      EXPECT_FALSE(storage->writeAndWait([&](Store& s) {
        act(s);
        throw std::runtime_error("undo it all");
      }));
      walks = before;
    } else {
      write(act);
      all_told = false;
    }
  }
  void walk(unsigned seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    dice.seed(seed);
    write([](Store& s) { s.pools().findOrCreate(PoolId("cb")).value(); });
    for (int done = 0; done < kSteps && !HasFailure(); ++done) {
      SCOPED_TRACE("step " + std::to_string(done));
      step();
      if (chance(30)) clock.advance(Millis(roll(5000)));
      const bool cancelling = std::any_of(walks.begin(), walks.end(), [](const Walk& each) {
        return each.model.status == "cancelling";
      });
      if (cancelling || chance(40)) {
        settleAndCompare();
      } else if (chance(30)) {
        settleOnce(1 + roll(5));
        expectNoCounterFaults();
      }
    }
    settleAndCompare();
  }

  std::mt19937 dice;
  std::vector<Walk> walks;
  std::map<std::string, Names> fired;
  int last_name = 0;
  bool all_told = true;
};
MUSTER_ON_EVERY_BACKEND(FlowWalkTest);

TEST_P(FlowWalkTest, agrees_with_the_model_all_the_way) { walk(20'260'301); }
TEST_P(FlowWalkTest, agrees_with_the_model_on_another_way) { walk(77'001); }
TEST_P(FlowWalkTest, agrees_with_the_model_on_a_third_way) { walk(4'711); }

// Ways on which the model or the store was wrong once.
TEST_P(FlowWalkTest, agrees_with_the_model_where_it_did_not) {
  for (const unsigned seed : {2U, 10U, 19U, 41U, 59U}) {
    walks.clear();
    walk(seed);
  }
}

}  // namespace
}  // namespace muster::test
