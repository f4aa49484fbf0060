// Uploads, downloads and deletes of the same bytes, while the collector takes what nobody uses.
#include <atomic>
#include <random>
#include <thread>

#include "tests/support/blob_folder.h"
#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

constexpr unsigned kRaceContents = 3;
constexpr int kRaceClients = 3;
constexpr int kRaceRounds = 30;
constexpr std::size_t kRaceBytes = 30'000;

// Makes resources of a few contents that others make too, reads them, and deletes two of three.
class RacingClient {
 public:
  RacingClient(std::string url, int number)
      : http_(std::move(url)), number_(number), dice_(static_cast<unsigned>(number)) {}

  void run() {
    for (int round = 0; round < kRaceRounds; ++round) {
      const std::string id = "race/" + std::to_string(number_) + "/" + std::to_string(round);
      const std::string bytes =
          noise(kRaceBytes, 1 + static_cast<unsigned>(dice_()) % kRaceContents);
      upload(id, bytes);
      const Reply read = resources_.content(id);
      EXPECT_EQ(read.status, 200) << read.status << " " << id;
      EXPECT_TRUE(read.body == bytes) << id;
      if (round % 3 == 0) continue;
      const Reply removed = resources_.remove(id);
      EXPECT_EQ(removed.status, 200) << removed;
      EXPECT_TRUE(isProblem(resources_.content(id), 410, "resource_evicted")) << id;
    }
  }

 private:
  void upload(const std::string& id, const std::string& bytes) {
    const std::size_t half = bytes.size() / 2;
    if (dice_() % 2 == 0) {
      resources_.createStored(id, bytes);
      return;
    }
    resources_.create(R"("resource_id":")" + id + R"(","type":"file","size_bytes":)" +
                      std::to_string(bytes.size()));
    EXPECT_EQ(resources_.patch(id, 0, bytes.substr(0, half)).status, 200);
    const Reply last = resources_.patch(id, static_cast<std::int64_t>(half), bytes.substr(half));
    EXPECT_EQ(last.json["state"], "active") << last;
  }

  Http http_;
  ResourceClient resources_{http_};
  const int number_;
  std::minstd_rand dice_;
};

TEST(ResourceRace, leaves_each_stored_resource_with_its_file_and_no_other_file) {
  Service service({.store = lastingStore(), .settings = "blob_grace_seconds: 0\n"});
  const BlobFolder folder(service);
  std::atomic<int> at_work = kRaceClients;
  std::vector<std::jthread> threads;
  for (int number = 1; number <= kRaceClients; ++number) {
    threads.emplace_back([&at_work, number, url = service.url()] {
      RacingClient(url, number).run();
      --at_work;
    });
  }
  // The collector, which may also find that a file is hours old.
  Http http(service.url());
  while (at_work > 0) {
    folder.makeOld();
    EXPECT_EQ(http.post("/v1/tick").status, 200);
  }
  threads.clear();
  const auto kept = ResourceClient(http).all("state=active");
  EXPECT_EQ(kept.size(), static_cast<std::size_t>(kRaceClients * kRaceRounds / 3));
  expectAllReadable(http);
  expectNoStrays(http, folder);
  EXPECT_EQ(folder.blobs().size(), kRaceContents);
  expectAllReadable(http);
  for (const Json::Value& resource : kept) {
    EXPECT_EQ(ResourceClient(http).remove(resource["uid"].asString()).status, 200);
  }
  expectNoStrays(http, folder);
  EXPECT_TRUE(folder.blobs().empty());
}

}  // namespace
}  // namespace muster::test
