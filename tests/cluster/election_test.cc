#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <set>

#include "models/store/storage.h"
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
  for (const char* id : {"a", "b", "c"}) start(id);
  const std::string first = leader({"a", "b", "c"});
  std::vector<std::string> rest;
  for (const char* id : {"a", "b", "c"}) {
    if (id != first) rest.emplace_back(id);
  }
  ASSERT_EQ(epoch(first), 1);
  node(first).kill9();
  const std::string expired = database().value("SELECT expires_at FROM leader");
  ASSERT_TRUE(becomes([&] { return epoch(rest[0]) == 2; }));
  const std::string second = leader(rest);
  EXPECT_NE(second, first);
  const auto took =
      std::stoll(database().value("SELECT acquired_at FROM leader")) - std::stoll(expired);
  EXPECT_GE(took, 0) << "not before the lease was over";
  EXPECT_LE(took, 1000 + 2000) << "a renewal interval later at most, and what a busy machine needs";
  const auto lost = events(second, "leader.lost");
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(lost[0]["node_id"], first);
  EXPECT_EQ(lost[0]["details"]["reason"], "expired");
  // Later its silence is noticed, too.
  ASSERT_TRUE(becomes([&] { return !events(second, "node.lost").empty(); }));
  EXPECT_EQ(events(second, "node.lost")[0]["node_id"], first);
  // It comes back as one of the others.
  start(first);
  EXPECT_TRUE(becomes([&] { return cluster(first)["role"] == "worker"; }));
  EXPECT_EQ(leader({"a", "b", "c"}), second);
}

TEST_F(ElectionTest, aProperStopHandsOverAtOnce) {
  for (const char* id : {"a", "b"}) startPatient(id);
  const std::string first = leader({"a", "b"}), second = first == "a" ? "b" : "a";
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(node(first).stop(), 0);
  EXPECT_TRUE(becomes([&] { return leads(second); }));
  EXPECT_LT(std::chrono::steady_clock::now() - began, 9s) << "long before it would have tried";
  EXPECT_EQ(epoch(second), 2);
  EXPECT_EQ(cluster(second)["nodes"].size(), 1U) << "it left";
  EXPECT_EQ(events(second, "leader.lost")[0]["details"]["reason"], "resigned");
}

TEST_F(ElectionTest, aLeaderResignsWhenItIsToldTo) {
  for (const char* id : {"a", "b"}) startPatient(id);
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
  for (const char* id : {"a", "b"}) startPatient(id);
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
  start("a");
  ASSERT_EQ(leader({"a"}), "a");
  PostgresServer::shared().stop();
  EXPECT_TRUE(becomes([&] {
    return node("a").log().find("the lease was not renewed in time") != std::string::npos;
  }));
  PostgresServer::shared().start();
  EXPECT_TRUE(becomes([&] { return leads("a"); }));
  EXPECT_EQ(epoch("a"), 2);
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
  start("a");
  ASSERT_TRUE(becomes([&] { return leads("a"); }));
  const TempFolder folder;
  ChildProcess other({{musterBinary(), "serve", "--listen", "127.0.0.1:0", "--store", databaseUrl(),
                       "--node-id", "a"},
                      folder.path()});
  EXPECT_EQ(other.wait(), 2);
  EXPECT_NE(other.err().find("the node 'a' is running already"), std::string::npos) << other.err();
  EXPECT_TRUE(leads("a"));
  node("a").kill9();
  start("a");  // at once: its own earlier self is no obstacle
  EXPECT_TRUE(becomes([&] { return leads("a"); }));
}

}  // namespace
}  // namespace muster::test
