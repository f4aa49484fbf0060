// A service that ends without warning in the middle of uploads, downloads, deletes and collection.
#include <atomic>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "tests/support/blob_folder.h"
#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

constexpr int kCrashRounds = 5;
constexpr int kUploaders = 3;
constexpr unsigned kCrashContents = 5;
constexpr std::size_t kCrashBytes = 60'000;
constexpr std::size_t kCrashPart = 20'000;

std::string crashContent(unsigned which) { return noise(kCrashBytes, which + 1); }

// What the service has answered, over all its lives.
struct StoredLedger {
  struct Entry {
    unsigned content = 0;
    bool is_stored = false;
    bool may_be_gone = false;  // a delete was sent
    bool is_gone = false;      // and answered
  };
  std::mutex mutex;
  std::map<std::string, Entry> entries;  // by id
  std::vector<std::string> contradictions;

  void contradict(const std::string& what) {
    const std::lock_guard lock(mutex);
    contradictions.push_back(what);
  }
  void set(const std::string& id, const Entry& entry) {
    const std::lock_guard lock(mutex);
    entries[id] = entry;
  }
};

// Uploads one resource after the other in parts, goes on with one that a crash cut off, and deletes
// every other one.
class Uploader {
 public:
  Uploader(unsigned number, StoredLedger& ledger)
      : number_(number), dice_(number + 1), ledger_(ledger) {}

  // Until the service is gone.
  void run(const std::string& url, std::atomic<int>& answers) {
    Http http(url);
    ResourceClient resources(http);
    while (step(resources)) ++answers;
  }

 private:
  // False: there was no answer.
  bool step(ResourceClient& resources) {
    const std::string id = "crash/" + std::to_string(number_) + "/" + std::to_string(resource_);
    const Reply found = resources.get(id);
    if (found.status == 0) return false;
    if (found.status == 404) {
      content_ = static_cast<unsigned>(dice_() % kCrashContents);
      ledger_.set(id, {.content = content_});
      const Reply made =
          resources.tryCreate(R"("resource_id":")" + id + R"(","type":"file","size_bytes":)" +
                              std::to_string(kCrashBytes));
      if (made.status != 0 && made.status != 201) ledger_.contradict("create: " + made.body);
      return made.status != 0;
    }
    if (found.json["state"] == "uploading") return sendPart(resources, id, found);
    if (found.json["state"] == "active") return finish(resources, id);
    ++resource_;  // it was deleted, and the answer was lost
    return true;
  }

  bool sendPart(ResourceClient& resources, const std::string& id, const Reply& found) {
    const std::int64_t offset = found.json["upload_offset"].asInt64();
    const std::string part =
        crashContent(content_).substr(static_cast<std::size_t>(offset), kCrashPart);
    const Reply sent = resources.patch(id, offset, part);
    if (sent.status != 0 && sent.status != 200) ledger_.contradict("part: " + sent.body);
    return sent.status != 0;
  }

  bool finish(ResourceClient& resources, const std::string& id) {
    ledger_.set(id, {.content = content_, .is_stored = true});
    const Reply read = resources.content(id);
    if (read.status == 0) return false;
    if (read.body != crashContent(content_)) ledger_.contradict(id + " is not what was sent");
    if (resource_ % 2 == 0) {
      ledger_.set(id, {.content = content_, .is_stored = true, .may_be_gone = true});
      const Reply removed = resources.remove(id);
      if (removed.status == 0) return false;
      if (removed.status != 200) ledger_.contradict("delete: " + removed.body);
      ledger_.set(id, {content_, true, true, true});
    }
    ++resource_;
    return true;
  }

  const unsigned number_;
  std::minstd_rand dice_;
  StoredLedger& ledger_;
  int resource_ = 0;
  unsigned content_ = 0;
};

class ResourceCrash : public testing::Test {
 protected:
  void liveAndDie(int answers_wanted) {
    std::atomic<int> answers = 0;
    std::vector<std::jthread> threads;
    for (Uploader& uploader : uploaders_) {
      threads.emplace_back(
          [&uploader, &answers, url = service_.url()] { uploader.run(url, answers); });
    }
    threads.emplace_back([this, url = service_.url()] {
      for (Http http(url); http.post("/v1/tick").status != 0;) folder_.makeOld();
    });
    EXPECT_TRUE(
        eventually(kPatience, [&answers, answers_wanted] { return answers >= answers_wanted; }))
        << "only " << answers;
    service_.kill9();
  }

  // What was answered holds.
  void expectKept(Http& http) {
    ResourceClient resources(http);
    for (const auto& [id, entry] : ledger_.entries) {
      if (!entry.is_stored) continue;
      const Reply read = resources.content(id);
      if (!entry.may_be_gone || (!entry.is_gone && read.status == 200)) {
        EXPECT_EQ(read.status, 200) << id << read.body.substr(0, 300);
        EXPECT_TRUE(read.body == crashContent(entry.content)) << id;
      } else {
        EXPECT_TRUE(isProblem(read, 410, "resource_evicted")) << id;
      }
    }
  }

  Service service_{{.store = lastingStore(), .settings = "blob_grace_seconds: 0\n"}};
  const BlobFolder folder_{service_};
  StoredLedger ledger_;
  std::vector<Uploader> uploaders_;
};

TEST_F(ResourceCrash, what_was_stored_is_there_after_each_kill_9) {
  for (unsigned i = 0; i < kUploaders; ++i) uploaders_.emplace_back(i, ledger_);
  std::mt19937 dice(20240117);
  for (int round = 0; round < kCrashRounds; ++round) {
    liveAndDie(static_cast<int>(30 + dice() % 50));
    service_.start();
    Http http(service_.url());
    expectAllReadable(http);
  }
  EXPECT_TRUE(ledger_.contradictions.empty()) << ledger_.contradictions.front();
  EXPECT_GT(ledger_.entries.size(), 15U);
  Http http(service_.url());
  expectKept(http);
  expectNoStrays(http, folder_);
  expectAllReadable(http);
  EXPECT_EQ(service_.stop(), 0) << service_.log();
}

}  // namespace
}  // namespace muster::test
