#include "app/leadership/elector.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>

#include "app/leadership/membership.h"

namespace muster {
namespace {

using namespace std::chrono_literals;
using Names = std::vector<std::string>;

constexpr auto kElectionPatience = 60s;

// Keeps the calls of an elector until the test answers them, in the order they came.
class HeldBallot : public Ballot {
 public:
  struct Call {
    std::string what;
    Answer<std::optional<Leader>> beat = {};
    Answer<Standing> campaign = {};
    Answer<bool> renew = {};
    Answer<void> other = {};
  };

  void beat(Answer<std::optional<Leader>> answer) override {
    add({.what = "beat", .beat = std::move(answer)});
  }
  void campaign(Answer<Standing> answer) override {
    add({.what = "campaign", .campaign = std::move(answer)});
  }
  void renew(const LeaderLease& held, Answer<bool> answer) override {
    add({.what = "renew " + std::to_string(held.epoch), .renew = std::move(answer)});
  }
  void resign(const LeaderLease& held, Answer<void> answer) override {
    add({.what = "resign " + std::to_string(held.epoch), .other = std::move(answer)});
  }
  void leave(Answer<void> answer) override { add({.what = "leave", .other = std::move(answer)}); }

  Call next() {
    std::unique_lock lock(mutex_);
    if (!filled_.wait_for(lock, kElectionPatience, [this] { return !calls_.empty(); }))
      return {"nothing"};
    Call call = std::move(calls_.front());
    calls_.pop_front();
    return call;
  }
  bool quiet() {
    const std::lock_guard lock(mutex_);
    return calls_.empty();
  }
  std::function<void(const std::string&)> on_call;

 private:
  void add(Call call) {
    if (on_call) on_call(call.what);
    const std::lock_guard lock(mutex_);
    calls_.push_back(std::move(call));
    filled_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<Call> calls_;
};

Leader leaderAt(const std::string& url) {
  Leader leader;
  leader.node = "other";
  leader.url = url;
  return leader;
}

class ElectorTest : public testing::Test {
 protected:
  // Joined, and with its first campaign asked for.
  void begin(NodeRole role = NodeRole::kAuto) {
    Elector::Options options;
    options.role = role;
    options.lease = 30s;
    options.renew = 10s;
    options.heartbeat = 1000s;  // out of the way
    elector = std::make_unique<Elector>(ballot, options, clock, log);
    elector->begin();
    auto beat = ballot.next();
    ASSERT_EQ(beat.what, "beat");
    beat.beat(std::optional(leaderAt("http://other")));
  }
  void lead(std::int64_t epoch = 1) {
    auto call = ballot.next();
    ASSERT_EQ(call.what, "campaign");
    call.campaign(won(epoch));
    ASSERT_EQ(elector->lease(), (LeaderLease{epoch, "t"}));
  }
  static Ballot::Standing won(std::int64_t epoch) {
    return {LeaderLease{epoch, "t"}, leaderAt("http://us"), Millis(30s)};
  }
  static Ballot::Standing lost(Millis left) {
    return {std::nullopt, leaderAt("http://other"), left};
  }
  void advance(Millis by) {
    clock.advance(by);
    elector->wake();
  }
  static Error broken() { return {ErrorCode::kStoreUnavailable, "no connection"}; }

