// How the inputs of a job get to its command, with a service that is a function.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "app/client/sha256.h"
#include "app/worker/job_files.h"
#include "app/worker/tar_header.h"
#include "tests/support/temp_folder.h"

namespace muster::test {
namespace {

namespace files = std::filesystem;

class JobInputs : public testing::Test {
 protected:
  JobInputs() {
    job_.id = "j";
    job_.attempt = "1";
  }

  ClaimedInput& add(const std::string& as, const std::string& type = "file") {
    ClaimedInput& input = job_.inputs.emplace_back();
    input.resource_id = "r/" + as;
    input.as = as;
    input.type = type;
    return input;
  }
  // One whose bytes the service has.
  ClaimedInput& addStored(const std::string& as, const std::string& bytes,
                          const std::string& type = "file") {
    ClaimedInput& input = add(as, type);
    input.sha256 = Sha256().add(bytes).hex();
    input.content_path = "/content/" + as;
    contents_[input.content_path] = bytes;
    return input;
  }
  static std::string tarOf(TarEntry entry, const std::string& body) {
    entry.size = body.size();
    return tarHeader(entry) + body + std::string(tarPadding(body.size()) + 2 * kTarBlock, '\0');
  }

  tl::expected<void, FileFault> fetch(JobFiles& job_files) {
    return job_files.fetchInputs({.ask =
                                      [this](const HttpRequest& request) {
                                        ++calls_;
                                        return answer(request);
                                      },
                                  .stop = [this] { return stop_; },
                                  .pause = [] {},
                                  .ttl_seconds = {},
                                  .most_cache_bytes = {}});
  }
  tl::expected<HttpAnswer, Refusal> answer(const HttpRequest& request) {
    const auto found = contents_.find(request.path);
    if (found == contents_.end()) {
      return tl::unexpected(Refusal{410, "resource_evicted", "it is gone", {}});
    }
    const std::string& bytes = found->second;
    return HttpAnswer{200, {{"etag", "\"sha256:" + Sha256().add(bytes).hex() + "\""}}, bytes};
  }
  std::string wrong() {
    JobFiles job_files(host_, job_);
    const auto fetched = fetch(job_files);
    return fetched ? "" : fetched.error().what;
  }

