#include "app/blobs/part_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>

#include "models/store/random.h"

namespace muster {
namespace {

namespace fs = std::filesystem;

class PartWriters : public testing::Test {
 protected:
  PartWriters() : place_(BlobPlace::openTemporary().value()) {}

  UploadFilePtr open(const std::string& uid) { return openWith(writer_, uid).value_or(nullptr); }
  static Result<UploadFilePtr> openWith(PartWriter& writer, const std::string& uid) {
    std::promise<Result<UploadFilePtr>> file;
    writer.open(uid, [&file](Result<UploadFilePtr> opened) { file.set_value(std::move(opened)); });
    return file.get_future().get();
  }
  static Result<PartWriter::Written> write(PartWriter& writer, PartWriter::Part part) {
    std::promise<Result<PartWriter::Written>> done;
    writer.write(std::move(part), [&done](Result<PartWriter::Written> written) {
      done.set_value(std::move(written));
    });
    return done.get_future().get();
  }
  Result<PartWriter::Written> write(const UploadFilePtr& file, std::int64_t offset,
                                    const std::string& bytes, bool is_last = false) {
    return write(writer_, {file, offset, bytes, "", is_last, nullptr});
  }
  std::string content(const std::string& uid) {
    std::ifstream file(place_->uploadPath(uid));
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::unique_ptr<BlobPlace> place_;
  PartWriter writer_{*place_};
};

TEST_F(PartWriters, write_parts_one_behind_the_other) {
  const auto file = open("u~1");
  ASSERT_TRUE(file);
  EXPECT_EQ(write(file, 0, "abc")->to, 3);
  EXPECT_EQ(write(file, 3, "de")->to, 5);
  const auto last = write(file, 5, "f", true);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->to, 6);
  EXPECT_EQ(last->sha256, sha256Hex("abcdef"));
  EXPECT_EQ(content("u~1"), "abcdef");
}

TEST_F(PartWriters, cut_off_what_is_behind_the_offset) {
  const auto file = open("u~1");
  write(file, 0, "abcXXXXXX");
  const auto last = write(file, 3, "def", true);
  EXPECT_EQ(content("u~1"), "abcdef");
  EXPECT_EQ(last->sha256, sha256Hex("abcdef"));
}

TEST_F(PartWriters, know_the_sum_of_what_another_process_wrote) {
  {
    PartWriter before(*place_);
    const auto file = openWith(before, "u~1").value();
    ASSERT_TRUE(write(before, {file, 0, "abc", "", false, nullptr}));
  }
  const auto file = open("u~1");
  EXPECT_EQ(write(file, 3, "def", true)->sha256, sha256Hex("abcdef"));
}

TEST_F(PartWriters, know_the_sum_where_others_wrote_between_their_parts) {
  PartWriter other(*place_);
  auto file = open("u~1");
  write(file, 0, "abc");
  file->unlock();
  auto theirs = openWith(other, "u~1").value();
  ASSERT_TRUE(write(other, {theirs, 0, "xyz", "", false, nullptr})) << "it began anew";
  theirs->unlock();
  file = open("u~1");
  EXPECT_EQ(write(file, 3, "def", true)->sha256, sha256Hex("xyzdef"));
}

TEST_F(PartWriters, take_an_empty_part) {
  const auto file = open("u~1");
  const auto last = write(file, 0, "", true);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->to, 0);
  EXPECT_EQ(last->sha256, sha256Hex(""));
}

TEST_F(PartWriters, refuse_a_part_with_another_sum) {
  const auto file = open("u~1");
  write(file, 0, "abc");
  const auto refused = write(writer_, {file, 3, "def", sha256Hex("xyz"), false, nullptr});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(refused.error().fields[0].code, "checksum_mismatch");
  EXPECT_EQ(content("u~1"), "abc") << "nothing was written";
  EXPECT_TRUE(write(writer_, {file, 3, "def", sha256Hex("def"), false, nullptr}));
}

TEST_F(PartWriters, refuse_a_part_behind_the_end_of_the_file) {
  const auto file = open("u~1");
  write(file, 0, "abc");
  const auto refused = write(file, 7, "x");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kWrongOffset);
}

