#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "models/store/storage.h"
#include "models/time.h"
#include "tests/cluster/cluster_fixture.h"

namespace muster::test {
namespace {

class WallClock : public Clock {
 public:
  Time now() const override {
    return std::chrono::time_point_cast<Millis>(std::chrono::system_clock::now());
  }
  std::chrono::nanoseconds monotonic() const override {
    return std::chrono::steady_clock::now().time_since_epoch();
  }
};

// A process that wins the lead so many times, in units beside those of the other as electors have
// them, and writes down each epoch. Whoever holds it makes a file that must not be there yet. Exit
// code 0: nobody else ever held it at the same time.
class Racer {
 public:
  Racer(std::string url, std::filesystem::path folder, std::string name, int times)
      : url_(std::move(url)), folder_(std::move(folder)), name_(std::move(name)), times_(times) {}

  [[noreturn]] void run() {
    int faults = 0;
    {
      StorageOptions options;
      options.url = url_;
      auto storage = openStorage(options, clock_);
      if (!storage) ::_exit(100);
      std::ofstream epochs(folder_ / name_);
      for (int won = 0; won < times_;) {
        // Half of the times the lease is resigned, half of the times it runs out.
        const bool resigns = won % 2 == 0;
        std::optional<LeaderLease> lease;
        const auto status = (*storage)->writeAndWait(
            [&](Store& store) {
              lease = store.cluster().acquire(name_, resigns ? Millis(30s) : Millis(1));
            },
            Isolation::kShared);
        if (!status) ++faults;
        if (!status || !lease) continue;
        ++won;
        epochs << lease->epoch << "\n";
        if (resigns && !hold(**storage, *lease)) ++faults;
      }
    }
    ::_exit(std::min(faults, 99));
  }

