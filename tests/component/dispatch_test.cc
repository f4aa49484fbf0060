#include "triggers/dispatch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>

#include "app/config/zone_files.h"

namespace muster {
namespace {

using namespace std::chrono_literals;
using Names = std::vector<std::string>;

class NotedMachines : public Machines {
 public:
  void check(const Run& run) override { note("check " + run.trigger + " " + run.pool.str()); }
  void reap(const Run& run) override {
    const Millis threshold = run.stale_threshold.value_or(Millis(0));
    note("reap " + run.trigger + " " + std::to_string(threshold.count()));
  }
  Names take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(runs_, {});
  }

 private:
  void note(std::string what) {
    const std::lock_guard lock(mutex_);
    runs_.push_back(std::move(what));
  }
  std::mutex mutex_;
  Names runs_;
};

class NotedProcess : public MachineProcess {
 public:
  std::optional<std::string> run(const std::string& machine, const Machines::Run& run,
                                 const std::stop_token&) override {
    ran.set_value(machine + " " + run.pool.str());
    return std::nullopt;
  }
  std::promise<std::string> ran;
};

// Answers what it is told to, one after the other.
class NotedCall : public FunctionCall {
 public:
  std::optional<Failure> post(const Target& target, const std::string& json,
                              const std::stop_token&) override {
    const std::lock_guard lock(mutex_);
    posts.push_back(target.url + " " + json);
    if (answers.empty()) return std::nullopt;
    auto answer = answers.front();
    answers.erase(answers.begin());
    return answer;
  }
  std::mutex mutex_;
  Names posts;
  std::vector<std::optional<Failure>> answers;
};

TriggerSpec trigger(const std::string& name, TriggerType type, const std::string& on) {
  TriggerSpec spec;
  spec.name = name;
  spec.type = type;
  spec.on = on;
  spec.machine = machine::kChecker;
  return spec;
}

class DispatchTest : public testing::Test {
 protected:
  DispatchTest() {
    StorageOptions options;
    options.url = "memory:";
    options.on_commit = [this](std::span<const Event> events) { dispatch->onCommit(events); };
    storage = openStorage(options, clock).value();
    dispatch = std::make_unique<Dispatch>(
        Dispatch::Parts{registry, *storage, clock, machines, *processes, *functions, failed,
                        [this](const std::string&) { ++started; }, [this] { return lease; }});
  }
  ~DispatchTest() override {
    processes->stop();
    functions->stop();
    storage->stop();
  }

  void configure(const std::vector<TriggerSpec>& specs) {
    std::vector<Trigger> all;
    ASSERT_TRUE(storage->writeAndWait([&](Store& store) {
      store.triggers().replaceConfigured(specs);
      all = store.triggers().all();
    }));
    registry.replace(all, registry.stamp());
  }
  void push(const std::string& pool, int count = 1) {
    ASSERT_TRUE(storage->writeAndWait([&](Store& store) {
      const auto found = store.pools().findOrCreate(PoolId(pool)).value();
      for (int i = 0; i < count; ++i) store.jobs().push(*found, {.data = "1"});
    }));
  }
  // All that was handed to the store so far is done.
  void settle() {
    ASSERT_TRUE(storage->writeAndWait([](Store&) {}));
  }
  Names tick() {
    dispatch->tick();
    settle();
    settle();
    return machines.take();
  }

