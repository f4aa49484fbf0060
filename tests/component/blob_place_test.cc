#include "app/blobs/blob_place.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "models/store/random.h"

namespace muster {
namespace {

namespace fs = std::filesystem;

constexpr Time kLongAgo{Seconds(1'000'000)};
constexpr Time kLater{Seconds(2'000'000)};

class BlobPlaces : public testing::Test {
 protected:
  BlobPlaces() {
    std::string path = (fs::temp_directory_path() / "muster-place-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) throw std::runtime_error("no folder");
    folder_ = path;
  }
  ~BlobPlaces() override { fs::remove_all(folder_); }

  std::unique_ptr<BlobPlace> open(const std::string& name = "blobs") {
    auto place = BlobPlace::open((folder_ / name).string());
    if (!place) throw std::runtime_error(place.error());
    return *std::move(place);
  }
  static void write(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  }
  // Makes the upload with these bytes a blob; its name.
  static std::string publish(BlobPlace& place, const std::string& uid, const std::string& text) {
    write(place.uploadPath(uid), text);
    const std::string sum = sha256Hex(text);
    EXPECT_TRUE(place.publish(uid, sum));
    return sum;
  }
  static void setTime(const std::string& path, Time time) {
    const timespec at{toMillis(time) / 1000, 0};
    const timespec both[] = {at, at};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), both, 0), 0);
  }
  static mode_t modeOf(const std::string& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 0777 : 0;
  }

  fs::path folder_;
};

TEST_F(BlobPlaces, keep_their_id_when_they_are_moved) {
  const std::string id = open()->placeId();
  EXPECT_FALSE(id.empty());
  EXPECT_EQ(open()->placeId(), id);
  fs::rename(folder_ / "blobs", folder_ / "moved");
  EXPECT_EQ(open("moved")->placeId(), id);
  EXPECT_NE(open()->placeId(), id) << "another folder is another place";
}

TEST_F(BlobPlaces, are_for_our_user_alone) {
  const auto place = open();
  EXPECT_EQ(modeOf(place->folder()), 0700U);
  EXPECT_EQ(modeOf(place->folder() + "/uploads"), 0700U);
  const std::string sum = publish(*place, "u~1", "abc");
  EXPECT_EQ(modeOf(fs::path(place->blobPath(sum)).parent_path()), 0700U);
  ::chmod(place->folder().c_str(), 0755);
  EXPECT_EQ(modeOf(open()->folder()), 0700U) << "also one that was there before";
}

TEST_F(BlobPlaces, are_refused_with_a_reason) {
  write((folder_ / "file").string(), "");
  const auto file = BlobPlace::open((folder_ / "file").string());
  ASSERT_FALSE(file);
  EXPECT_NE(file.error().find("it is not a folder"), std::string::npos) << file.error();
  EXPECT_NE(file.error().find("blob_dir"), std::string::npos) << file.error();
  const auto within = BlobPlace::open((folder_ / "file/blobs").string());
  EXPECT_FALSE(within);
  open();
  write((folder_ / "blobs/id").string(), "no id/at all");
  const auto spoilt = BlobPlace::open((folder_ / "blobs").string());
  ASSERT_FALSE(spoilt);
  EXPECT_NE(spoilt.error().find("does not hold the id"), std::string::npos) << spoilt.error();
}

TEST_F(BlobPlaces, publish_what_is_there_and_nothing_else) {
  const auto place = open();
  const std::string sum = sha256Hex("abc");
  EXPECT_FALSE(place->publish("u~1", sum)) << "there is no upload";
  EXPECT_FALSE(place->has(sum));
  EXPECT_EQ(publish(*place, "u~1", "abc"), sum);
  EXPECT_TRUE(place->has(sum));
  EXPECT_EQ(place->blobPath(sum), place->folder() + "/" + sum.substr(0, 2) + "/" + sum);
  EXPECT_TRUE(place->publish("u~1", sum)) << "again";
  EXPECT_TRUE(place->removeUpload("u~1"));
  EXPECT_TRUE(place->publish("u~1", sum)) << "without the upload, which a crash may have taken";
  EXPECT_EQ(publish(*place, "u~2", "abc"), sum) << "the same bytes of another";
  EXPECT_TRUE(place->removeBlob(sum));
  EXPECT_FALSE(place->has(sum));
  EXPECT_TRUE(place->removeBlob(sum)) << "it is gone as it should be";
}

TEST_F(BlobPlaces, take_no_names_that_lead_elsewhere) {
  const auto place = open();
  for (const std::string& name : {std::string("../id"), std::string(".."), std::string("a/b"),
                                  std::string(""), std::string(".hidden")}) {
    EXPECT_EQ(place->uploadPath(name), "") << name;
    EXPECT_FALSE(place->removeUpload(name)) << name;
    EXPECT_FALSE(place->publish(name, sha256Hex("abc"))) << name;
  }
  for (const std::string& sum :
       {std::string("../id"), std::string(64, 'g'), std::string(63, 'a'), std::string(64, 'A')}) {
    EXPECT_EQ(place->blobPath(sum), "") << sum;
    EXPECT_FALSE(place->has(sum)) << sum;
    EXPECT_FALSE(place->removeBlob(sum)) << sum;
  }
  EXPECT_TRUE(fs::exists(folder_ / "blobs/id"));
}

TEST_F(BlobPlaces, list_old_files_piece_by_piece) {
  const auto place = open();
  std::set<std::string> blobs;
  for (int i = 0; i < 7; ++i) {
    blobs.insert(publish(*place, "u~" + std::to_string(i), std::to_string(i)));
  }
  EXPECT_TRUE(place->nextOldBlobs(kLater, 100).empty()) << "they are all young";
  for (const std::string& sum : blobs) setTime(place->blobPath(sum), kLongAgo);
  std::vector<std::string> seen;
  for (int i = 0; i < 3; ++i) {
    const auto some = place->nextOldBlobs(kLater, 3);
    EXPECT_LE(some.size(), 3U);
    seen.insert(seen.end(), some.begin(), some.end());
  }
  EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()), blobs);
  EXPECT_EQ(seen.size(), blobs.size());
  EXPECT_EQ(place->nextOldBlobs(kLater, 100).size(), blobs.size()) << "from the first again";
  EXPECT_TRUE(place->nextOldBlobs(kLongAgo, 100).empty());
}

TEST_F(BlobPlaces, list_old_uploads) {
  const auto place = open();
  write(place->uploadPath("u~old"), "a");
  write(place->uploadPath("u~young"), "b");
  setTime(place->uploadPath("u~old"), kLongAgo);
  EXPECT_EQ(place->nextOldUploads(kLater, 10), std::vector<std::string>{"u~old"});
  EXPECT_TRUE(place->removeUpload("u~old"));
  EXPECT_TRUE(place->nextOldUploads(kLater, 10).empty());
}

TEST_F(BlobPlaces, that_are_temporary_go_with_everything) {
  auto place = BlobPlace::openTemporary();
  ASSERT_TRUE(place) << place.error();
  const std::string folder = (*place)->folder();
  publish(**place, "u~1", "abc");
  EXPECT_TRUE(fs::exists(folder));
  place->reset();
  EXPECT_FALSE(fs::exists(folder));
}

}  // namespace
}  // namespace muster