  TempFolder folder_;
  HostFolder host_{(folder_ / "host").string()};
  ClaimedJob job_;
  std::map<std::string, std::string> contents_;
  int calls_ = 0;
  bool stop_ = false;
};

TEST_F(JobInputs, lie_under_their_names_and_go_with_the_try) {
  addStored("a.txt", "hello");
  addStored("sub/b.txt", "hello");
  addStored("pages", tarOf({TarEntry::Kind::kFile, "deep/1", "", 0755, 0}, "one"), "dir");
  add("model").uri = "s3://bucket/model";
  std::string inputs;
  {
    JobFiles job_files(host_, job_);
    const auto fetched = fetch(job_files);
    ASSERT_TRUE(fetched) << fetched.error().what;
    inputs = job_files.inputDir();
    EXPECT_EQ(readFile(inputs + "/a.txt"), "hello");
    EXPECT_EQ(readFile(inputs + "/sub/b.txt"), "hello");
    EXPECT_EQ(readFile(inputs + "/pages/deep/1"), "one");
    EXPECT_FALSE(files::exists(inputs + "/model"));
    EXPECT_TRUE(files::is_directory(job_files.outputDir()));
    EXPECT_EQ(calls_, 2) << "the same bytes are fetched once";
    const auto list = JsonAnswer::parse(readFile(job_files.resourcesFile()));
    ASSERT_TRUE(list);
    EXPECT_EQ(textOf(*member(list->root(), "r/a.txt"), "path"), inputs + "/a.txt");
    EXPECT_EQ(textOf(*member(list->root(), "r/model"), "uri"), "s3://bucket/model");
    EXPECT_FALSE(member(*member(list->root(), "r/model"), "path"));
    for (const char* name : {"/a.txt", "/pages/deep/1"}) {
      const auto modes = static_cast<unsigned>(files::status(inputs + name).permissions());
      EXPECT_EQ(modes & 0222, 0U) << name;
    }
  }
  EXPECT_FALSE(files::exists(inputs));
  EXPECT_TRUE(files::is_empty(folder_ / "host/jobs"));
  JobFiles again(host_, job_);
  ASSERT_TRUE(fetch(again));
  EXPECT_EQ(calls_, 2) << "the next try finds them in the cache";
}

TEST_F(JobInputs, of_this_host_are_not_fetched) {
  ASSERT_TRUE(host_.prepare());
  files::create_directories(folder_ / "host/resources/u~1/tree/d");
  writeFile(folder_ / "host/resources/u~1/tree/d/f", "here");
  writeFile(folder_ / "host/resources/u~1/file", "here");
  add("tree", "dir").path = "resources/u~1/tree";
  add("file").path = host_.path() + "/resources/u~1/file";
  ClaimedInput& elsewhere = addStored("copied", "copy");
  elsewhere.path = "resources/u~2/file";
  JobFiles job_files(host_, job_);
  const auto fetched = fetch(job_files);
  ASSERT_TRUE(fetched) << fetched.error().what;
  EXPECT_EQ(readFile(job_files.inputDir() + "/tree/d/f"), "here");
  EXPECT_EQ(readFile(job_files.inputDir() + "/file"), "here");
  EXPECT_EQ(readFile(job_files.inputDir() + "/copied"), "copy");
  EXPECT_EQ(calls_, 1);
  EXPECT_NE(
      static_cast<unsigned>(files::status(folder_ / "host/resources/u~1/file").permissions()) &
          0200,
      0U)
      << "the host's own file stays as it is";
}

TEST_F(JobInputs, that_are_gone_are_missing_for_good) {
  add("gone").content_path = "/content/none";
  job_.inputs.back().sha256 = std::string(64, 'a');
  JobFiles job_files(host_, job_);
  const auto fetched = fetch(job_files);
  ASSERT_FALSE(fetched);
  EXPECT_TRUE(fetched.error().is_missing);
  job_.inputs.clear();
  add("file").path = "resources/u~1/none";
  JobFiles other(host_, job_);
  EXPECT_TRUE(fetch(other).error().is_missing);
}

TEST_F(JobInputs, whose_names_lead_elsewhere_are_refused) {
  for (const char* name : {"../out", "/out", "a/../../out"}) {
    job_.inputs.clear();
    addStored(name, "x");
    EXPECT_NE(wrong(), "") << name;
  }
  job_.inputs.clear();
  addStored("same", "x");
  addStored("same", "y");
  EXPECT_NE(wrong().find("two inputs have the name same"), std::string::npos);
  job_.inputs.clear();
  add("file").path = "../../etc/passwd";
  EXPECT_NE(wrong(), "");
  job_.inputs.clear();
  addStored("pages", tarOf({TarEntry::Kind::kFile, "../../out", "", 0644, 0}, "x"), "dir");
  EXPECT_NE(wrong(), "");
  EXPECT_FALSE(files::exists(folder_ / "out"));
  EXPECT_FALSE(files::exists(folder_ / "host/out"));
  EXPECT_TRUE(files::is_empty(folder_ / "host/jobs"));
}

TEST_F(JobInputs, are_not_fetched_any_more_when_the_worker_stops) {
  addStored("a", "x");
  stop_ = true;
  JobFiles job_files(host_, job_);
  const auto fetched = fetch(job_files);
  ASSERT_FALSE(fetched);
  EXPECT_TRUE(fetched.error().stopped);
  EXPECT_EQ(calls_, 0);
}

TEST_F(JobInputs, of_two_tries_with_one_number_lie_apart) {
  addStored("a", "x");
  JobFiles first(host_, job_);
  ASSERT_TRUE(fetch(first));
  JobFiles second(host_, job_);
  EXPECT_NE(first.outputDir(), second.outputDir());
  ASSERT_TRUE(fetch(second));
}

}  // namespace
}  // namespace muster::test
