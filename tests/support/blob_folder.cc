#include "tests/support/blob_folder.h"

#include <gtest/gtest.h>

#include <chrono>

#include "tests/support/eventually.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tokens.h"

namespace muster::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSumLength = 64;

// Files may come and go meanwhile.
std::set<std::string> namesIn(const fs::path& folder) {
  std::set<std::string> names;
  std::error_code gone;
  for (fs::directory_iterator it(folder, gone), end; !gone && it != end; it.increment(gone)) {
    names.insert(it->path().filename().string());
  }
  return names;
}

}  // namespace

BlobFolder::BlobFolder(const Service& service)
    : path_(service.folder() / (service.store().starts_with("postgres") ? "data/blobs" : "blobs")) {
}

std::string BlobFolder::placeId() const { return readFile(path_ / "id"); }

fs::path BlobFolder::blob(const std::string& sha256) const {
  return path_ / sha256.substr(0, 2) / sha256;
}

std::set<std::string> BlobFolder::blobs() const {
  std::set<std::string> sums;
  for (const std::string& folder : namesIn(path_)) {
    if (folder.size() != 2) continue;
    for (const std::string& name : namesIn(path_ / folder)) {
      if (name.size() == kSumLength) sums.insert(name);
    }
  }
  return sums;
}

std::set<std::string> BlobFolder::uploads() const { return namesIn(path_ / "uploads"); }

void BlobFolder::makeOld() const {
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(2);
  std::error_code gone;
  for (const std::string& sum : blobs()) fs::last_write_time(blob(sum), long_ago, gone);
  for (const std::string& uid : uploads()) {
    fs::last_write_time(path_ / "uploads" / uid, long_ago, gone);
  }
}

void expectAllReadable(Http& http) {
  ResourceClient resources(http);
  for (const Json::Value& resource : resources.all()) {
    if (!resource["stored"].asBool()) continue;
    const std::string uid = resource["uid"].asString();
    const Reply content = resources.content(uid);
    EXPECT_EQ(content.status, 200) << resource << content.body.substr(0, 300);
    EXPECT_EQ(content.body.size(), resource["size_bytes"].asUInt64()) << uid;
    EXPECT_EQ(sha256Hex(content.body), resource["sha256"].asString()) << uid;
  }
}

void expectNoStrays(Http& http, const BlobFolder& folder) {
  std::set<std::string> sums, uploading;
  for (const Json::Value& resource : ResourceClient(http).all()) {
    if (resource["stored"].asBool()) sums.insert(resource["sha256"].asString());
    if (resource.isMember("upload_offset")) uploading.insert(resource["uid"].asString());
  }
  const auto strayUploads = [&] {
    std::set<std::string> strays = folder.uploads();
    for (const std::string& uid : uploading) strays.erase(uid);
    return strays;
  };
  EXPECT_TRUE(eventually(kPatience,
                         [&] {
                           folder.makeOld();
                           EXPECT_EQ(http.post("/v1/tick").status, 200);
                           return folder.blobs() == sums && strayUploads().empty();
                         }))
      << folder.blobs().size() << " files for " << sums.size() << " sums, " << strayUploads().size()
      << " stray uploads";
}

}  // namespace muster::test
