#include "app/worker/upstream_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>

#include "tests/support/temp_folder.h"

namespace muster::test {
namespace {

TEST(UpstreamFiles, have_a_line_for_each_item_and_go_with_the_job) {
  const TempFolder folder;
  std::string path;
  {
    auto file = UpstreamFile::create(folder.path().string());
    ASSERT_TRUE(file);
    path = file->path();
    EXPECT_EQ(std::filesystem::path(path).parent_path(), folder.path());
    struct stat about {};
    ASSERT_EQ(::stat(path.c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777U, 0600U);
    EXPECT_EQ(file->add({R"({"name":"a"})", "{\"name\":\n\"b\"\r\n}"}), 0);
    UpstreamFile moved = *std::move(file);
    EXPECT_EQ(moved.add({"3"}), 0);
    EXPECT_EQ(readFile(path), "{\"name\":\"a\"}\n{\"name\": \"b\"  }\n3\n");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(UpstreamFiles, say_why_they_cannot_be_made) {
  const auto file = UpstreamFile::create("/no/such/folder");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error(), ENOENT);
}

TEST(UpstreamFiles, keep_what_strings_hold) {
  EXPECT_EQ(onOneLine("[\"a\\nb\",\n 1]"), "[\"a\\nb\",  1]");
}

}  // namespace
}  // namespace muster::test