  FakeClock clock;
  Log log{clock, LogLevel::kError};
  HeldBallot ballot;
  std::unique_ptr<Elector> elector;
};

TEST_F(ElectorTest, joinsThenLeadsThenRenews) {
  begin();
  EXPECT_FALSE(elector->leads());
  EXPECT_EQ(elector->leaderUrl(), "http://other");
  lead();
  EXPECT_EQ(elector->leaderUrl(), "http://us");
  for (int i = 0; i < 5; ++i) {
    advance(10s);
    auto call = ballot.next();
    ASSERT_EQ(call.what, "renew 1");
    call.renew(true);
    EXPECT_TRUE(elector->leads());
  }
}

TEST_F(ElectorTest, theLeaseIsReckonedFromBeforeItWasAskedFor) {
  begin();
  auto call = ballot.next();
  clock.advance(26'999ms);  // the answer takes its time
  call.campaign(won(1));
  EXPECT_TRUE(elector->leads());
  clock.advance(1ms);
  EXPECT_FALSE(elector->leads()) << "a tenth before it ends in the store";
}

TEST_F(ElectorTest, aProcessThatStoodStillDoesNotLeadWhenItGoesOn) {
  begin();
  lead();
  clock.advance(27s);  // nobody woke the elector
  EXPECT_FALSE(elector->leads());
}

TEST_F(ElectorTest, aRenewalThatHangsDoesNotKeepTheLease) {
  begin();
  lead();
  advance(10s);
  auto hanging = ballot.next();
  ASSERT_EQ(hanging.what, "renew 1");
  clock.advance(16'999ms);
  EXPECT_TRUE(elector->leads());
  advance(1ms);
  EXPECT_FALSE(elector->leads());
  EXPECT_TRUE(ballot.quiet()) << "one call at a time";
  advance(100s);
  hanging.renew(true);
  EXPECT_FALSE(elector->leads()) << "what comes too late brings nothing back";
  Names calls = {ballot.next().what, ballot.next().what};
  std::sort(calls.begin(), calls.end());
  EXPECT_EQ(calls, (Names{"campaign", "resign 1"})) << "and is given back";
}

TEST_F(ElectorTest, aLostLeaseIsStoodDownFromAtOnceAndTriedForAgain) {
  begin();
  lead();
  advance(10s);
  auto call = ballot.next();
  ASSERT_EQ(call.what, "renew 1");
  call.renew(false);
  EXPECT_FALSE(elector->leads());
  lead(2);
}

TEST_F(ElectorTest, aRenewalThatFailsIsTriedAgainWhileThereIsTime) {
  begin();
  lead();
  advance(10s);
  auto first = ballot.next();
  ASSERT_EQ(first.what, "renew 1");
  first.renew(tl::unexpected(broken()));
  EXPECT_TRUE(elector->leads());
  advance(2'500ms);
  auto second = ballot.next();
  ASSERT_EQ(second.what, "renew 1");
  second.renew(true);
  clock.advance(26s);
  EXPECT_TRUE(elector->leads()) << "from the second one's beginning";
}

TEST_F(ElectorTest, aVictoryThatComesTooLateIsGivenBack) {
  begin();
  auto call = ballot.next();
  ASSERT_EQ(call.what, "campaign");
  clock.advance(27s);
  call.campaign(won(4));
  EXPECT_FALSE(elector->leads());
  EXPECT_EQ(ballot.next().what, "resign 4");
}

TEST_F(ElectorTest, triesForEverAndIsThereWhenTheLeaseRunsOut) {
  begin();
  for (int i = 0; i < 20; ++i) {
    auto call = ballot.next();
    ASSERT_EQ(call.what, "campaign");
    call.campaign(lost(25s));
    advance(10s);
  }
  auto soon = ballot.next();
  ASSERT_EQ(soon.what, "campaign");
  soon.campaign(lost(3s));
  advance(3'001ms);
  auto failed = ballot.next();
  ASSERT_EQ(failed.what, "campaign");
  failed.campaign(tl::unexpected(broken()));
  advance(10s);
  lead(7);
}

TEST_F(ElectorTest, triesAtOnceWhenItHearsThatTheLeaderIsGone) {
  begin();
  auto first = ballot.next();
  elector->tryNow();  // while the campaign is under way, which may have looked before
  first.campaign(lost(25s));
  auto second = ballot.next();
  ASSERT_EQ(second.what, "campaign");
  second.campaign(lost(25s));
  elector->tryNow();
  lead(2);
  elector->tryNow();
  EXPECT_TRUE(elector->leads()) << "a leader has nothing to try for";
}

TEST_F(ElectorTest, aWorkerBeatsAndNeverTries) {
  begin(NodeRole::kWorker);
  advance(500s);
  EXPECT_TRUE(ballot.quiet());
  advance(500s);
  auto beat = ballot.next();
  ASSERT_EQ(beat.what, "beat");
  beat.beat(std::optional(leaderAt("http://new")));
  EXPECT_EQ(elector->leaderUrl(), "http://new");
}

TEST_F(ElectorTest, aHeartbeatThatFailsIsTriedAgainSoon) {
  begin(NodeRole::kWorker);
  advance(1000s);
  ballot.next().beat(tl::unexpected(broken()));
  advance(2'500ms);
  EXPECT_EQ(ballot.next().what, "beat");
}

TEST_F(ElectorTest, resigningStandsDownFirstAndLeavesItToOthersForALease) {
  begin();
  lead();
  std::optional<bool> led_when_asked;
  ballot.on_call = [&](const std::string& what) {
    if (what.starts_with("resign")) led_when_asked = elector->leads();
  };
  std::optional<Status> done;
  elector->resign([&](const Status& status) { done = status; });
  EXPECT_EQ(led_when_asked, false);
  ballot.next().other({});
  ASSERT_TRUE(done);
  EXPECT_TRUE(*done);
  advance(29s);
  EXPECT_TRUE(ballot.quiet());
  advance(1s);
  EXPECT_EQ(ballot.next().what, "campaign");
  elector->resign([&](const Status& status) { done = status; });
  EXPECT_EQ(done->error().code, ErrorCode::kNotLeader) << "it has nothing to resign from";
}

TEST_F(ElectorTest, aStopResignsAndLeaves) {
  begin();
  lead();
  Names calls;
  std::jthread store([&] {
    for (int i = 0; i < 2; ++i) {
      auto call = ballot.next();
      calls.push_back(call.what);
      if (call.other) call.other({});
    }
  });
  elector->stop();
  store.join();
  EXPECT_EQ(calls, (Names{"resign 1", "leave"}));
  EXPECT_FALSE(elector->leads());
}

TEST_F(ElectorTest, oneThatIsRetiredNeverLeadsAgain) {
  begin();
  auto call = ballot.next();
  ASSERT_EQ(call.what, "campaign");
  elector->retire();
  call.campaign(won(3));
  EXPECT_FALSE(elector->leads());
  EXPECT_EQ(ballot.next().what, "resign 3");
  advance(100s);
  EXPECT_TRUE(ballot.quiet());
}

// Two nodes on one store, each on its own, with nothing faked but the time.
TEST(Membership, ofTwoNodesOneLeadsAndTheOtherFollowsWhenItStops) {
  FakeClock clock;
  const Log log(clock, LogLevel::kError);
  StorageOptions options;
  options.url = "memory:";
  auto storage = openStorage(options, clock).value();
  struct Member {
    Member(Storage& storage, const std::string& id, const Clock& clock, const Log& log)
        : membership(storage, {node(id), id + "-1", Seconds(30), {}}, log),
          elector(membership, {}, clock, log) {
      elector.begin();
    }
    static Node node(const std::string& id) {
      Node made;
      made.id = id;
      made.url = "http://" + id;
      return made;
    }
    Membership membership;
    Elector elector;
  };
  const auto eventually = [](const auto& condition) {
    const auto deadline = std::chrono::steady_clock::now() + kElectionPatience;
    while (!condition() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    return condition();
  };
  Member a(*storage, "a", clock, log);
  ASSERT_TRUE(eventually([&] { return a.elector.leads(); }));
  Member b(*storage, "b", clock, log);
  ASSERT_TRUE(eventually([&] { return b.elector.leaderUrl() == "http://a"; }));
  EXPECT_FALSE(b.elector.leads());
  a.elector.stop();
  EXPECT_FALSE(a.elector.leads());
  b.elector.tryNow();
  ASSERT_TRUE(eventually([&] { return b.elector.leads(); }));
  EXPECT_EQ(b.elector.lease()->epoch, 2);
  b.elector.stop();
  storage->stop();
}

}  // namespace
}  // namespace muster