TEST_F(PartWriters, lock_an_upload_until_its_file_goes) {
  auto file = open("u~1");
  PartWriter other(*place_);
  for (PartWriter* writer : {&writer_, &other}) {
    const auto refused = openWith(*writer, "u~1");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kStoreBusy);
  }
  EXPECT_TRUE(open("u~2")) << "others are not concerned";
  file.reset();
  EXPECT_TRUE(openWith(other, "u~1"));
}

TEST_F(PartWriters, do_not_write_into_a_file_that_was_removed) {
  const auto removed = open("u~1");
  ASSERT_TRUE(place_->removeUpload("u~1"));
  const auto file = open("u~1");
  ASSERT_TRUE(file) << "its lock is that of the new file";
  write(file, 0, "new");
  EXPECT_EQ(content("u~1"), "new");
}

// After a crash between publishing and the commit.
TEST_F(PartWriters, leave_a_blob_alone_that_was_linked_to_the_upload) {
  auto file = open("u~1");
  write(file, 0, "abcdef");
  const std::string sum = sha256Hex("abcdef");
  ASSERT_TRUE(place_->publish("u~1", sum));
  const auto last = write(file, 3, "xyz", true);
  ASSERT_TRUE(last) << last.error().detail;
  EXPECT_EQ(last->sha256, sha256Hex("abcxyz"));
  EXPECT_EQ(content("u~1"), "abcxyz");
  std::ifstream blob(place_->blobPath(sum));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(blob), {}), "abcdef");
  EXPECT_FALSE(openWith(writer_, "u~1")) << "the copy is locked as the file was";
  file->unlock();
  EXPECT_TRUE(open("u~1"));
}

TEST_F(PartWriters, refuse_what_does_not_fit_and_keep_what_was_there) {
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, SIG_IGN);
  const auto file = open("u~1");
  write(file, 0, "abc");
  const rlimit small{5, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto refused = write(file, 3, "defghi");
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kStoreFull);
  EXPECT_TRUE(refused.error().retry_after.has_value());
  EXPECT_EQ(content("u~1"), "abc");
  EXPECT_EQ(write(file, 3, "def", true)->sha256, sha256Hex("abcdef")) << "there is room again";
}

TEST_F(PartWriters, refuse_more_than_may_wait) {
  PartWriter writer(*place_, 10);
  std::promise<void> go;
  const auto gate = go.get_future().share();
  for (int thread = 0; thread < 2; ++thread) {
    ASSERT_TRUE(writer.post([gate] { gate.wait(); }));
  }
  const auto file = open("u~1");
  std::promise<bool> first;
  writer.write({file, 0, "12345678", "", false, nullptr},
               [&first](const Result<PartWriter::Written>& written) {
                 first.set_value(written.has_value());
               });
  const auto refused = write(writer, {file, 8, "123", "", false, nullptr});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kStoreBusy);
  go.set_value();
  EXPECT_TRUE(first.get_future().get());
}

TEST_F(PartWriters, compare_bytes_with_a_file) {
  const auto file = open("u~1");
  write(file, 0, "abcdef");
  const auto same = [this](std::int64_t offset, const std::string& bytes) {
    std::promise<bool> done;
    writer_.compare(place_->uploadPath("u~1"), offset, bytes, nullptr,
                    [&done](const Result<bool>& equal) { done.set_value(equal && *equal); });
    return done.get_future().get();
  };
  EXPECT_TRUE(same(0, "abcdef"));
  EXPECT_TRUE(same(3, "def"));
  EXPECT_TRUE(same(6, ""));
  EXPECT_FALSE(same(3, "dex"));
  EXPECT_FALSE(same(3, "defg"));
}

TEST_F(PartWriters, finish_what_waits_and_then_refuse) {
  const auto file = open("u~1");
  std::promise<bool> done;
  writer_.write(
      {file, 0, "abc", "", false, nullptr},
      [&done](const Result<PartWriter::Written>& written) { done.set_value(written.has_value()); });
  writer_.stop();
  EXPECT_TRUE(done.get_future().get());
  const auto late = openWith(writer_, "u~2");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kDraining);
}

TEST(Sums, go_through_headers_as_base64) {
  const std::string hex = sha256Hex("abc");
  EXPECT_EQ(sumToBase64(hex), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
  EXPECT_EQ(sumFromBase64(sumToBase64(hex)), hex);
  EXPECT_EQ(sumFromBase64("AAAA"), "");
  EXPECT_EQ(sumFromBase64("not base64!"), "");
}

}  // namespace
}  // namespace muster
