#include "app/cli/resource_view.h"

#include <gtest/gtest.h>

#include <sstream>

#include "app/cli/command_line.h"
#include "app/cli/transfer_bar.h"

namespace muster {
namespace {

TEST(ResourceView, shows_sizes_for_people) {
  const std::vector<std::pair<std::uint64_t, std::string>> table = {
      {0, "0 B"},
      {1023, "1023 B"},
      {1024, "1.0 KiB"},
      {1536, "1.5 KiB"},
      {5U << 20, "5.0 MiB"},
      {std::uint64_t{3} << 40, "3.0 TiB"},
      {std::uint64_t{1} << 60, "1048576.0 TiB"},
  };
  for (const auto& [bytes, text] : table) EXPECT_EQ(bytesText(bytes), text);
}

TEST(ResourceView, has_a_line_for_each_resource_and_artifact) {
  const auto json = JsonAnswer::parse(
      R"({"items":[{"resource_id":"a/b","type":"file","holder":"store","state":"active",
          "size_bytes":2048,"ref_count":1,"last_used_at":"2026-03-01T12:00:00Z","scope":"s"}],
          "made":[{"name":"n","type":"text","value":{"x":1}},
                  {"name":"f","type":"file","size_bytes":3,"resource_id":"r"}]})");
  EXPECT_EQ(resourceTable(itemsOf(json->root(), "items"), parseTime("2026-03-01T12:00:10Z"))
                .render(0, false),
            "RESOURCE  TYPE  HOLDER  STATE      SIZE  REFS  USED     SCOPE\n"
            "a/b       file  store   active  2.0 KiB     1  10s ago  s\n");
  EXPECT_EQ(artifactTable(itemsOf(json->root(), "made")).render(0, false),
            "NAME  TYPE  SIZE  VALUE OR RESOURCE\n"
            "n     text        {\"x\":1}\n"
            "f     file   3 B  r\n");
}

TEST(ResourceView, knows_an_artifact_by_the_id_of_its_job) {
  const std::string job = "01m7hbcqnh2944rpwva7t2y5mf";
  const std::vector<std::tuple<std::string, std::string, std::string>> table = {
      {job + "/data.json", job, "data.json"},
      {job + "/a/b", job, "a/b"},
      {job, "", job},
      {"jobs/" + job + "/a", "", "jobs/" + job + "/a"},
      {"models/small", "", "models/small"},
      {"u~01", "", "u~01"},
  };
  for (const auto& [what, of_job, name] : table) {
    EXPECT_EQ(wantedContent(what).job, of_job) << what;
    EXPECT_EQ(wantedContent(what).name, name) << what;
  }
}

template <class Wanted>
Wanted parsedWith(const std::vector<std::string>& args, const Environment& env) {
  const auto line = parseCommandLine(args, env);
  if (!line) throw std::runtime_error(line.error().text);
  return std::get<Wanted>(line->command);
}

const Environment kOfJob = {{"MUSTER_JOB_ID", "j"},
                            {"MUSTER_LEASE_TOKEN", "lease"},
                            {"MUSTER_TOKEN", "mine"},
                            {"MUSTER_WORKER_TOKEN", "of the worker"}};

TEST(ResourceCommands, know_the_job_that_they_run_in) {
  const auto put = parsedWith<ArtifactPutCommand>({"artifacts", "put", "a/b", "f"}, kOfJob);
  EXPECT_EQ(put.name, "a/b");
  EXPECT_EQ(put.file, "f");
  EXPECT_EQ(put.job, "j");
  EXPECT_EQ(put.lease_token, "lease");
  EXPECT_EQ(parsedWith<ArtifactListCommand>({"artifacts", "list"}, kOfJob).job, "j");
  EXPECT_EQ(parsedWith<ArtifactListCommand>({"artifacts", "list", "k"}, kOfJob).job, "k");
  const auto lease = parsedWith<ResourceLeaseCommand>({"resources", "lease", "r"}, kOfJob);
  EXPECT_EQ(lease.job, "j");
  const auto other =
      parsedWith<ResourceLeaseCommand>({"resources", "lease", "r", "--worker", "w"}, kOfJob);
  EXPECT_EQ(other.worker, "w");
  EXPECT_EQ(other.job, "");
  EXPECT_EQ(parseCommandLine({"artifacts", "get", "r"}, kOfJob)->service.token, "of the worker");
  EXPECT_EQ(parseCommandLine({"jobs", "show", "j"}, kOfJob)->service.token, "mine");
  EXPECT_EQ(parseCommandLine({"--token", "t", "artifacts", "get", "r"}, kOfJob)->service.token,
            "t");
  EXPECT_EQ(parseCommandLine({"artifacts", "put", "a"}, {}).error().exit_code, kExitUsage);
  EXPECT_EQ(parseCommandLine({"artifacts", "list"}, {}).error().exit_code, kExitUsage);
}