  FakeClock clock{parseTime("2026-03-01T12:00:00Z").value()};
  TriggerRegistry registry{findZone};
  std::optional<LeaderLease> lease = LeaderLease{};
  NotedMachines machines;
  NotedProcess process;
  NotedCall call;
  std::mutex mutex;
  Names failures;
  ErrandFailed failed = [this](const std::string& name, const std::string& what) {
    const std::lock_guard lock(mutex);
    failures.push_back(name + " " + what);
    failures_seen.notify_all();
  };
  std::condition_variable failures_seen;
  std::atomic<int> started = 0;
  std::unique_ptr<SubprocessTrigger> processes =
      std::make_unique<SubprocessTrigger>(process, failed);
  std::unique_ptr<LambdaTrigger> functions =
      std::make_unique<LambdaTrigger>(call, failed, Millis(0));
  std::unique_ptr<Dispatch> dispatch;
  std::unique_ptr<Storage> storage;
};

TEST_F(DispatchTest, workThatWasAddedIsCheckedOncePerPoolAndCommit) {
  configure(defaultTriggers());
  push("p", 100);
  settle();
  EXPECT_EQ(machines.take(), Names{"check check_on_work_added p"});
  EXPECT_EQ(dispatch->lastFired("check_on_work_added"), clock.now());
  tick();
  EXPECT_EQ(dispatch->lastFired("check_on_work_added"), std::nullopt) << "it is in the store";
  std::optional<Trigger> kept;
  ASSERT_TRUE(storage->readAndWait(
      [&](Store& store) { kept = store.triggers().find("check_on_work_added"); }));
  EXPECT_EQ(kept->last_fired_at, clock.now());
}

TEST_F(DispatchTest, a_blocked_job_is_checked_for_when_it_is_unblocked) {
  auto triggers = defaultTriggers();
  triggers.push_back(trigger("created", TriggerType::kInLoop, "job_created"));
  configure(triggers);
  Event blocked, pending;
  blocked.type = pending.type = event_type::kJobCreated;
  blocked.details = R"({"blocked":true})";
  blocked.pool = "later";
  pending.pool = "now";
  dispatch->onCommit(std::vector{pending, blocked, pending});
  Names taken = machines.take();
  std::sort(taken.begin(), taken.end());
  EXPECT_EQ(taken,
            (Names{"check check_on_work_added now", "check created later", "check created now"}));
  blocked.type = event_type::kJobUnblocked;
  blocked.details.clear();
  dispatch->onCommit(std::vector{blocked, blocked});
  EXPECT_EQ(machines.take(), Names{"check check_on_work_added later"});
}

TEST_F(DispatchTest, a_flow_may_set_off_a_trigger) {
  configure({trigger("t", TriggerType::kInLoop, "flow_failed")});
  Event ended;
  ended.type = event_type::kFlowSucceeded;
  dispatch->onCommit(std::vector{ended});
  EXPECT_EQ(machines.take(), Names{});
  ended.type = event_type::kFlowFailed;
  dispatch->onCommit(std::vector{ended});
  EXPECT_EQ(machines.take(), Names{"check t "});
}

TEST_F(DispatchTest, aTriggerOfOnePoolDoesNotMindTheOthers) {
  auto spec = trigger("t", TriggerType::kInLoop, "job_created");
  spec.input.pool = PoolId("p");
  spec.input_json = R"({"pool_id":"p"})";
  configure({spec});
  push("q");
  push("p");
  settle();
  EXPECT_EQ(machines.take(), Names{"check t p"});
}

TEST_F(DispatchTest, disabledAndRemovedTriggersAreSilent) {
  auto spec = trigger("t", TriggerType::kInLoop, "work_added");
  spec.enabled = false;
  configure({spec});
  push("p");
  configure({});
  push("p");
  settle();
  EXPECT_EQ(machines.take(), Names{});
}

TEST_F(DispatchTest, theReaperIsAMachineToo) {
  auto spec = trigger("r", TriggerType::kInLoop, "work_added");
  spec.machine = machine::kReaper;
  spec.input.stale_threshold = 1500ms;
  spec.input_json = R"({"stale_threshold_seconds":1.5})";
  configure({spec});
  push("p");
  settle();
  EXPECT_EQ(machines.take(), Names{"reap r 1500"});
}

TEST_F(DispatchTest, aScheduleFiresWhenItIsDueAndOnceForAllItMissed) {
  auto spec = trigger("c", TriggerType::kCron, "");
  spec.schedule = "*/5 * * * *";
  configure({spec});
  EXPECT_EQ(tick(), Names{}) << "not for the time before it was there";
  clock.advance(4min + 59s);
  EXPECT_EQ(tick(), Names{});
  clock.advance(1s);
  EXPECT_EQ(tick(), Names{"check c "});
  EXPECT_EQ(tick(), Names{});
  clock.advance(3h);
  configure({spec});  // as after a restart
  EXPECT_EQ(tick(), Names{"check c "}) << "once, however often it was missed";
  EXPECT_EQ(tick(), Names{});
  clock.advance(5min);
  EXPECT_EQ(tick(), Names{"check c "});
}

TEST_F(DispatchTest, onlyTheLeaderFiresSchedules) {
  TriggerSpec spec;
  spec.name = "c";
  spec.type = TriggerType::kCron;
  spec.schedule = "@hourly";
  spec.machine = machine::kChecker;
  configure({spec});
  std::optional<LeaderLease> first, second;
  ASSERT_TRUE(storage->writeAndWait([&](Store& s) { first = s.cluster().acquire("a", 30s); }));
  clock.advance(2h);
  lease = std::nullopt;
  EXPECT_EQ(tick(), Names{}) << "it does not lead";
  ASSERT_TRUE(storage->writeAndWait([&](Store& s) { second = s.cluster().acquire("b", 30s); }));
  lease = first;
  EXPECT_EQ(tick(), Names{}) << "it stood still, and another leads";
  lease = second;
  EXPECT_EQ(tick(), Names{"check c "});
  std::vector<Event> fired;
  ASSERT_TRUE(storage->readAndWait([&](Store& s) {
    fired = s.events().latest({.types = {"trigger.fired"}, .pool = {}, .job = {}, .worker = {}}, 9);
  }));
  ASSERT_EQ(fired.size(), 1U);
  EXPECT_NE(fired[0].details.find(R"("leader_epoch":2)"), std::string::npos) << fired[0].details;
}

TEST_F(DispatchTest, aSubprocessRunsItsMachineElsewhere) {
  configure({trigger("s", TriggerType::kSubprocess, "work_added")});
  auto ran = process.ran.get_future();
  push("p");
  ASSERT_EQ(ran.wait_for(60s), std::future_status::ready);
  EXPECT_EQ(ran.get(), "parallelization_checker p");
  EXPECT_EQ(machines.take(), Names{});
}

TEST_F(DispatchTest, aLambdaIsCalledAgainAfterAFailureThreeTimesInAll) {
  auto spec = trigger("l", TriggerType::kLambda, "work_added");
  spec.machine.clear();
  spec.input_json = R"({"url":"https://f.example/"})";
  spec.input.url = "https://f.example/";
  configure({spec});
  call.answers = {FunctionCall::Failure{"1", true}, FunctionCall::Failure{"2", true},
                  FunctionCall::Failure{"3", true}};
  push("p");
  {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(failures_seen.wait_for(lock, 60s, [this] { return !failures.empty(); }));
    EXPECT_EQ(failures, Names{"l 3"});
  }
  ASSERT_EQ(call.posts.size(), 3U);
  EXPECT_EQ(call.posts[0], call.posts[2]);
  EXPECT_TRUE(
      call.posts[0].starts_with(R"(https://f.example/ {"trigger":"l","pool_id":"p","run_id":")"))
      << call.posts[0];
}

TEST_F(DispatchTest, aLambdaThatWillNeverWorkIsCalledOnce) {
  auto spec = trigger("l", TriggerType::kLambda, "work_added");
  spec.input_json = R"({"url":"https://f.example/"})";
  configure({spec});
  call.answers = {FunctionCall::Failure{"answered 404", false}};
  push("p");
  std::unique_lock lock(mutex);
  ASSERT_TRUE(failures_seen.wait_for(lock, 60s, [this] { return !failures.empty(); }));
  EXPECT_EQ(call.posts.size(), 1U);
}

TEST(Errands, thatWaitUnderOneKeyAreOne) {
  Errands errands(2);
  std::promise<void> began, go_on;
  std::atomic<int> ran = 0;
  errands.post("first", [&](const std::stop_token&) {
    began.set_value();
    go_on.get_future().wait();
  });
  began.get_future().wait();
  const auto count = [&](const std::stop_token&) { ++ran; };
  EXPECT_EQ(errands.post("a", count), Errands::Answer::kAccepted);
  EXPECT_EQ(errands.post("a", count), Errands::Answer::kMerged);
  EXPECT_EQ(errands.post("first", count), Errands::Answer::kAccepted)
      << "it runs, it does not wait";
  EXPECT_EQ(errands.post("b", count), Errands::Answer::kFull);
  std::promise<void> last;
  go_on.set_value();
  while (errands.post("last", [&](const std::stop_token&) { last.set_value(); }) !=
         Errands::Answer::kAccepted) {
    std::this_thread::yield();
  }
  last.get_future().wait();
  EXPECT_EQ(ran, 2);
  errands.stop();
  EXPECT_EQ(errands.post("a", count), Errands::Answer::kStopped);
}

}  // namespace
}  // namespace muster