 private:
  bool hold(Storage& storage, const LeaderLease& lease) {
    const std::string mark = folder_ / "held";
    const int file = ::open(mark.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (file < 0) return false;
    ::close(file);
    bool held = false;
    const auto looked = storage.writeAndWait(
        [&](Store& store) { held = store.cluster().holds(lease); }, Isolation::kShared);
    ::unlink(mark.c_str());
    bool resigned = false;
    const auto ended = storage.writeAndWait(
        [&](Store& store) { resigned = store.cluster().resign(lease); }, Isolation::kShared);
    return looked && ended && held && resigned;
  }

  const std::string url_;
  const std::filesystem::path folder_;
  const std::string name_;
  const int times_;
  const WallClock clock_;
};

TEST(Election, ofTwoProcessesThatRaceAThousandTimesOneWinsEachTime) {
  constexpr int kEach = 500;
  PostgresDatabase database;
  const TempFolder folder;
  std::vector<pid_t> racers;
  for (const char* name : {"a", "b"}) {
    const pid_t child = ::fork();
    if (child == 0) Racer(database.url(), folder.path(), name, kEach).run();
    racers.push_back(child);
  }
  for (const pid_t racer : racers) {
    int status = 0;
    ASSERT_EQ(::waitpid(racer, &status, 0), racer);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0) << "so many times something was wrong; 100: no store";
  }
  std::set<std::int64_t> epochs;
  for (const char* name : {"a", "b"}) {
    std::ifstream file(folder / name);
    for (std::int64_t epoch = 0; file >> epoch;) {
      EXPECT_TRUE(epochs.insert(epoch).second) << "epoch " << epoch << " twice";
    }
  }
  EXPECT_EQ(epochs.size(), 2U * kEach);
  EXPECT_EQ(*epochs.rbegin(), 2 * kEach) << "none was skipped";
  EXPECT_EQ(database.value("SELECT count(*) FROM leader"), "1");
}

class ElectionTest : public ClusterFixture {};

TEST_F(ElectionTest, oneOfThreeLeadsAndAllAgree) {
  for (const char* id : {"a", "b", "c"}) start(id);
  const std::string first = leader({"a", "b", "c"});
  int leaders = 0;
  for (const char* id : {"a", "b", "c"}) {
    EXPECT_TRUE(becomes([&] { return cluster(id)["nodes"].size() == 3; }));
    EXPECT_EQ(leads(id), id == first);
    leaders += at(id).get("/metrics").body.find("\nmuster_leader 1\n") != std::string::npos;
    const Json::Value seen = cluster(id);
    EXPECT_EQ(seen["leader"]["url"], node(first).url());
    for (const Json::Value& one : seen["nodes"]) {
      EXPECT_EQ(one["role"], one["node_id"] == first ? "leader" : "worker");
      EXPECT_EQ(one["status"], "healthy");
    }
  }
  EXPECT_EQ(leaders, 1);
  EXPECT_EQ(events("a", "node.joined").size(), 3U);
  EXPECT_EQ(events("a", "leader.elected").size(), 1U);
}

TEST_F(ElectionTest, aLeaderThatIsKilledIsReplacedWhenItsLeaseRunsOut) {
  for (const char* id : {"a", "b", "c"}) startShortLived(id);
  const std::string first = leader({"a", "b", "c"});
  std::vector<std::string> rest;
  for (const char* id : {"a", "b", "c"}) {
    if (id != first) rest.emplace_back(id);
  }
  const Json::Int64 before = epoch(first);
  const std::string expires = database().value("SELECT expires_at FROM leader");  // or later
  node(first).kill9();
  ASSERT_TRUE(becomes([&] { return epoch(rest[0]) > before; }));
  const std::string second = leader(rest);
  EXPECT_NE(second, first);
  const auto elected = events(second, "leader.elected");
  const auto next = std::find_if(elected.begin(), elected.end(), [&](const Json::Value& event) {
    return event["details"]["epoch"].asInt64() == before + 1;
  });
  ASSERT_NE(next, elected.end());
  EXPECT_GE(*parseTime((*next)["at"].asString()), fromMillis(std::stoll(expires)))
      << "not before the lease was over";
  const auto is_first = [&](const Json::Value& event) { return event["node_id"] == first; };
  const auto lost = events(second, "leader.lost");
  const auto its_end = std::find_if(lost.begin(), lost.end(), is_first);
  ASSERT_NE(its_end, lost.end());
  EXPECT_EQ((*its_end)["details"]["reason"], "expired");
  // Later its silence is noticed, too.
  EXPECT_TRUE(becomes([&] {
    const auto silent = events(second, "node.lost");
    return std::any_of(silent.begin(), silent.end(), is_first);
  }));
  // It comes back as one of the others.
  startShortLived(first);
  EXPECT_TRUE(becomes([&] { return cluster(first)["role"] == "worker"; }));
  EXPECT_NE(leader({"a", "b", "c"}), first);
}

TEST_F(ElectionTest, aProperStopHandsOverAtOnce) {
  for (const char* id : {"a", "b"}) start(id);
  const std::string first = leader({"a", "b"}), second = first == "a" ? "b" : "a";
  EXPECT_EQ(node(first).stop(), 0);
  EXPECT_TRUE(becomes([&] { return leads(second); })) << "long before it would have tried";
  EXPECT_EQ(epoch(second), 2);
  EXPECT_EQ(cluster(second)["nodes"].size(), 1U) << "it left";
  EXPECT_EQ(events(second, "leader.lost")[0]["details"]["reason"], "resigned");
}

TEST_F(ElectionTest, aLeaderResignsWhenItIsToldTo) {
  for (const char* id : {"a", "b"}) start(id);
  const std::string first = leader({"a", "b"}), second = first == "a" ? "b" : "a";
  Reply refused;
  EXPECT_TRUE(becomes([&] {
    refused = at(second).post("/v1/cluster/resign");
    return refused.json["leader_url"] == node(first).url();
  })) << refused;
  EXPECT_TRUE(isProblem(refused, 503, "not_leader"));
  EXPECT_TRUE(refused.hasHeader("retry-after"));
  const Reply done = at(first).post("/v1/cluster/resign");
  EXPECT_EQ(done.status, 200) << done;
  EXPECT_TRUE(becomes([&] { return leads(second); }));
  EXPECT_FALSE(leads(first));
  EXPECT_EQ(epoch(second), 2);
}

TEST_F(ElectionTest, theCommandFindsTheLeader) {
  for (const char* id : {"a", "b"}) start(id);
  const std::string first = leader({"a", "b"}), second = first == "a" ? "b" : "a";
  const TempFolder folder;
  ChildProcess shown({{musterBinary(), "cluster", "--url", node(second).url()}, folder.path()});
  EXPECT_EQ(shown.wait(), 0) << shown.err();
  EXPECT_NE(shown.out().find("← epoch 1, "), std::string::npos) << shown.out();
  ChildProcess resigned(
      {{musterBinary(), "cluster", "resign", "--url", node(second).url()}, folder.path()});
  EXPECT_EQ(resigned.wait(), 0) << resigned.err();
  EXPECT_TRUE(becomes([&] { return leads(second); }));
}

TEST_F(ElectionTest, aLeaderWithoutItsDatabaseStandsDownAndIsElectedAgainWhenItIsBack) {
  startShortLived("a");
  ASSERT_EQ(leader({"a"}), "a");
  const Json::Int64 before = epoch("a");
  PostgresServer::shared().stop();
  EXPECT_TRUE(becomes([&] {
    return node("a").log().find("the lease was not renewed in time") != std::string::npos;
  }));
  PostgresServer::shared().start();
  EXPECT_TRUE(becomes([&] { return leads("a"); }));
  EXPECT_GT(epoch("a"), before);
}

TEST_F(ElectionTest, workersAndObserversNeverLead) {
  start("w", "node_role: worker\n");
  start("o", "node_role: observer\n");
  ASSERT_TRUE(becomes([&] { return cluster("o")["nodes"].size() == 2; }));
  EXPECT_FALSE(cluster("w").isMember("leader"));
  start("a");
  EXPECT_EQ(leader({"a", "w", "o"}), "a");
  EXPECT_EQ(cluster("o")["role"], "observer");
  EXPECT_EQ(cluster("w")["role"], "worker");
  EXPECT_EQ(cluster("w")["leader"]["epoch"], 1) << "nobody had led before";
}

TEST_F(ElectionTest, aSecondNodeOfTheSameNameIsRefused) {
  startShortLived("a");
  ASSERT_TRUE(becomes([&] { return leads("a"); }));
  const TempFolder folder;
  ChildProcess other({{musterBinary(), "serve", "--listen", "127.0.0.1:0", "--store", databaseUrl(),
                       "--node-id", "a"},
                      folder.path()});
  EXPECT_EQ(other.wait(), 2);
  EXPECT_NE(other.err().find("the node 'a' is running already"), std::string::npos) << other.err();
  EXPECT_TRUE(becomes([&] { return leads("a"); }));
  node("a").kill9();
  startShortLived("a");  // at once: its own earlier self is no obstacle
  EXPECT_TRUE(becomes([&] { return leads("a"); }));
}

}  // namespace
}  // namespace muster::test