TEST(ResourceCommands, take_their_options) {
  const auto list = parsedWith<ResourceListCommand>(
      {"resources", "list", "--scope", "s", "--type", "t", "--holder", "store", "--state", "lost",
       "--tenant", "x", "--job", "j", "-n", "3"},
      {});
  EXPECT_EQ(list.scope, "s");
  EXPECT_EQ(list.holder, "store");
  EXPECT_EQ(list.state, "lost");
  EXPECT_EQ(list.limit, 3U);
  EXPECT_EQ(parseCommandLine({"resources", "list", "--state", "x"}, {}).error().exit_code,
            kExitUsage);
  const auto removed =
      parsedWith<ResourceDeleteCommand>({"resources", "delete", "a", "b", "--force"}, {});
  EXPECT_EQ(removed.ids, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(removed.force);
  EXPECT_EQ(parsedWith<ResourceTouchCommand>({"resources", "touch", "a", "--ttl-seconds", "5"}, {})
                .ttl_seconds,
            5);
  EXPECT_EQ(parsedWith<ResourceReleaseCommand>({"resources", "release", "a", "l"}, {}).lease, "l");
}

TEST(WorkerEnvironment, lowers_limits_and_knows_two_names) {
  const std::vector<std::string> worker = {"worker", "--pool", "p", "--", "true"};
  const auto own =
      parsedWith<WorkerCommand>(worker, {{"MUSTER_DATA_DIR", "/own"},
                                         {"ASTRA_WORKER_DATA_DIR", "/theirs"},
                                         {"ASTRA_WORKER_RESOURCE_MAX_DISK_BYTES", "1000"},
                                         {"ASTRA_WORKER_INLINE_RESULT_LIMIT_BYTES", "500"},
                                         {"MUSTER_RESOURCE_DEFAULT_TTL_SECONDS", "60"}});
  EXPECT_EQ(own.data_dir, "/own");
  EXPECT_EQ(own.max_disk_bytes, 1000U);
  EXPECT_EQ(own.max_result_bytes, 500U);
  EXPECT_EQ(own.artifact_ttl_seconds, 60);
  const auto most =
      parsedWith<WorkerCommand>(worker, {{"MUSTER_INLINE_RESULT_LIMIT_BYTES", "99999999999"}});
  EXPECT_EQ(most.max_result_bytes, 2'097'152U) << "a limit is only lowered";
  std::vector<std::string> with_flag = worker;
  with_flag.insert(with_flag.begin() + 1, {"--data-dir", "/flag"});
  EXPECT_EQ(parsedWith<WorkerCommand>(with_flag, {{"MUSTER_DATA_DIR", "/own"}}).data_dir, "/flag");
  for (const char* bad : {"0", "-1", "1k", "x"}) {
    EXPECT_EQ(parseCommandLine(worker, {{"MUSTER_RESOURCE_MAX_DISK_BYTES", bad}}).error().exit_code,
              kExitUsage)
        << bad;
  }
}

class OwnClock : public Clock {
 public:
  Time now() const override { return {}; }
  std::chrono::nanoseconds monotonic() const override { return at; }
  std::chrono::nanoseconds at{0};
};

TEST(TransferBar, is_shown_for_what_takes_longer_and_is_taken_away) {
  std::ostringstream err;
  OwnClock clock;
  {
    TransferBar bar(err, clock, true);
    bar.show(1, 4);
    EXPECT_EQ(err.str(), "");
    clock.at = std::chrono::seconds(2);
    bar.show(2, 4);
    EXPECT_NE(err.str().find("2 B of 4 B"), std::string::npos) << err.str();
  }
  EXPECT_TRUE(err.str().ends_with("\r\033[K"));
  std::ostringstream unwatched;
  TransferBar bar(unwatched, clock, false);
  clock.at = std::chrono::seconds(9);
  bar.show(3, std::nullopt);
  EXPECT_EQ(unwatched.str(), "");
}

}  // namespace
}  // namespace muster
