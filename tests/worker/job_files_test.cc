// What a worker decides about the files of a job, without a service.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include "app/client/json_fields.h"
#include "app/client/sha256.h"
#include "app/worker/command_output.h"
#include "app/worker/host_folder.h"
#include "app/worker/input_files.h"
#include "app/worker/output_plan.h"
#include "tests/support/temp_folder.h"

namespace muster::test {
namespace {

namespace files = std::filesystem;

ClaimedInput inputNamed(const std::string& as) {
  ClaimedInput input;
  input.resource_id = "r/" + as;
  input.as = as;
  return input;
}

TEST(Sha256, agrees_with_the_examples_of_its_standard) {
  EXPECT_EQ(Sha256().hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256().add("abc").hex(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256().add("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq").hex(),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  Sha256 pieces;
  for (int i = 0; i < 1'000'000; i += 125) pieces.add(std::string(125, 'a'));
  EXPECT_EQ(pieces.hex(), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  for (std::size_t size = 0; size < 200; ++size) {
    const std::string text(size, 'x');
    Sha256 parts;
    parts.add(std::string_view(text).substr(0, size / 3))
        .add(std::string_view(text).substr(size / 3));
    EXPECT_EQ(parts.hex(), Sha256().add(text).hex()) << size;
  }
}

TEST(Inputs, must_have_names_that_can_lie_in_one_folder) {
  const std::vector<std::pair<std::vector<std::string>, bool>> table = {
      {{"a", "b"}, true},    {{"a/b", "a/c"}, true},  {{"a", "ab/c"}, true}, {{"a", "a"}, false},
      {{"a", "a/b"}, false}, {{"a/b/c", "a"}, false}, {{"../a"}, false},     {{"/a"}, false},
      {{""}, false},         {{"a//b"}, false},       {{"."}, false},
  };
  for (const auto& [names, good] : table) {
    std::vector<ClaimedInput> inputs;
    for (const auto& name : names) inputs.push_back(inputNamed(name));
    EXPECT_EQ(inputNamesFault(inputs).empty(), good) << names.front() << " " << names.size();
  }
}

TEST(Inputs, are_listed_for_the_command_under_their_ids) {
  ClaimedInput file = inputNamed("a.txt"), far = inputNamed("model");
  file.type = "file";
  file.holder = "store";
  file.size_bytes = 3;
  file.sha256 = "ab";
  far.type = "model";
  far.holder = "external";
  far.uri = "s3://b/m";
  far.metadata = R"({"n":1})";
  const auto json = JsonAnswer::parse(resourcesJson({{file, "/in/a.txt"}, {far, ""}}));
  ASSERT_TRUE(json);
  const auto one = member(json->root(), "r/a.txt"), other = member(json->root(), "r/model");
  ASSERT_TRUE(one && other);
  EXPECT_EQ(one->raw(),
            R"({"type":"file","holder":"store","path":"/in/a.txt","size_bytes":3,"sha256":"ab",)"
            R"("metadata":{}})");
  EXPECT_EQ(other->raw(),
            R"({"type":"model","holder":"external","uri":"s3://b/m","metadata":{"n":1}})");
}

TEST(Outputs, become_artifacts_if_their_names_can) {
  using Kind = FoundOutput::Kind;
  const auto plan = planOutputs({{"b", Kind::kFile}, {"a", Kind::kFolder}}, false);
  ASSERT_TRUE(plan);
  EXPECT_EQ(*plan, (std::vector<FoundOutput>{{"a", Kind::kFolder}, {"b", Kind::kFile}}));
  EXPECT_TRUE(planOutputs({}, false));
  EXPECT_FALSE(planOutputs({{"with blank"}}, false));
  EXPECT_FALSE(planOutputs({{"\xff"}}, false));
  EXPECT_FALSE(planOutputs({{"p", Kind::kOther}}, false));
  EXPECT_TRUE(planOutputs({{"stdout"}}, false));
  EXPECT_FALSE(planOutputs({{"stdout"}}, true));
  std::vector<FoundOutput> many;
  for (int i = 0; i < 1000; ++i) many.push_back({"f" + std::to_string(i)});
  EXPECT_TRUE(planOutputs(many, false));
  EXPECT_FALSE(planOutputs(many, true));
  many.push_back({"one-more"});
  EXPECT_FALSE(planOutputs(many, false));
}

TEST(CommandOutput, spills_all_of_it_once_it_is_over_the_limit) {
  std::string spilled;
  CommandOutput output(5);
  output.spillTo([&spilled](std::string_view bytes) { spilled += bytes; });
  output.add("abc");
  output.add("de");
  EXPECT_EQ(spilled, "");
  output.add("fg");
  output.add("h");
  EXPECT_EQ(spilled, "abcdefgh");
}

class HostFolderTest : public testing::Test {
 protected:
  const Time now_ =
      Time(std::chrono::duration_cast<Millis>(std::chrono::system_clock::now().time_since_epoch()));
  TempFolder folder_;
  HostFolder host_{(folder_ / "host").string()};
};

TEST_F(HostFolderTest, is_made_for_its_user_alone_and_keeps_its_id) {
  ASSERT_TRUE(host_.prepare());
  EXPECT_EQ(files::status(folder_ / "host").permissions(), files::perms::owner_all);
  const std::string id = readFile(folder_ / "host/id");
  EXPECT_EQ(id.size(), 33U);
  HostFolder again((folder_ / "host").string());
  ASSERT_TRUE(again.prepare());
  EXPECT_EQ(readFile(folder_ / "host/id"), id);
}

TEST_F(HostFolderTest, sweeps_what_nobody_has_locked_any_more) {
  ASSERT_TRUE(host_.prepare());
  const auto jobs = folder_ / "host/jobs";
  { ASSERT_TRUE(lockFolder((jobs / "left.1").string())); }
  writeFile(jobs / "left.1/file", "x");
  const auto held = lockFolder((jobs / "held.1").string());
  ASSERT_TRUE(held);
  files::create_directories(jobs / "new.1/outputs");
  host_.sweepJobs(now_);
  EXPECT_FALSE(files::exists(jobs / "left.1"));
  EXPECT_TRUE(files::exists(jobs / "held.1"));
  EXPECT_TRUE(files::exists(jobs / "new.1"))
      << "its command may run, and it has not been locked yet";
  host_.sweepJobs(now_ + std::chrono::hours(25));
  EXPECT_FALSE(files::exists(jobs / "new.1"));
  EXPECT_TRUE(files::exists(jobs / "held.1"));
}

TEST_F(HostFolderTest, a_folder_belongs_to_one) {
  ASSERT_TRUE(host_.prepare());
  const std::string path = (folder_ / "host/jobs/j.1").string();
  const auto first = lockFolder(path);
  ASSERT_TRUE(first);
  EXPECT_FALSE(lockFolder(path));
}

TEST_F(HostFolderTest, trims_what_was_used_longest_ago_and_is_in_no_job) {
  ASSERT_TRUE(host_.prepare());
  const auto cache = folder_ / "host/cache";
  const auto base = files::file_time_type::clock::now();
  int age = 0;
  for (const char* name : {"newest", "middle", "oldest", "linked"}) {
    writeFile(cache / name, std::string(100, 'x'));
    files::last_write_time(cache / name, base - std::chrono::hours(++age));
  }
  files::create_hard_link(cache / "linked", folder_ / "in-a-job");
  host_.trimCache(300);
  EXPECT_FALSE(files::exists(cache / "oldest"));
  EXPECT_TRUE(files::exists(cache / "middle"));
  host_.trimCache(150);
  EXPECT_FALSE(files::exists(cache / "newest"));
  EXPECT_TRUE(files::exists(cache / "linked"));
}

TEST_F(HostFolderTest, is_looked_for_in_order) {
  const std::map<std::string, std::string> home = {{"HOME", "/home/u"}};
  const std::map<std::string, std::string> state = {{"HOME", "/home/u"}, {"XDG_STATE_HOME", "/s"}};
  ASSERT_TRUE(host_.prepare());
  std::string id = readFile(folder_ / "host/id");
  id.pop_back();
  EXPECT_EQ(hostFolderPath("/named", host_.path(), id, state), "/named");
  EXPECT_EQ(hostFolderPath("", host_.path(), id, state), host_.path());
  EXPECT_EQ(hostFolderPath("", host_.path(), "another", state), "/s/muster");
  EXPECT_EQ(hostFolderPath("", "/not/there", "", home), "/home/u/.local/state/muster");
}

}  // namespace
}  // namespace muster::test
