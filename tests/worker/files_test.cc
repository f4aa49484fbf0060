// Files of jobs, with the real worker and the real service.
#include <signal.h>

#include <filesystem>

#include "app/client/content.h"
#include "app/worker/job_files.h"
#include "tests/support/resource_client.h"
#include "tests/worker/worker_fixture.h"

namespace muster::test {
namespace {

namespace files = std::filesystem;

class WorkerFiles : public WorkerFixture {
 protected:
  // With a host folder of its own.
  int workWith(const std::string& script, std::vector<std::string> options = {}) {
    options.insert(options.end(), {"--data-dir", host()});
    return workWithScript(script, std::move(options));
  }
  std::string host() const { return (folder_ / "host").string(); }
  // The folders of jobs that are there.
  std::size_t jobFolders() const {
    if (!files::exists(folder_ / "host/jobs")) return 0;
    return static_cast<std::size_t>(
        std::distance(files::directory_iterator(folder_ / "host/jobs"), {}));
  }
  std::map<std::string, std::string> artifactsOf(const Json::Value& job) {
    const Reply reply = http_.get("/v1/jobs/" + job["id"].asString() + "/artifacts");
    EXPECT_EQ(reply.status, 200) << reply;
    std::map<std::string, std::string> found;
    for (const auto& item : reply.json["items"]) {
      found[item["name"].asString()] = item["type"].asString();
    }
    return found;
  }
  Reply artifact(const Json::Value& job, const std::string& name) {
    return http_.get("/v1/jobs/" + job["id"].asString() + "/artifacts/" + pathText(name));
  }
  int cli(const std::vector<std::string>& args, std::vector<std::string> env = {}) {
    Command command{{musterBinary()}, folder_.path()};
    command.argv.insert(command.argv.end(), args.begin(), args.end());
    command.env = std::move(env);
    command.env.push_back("MUSTER_URL=" + service().url());
    ChildProcess process(command);
    const auto code = process.wait();
    cli_out_ = process.out();
    cli_err_ = process.err();
    return code.value_or(-1);
  }

  // Its worker, which has been killed, is silent for long enough.
  bool goesBack(const Json::Value& job) {
    return eventually(kPatience, [&] {
      http_.post(pool_.path("/reap"), R"({"stale_threshold_seconds":0.05})");
      return pool_.job(job)["status"] == "pending";
    });
  }

  ResourceClient resources_{http_};
  std::string cli_out_, cli_err_;
};

TEST_F(WorkerFiles, what_a_command_leaves_becomes_artifacts) {
  const Json::Value job = pool_.push(R"("data":{"text":"hello"})");
  ASSERT_EQ(
      workWith("mkdir -p \"$MUSTER_OUTPUT_DIR/pages\"; cat > \"$MUSTER_OUTPUT_DIR/data.json\";"
               "echo one > \"$MUSTER_OUTPUT_DIR/pages/1.txt\"; echo '{\"pages\": 1}'"),
      0)
      << err();
  EXPECT_EQ(pool_.job(job)["status"], "done") << pool_.job(job);
  EXPECT_EQ(pool_.job(job)["result"]["pages"], 1);
  EXPECT_EQ(artifactsOf(job),
            (std::map<std::string, std::string>{{"data.json", "file"}, {"pages", "dir"}}));
  EXPECT_EQ(artifact(job, "data.json").body, R"({"text":"hello"})");
  writeFile(folder_ / "pages.tar", artifact(job, "pages").body);
  EXPECT_EQ(std::system(
                ("tar -xOf " + (folder_ / "pages.tar").string() + " 1.txt | grep -qx one").c_str()),
            0);
  EXPECT_EQ(jobFolders(), 0U);
}

TEST_F(WorkerFiles, a_job_without_files_leaves_no_trace) {
  const Json::Value job = pool_.push();
  ASSERT_EQ(workWith("test ! -e \"$MUSTER_OUTPUT_DIR\" && env > env.txt"), 0) << err();
  EXPECT_EQ(pool_.job(job)["status"], "done");
  EXPECT_FALSE(files::exists(host()));
  const std::string env = "\n" + textOf("env.txt");
  EXPECT_NE(env.find("\nMUSTER_OUTPUT_DIR=" + host() + "/jobs/" + job["id"].asString() + ".1/"),
            std::string::npos)
      << env;
  EXPECT_NE(env.find("\nMUSTER_SCOPE=job:" + job["id"].asString() + "\n"), std::string::npos);
  EXPECT_NE(env.find("\nMUSTER_DATA_DIR=" + host() + "\n"), std::string::npos);
  EXPECT_EQ(env.find("\nMUSTER_INPUTS="), std::string::npos);
  EXPECT_EQ(env.find("\nMUSTER_RESOURCES="), std::string::npos);
}

TEST_F(WorkerFiles, of_a_command_that_failed_are_dropped_unless_they_are_wanted) {
  const std::string script =
      "mkdir -p \"$MUSTER_OUTPUT_DIR\"; echo x >\"$MUSTER_OUTPUT_DIR/log\"; exit 3";
  const Json::Value first = pool_.push(R"("data":1,"max_retries":1)");
  ASSERT_EQ(workWith(script), 0) << err();
  EXPECT_EQ(pool_.job(first)["status"], "poisoned");
  EXPECT_TRUE(artifactsOf(first).empty());
  const Json::Value second = pool_.push(R"("data":2,"max_retries":1)");
  ASSERT_EQ(workWith(script, {"--keep-failed-outputs"}), 0) << err();
  EXPECT_EQ(pool_.job(second)["status"], "poisoned");
  EXPECT_EQ(artifact(second, "log").body, "x\n");
  EXPECT_EQ(jobFolders(), 0U);
}

TEST_F(WorkerFiles, that_cannot_be_artifacts_fail_the_try) {
  const std::vector<std::pair<std::string, std::string>> scripts = {
      {"echo x > 'with blank'", "with blank"},
      {"ln -s /etc/passwd link", "link"},
      {"mkdir d; ln -s ../../.. d/up", "leads out of the folder"},
      {"mkdir d; mkfifo d/pipe", "pipe"},
      {"i=0; while [ $i -le 1000 ]; do : > f$i; i=$((i+1)); done", "1001 outputs"},
  };
  for (const auto& [script, why] : scripts) {
    const Json::Value job = pool_.push(R"("data":1,"max_retries":1)");
    ASSERT_EQ(workWith("mkdir -p \"$MUSTER_OUTPUT_DIR\"; cd \"$MUSTER_OUTPUT_DIR\"; " + script), 0)
        << err();
    EXPECT_EQ(pool_.job(job)["status"], "poisoned") << script;
    EXPECT_NE(pool_.job(job)["error"].asString().find(why), std::string::npos) << pool_.job(job);
    EXPECT_TRUE(artifactsOf(job).empty()) << script;
  }
  EXPECT_EQ(jobFolders(), 0U);
}

TEST_F(WorkerFiles, an_output_that_is_too_large_for_a_result_becomes_an_artifact_if_asked_for) {
  const std::string script = "head -c 100000 /dev/zero | tr '\\0' x";
  const Json::Value job = pool_.push();
  ASSERT_EQ(workWith(script, {"--spill-result", "--max-result-bytes", "1000"}), 0) << err();
  EXPECT_EQ(pool_.job(job)["status"], "done") << pool_.job(job);
  EXPECT_TRUE(pool_.job(job)["result"].isNull());
  EXPECT_EQ(artifact(job, "stdout").body, std::string(100'000, 'x'));
  const Json::Value small = pool_.push();
  ASSERT_EQ(workWith("echo '\"small\"'", {"--spill-result", "--max-result-bytes", "1000"}), 0);
  EXPECT_EQ(pool_.job(small)["result"], "small");
  EXPECT_TRUE(artifactsOf(small).empty());
}

// The one command's files are the other's, in two pools of one flow.
TEST_F(WorkerFiles, go_from_one_command_to_the_next) {
  PoolClient next(service().url(), name("next"));
  const Reply made =
      http_.post("/v1/flows", R"({"jobs":[{"name":"draw","pool_id":")" + pool_.name() +
                                  R"(","data":{}},{"name":"count","pool_id":")" + next.name() +
                                  R"(","data":{},"after":["draw"],"inputs":[{"from":"draw"}]}]})");
  ASSERT_EQ(made.status, 201) << made;
  ASSERT_EQ(
      workWith("mkdir -p \"$MUSTER_OUTPUT_DIR/pages/deep\"; cd \"$MUSTER_OUTPUT_DIR\";"
               "echo hello > data.txt; echo 1 > pages/deep/1.txt; ln -s deep/1.txt pages/first"),
      0)
      << err();
  http_.post("/v1/tick");
  ASSERT_TRUE(eventually(kPatience, [&] { return next.stats()["queue_depth"] == 1; }));
  ChildProcess reader(
      {{musterBinary(), "worker", "--pool", next.name(), "--data-dir", host(), "--", "sh", "-c",
        "cat \"$MUSTER_INPUTS/data.txt\" \"$MUSTER_INPUTS/pages/first\" > read.txt;"
        "cp \"$MUSTER_RESOURCES\" resources.json; test -d \"$MUSTER_OUTPUT_DIR\";"
        "stat -c %a \"$MUSTER_INPUTS/data.txt\" > mode.txt"},
       folder_.path(),
       {"MUSTER_URL=" + service().url()}});
  ASSERT_EQ(reader.wait(), 0) << reader.err();
  EXPECT_EQ(textOf("read.txt"), "hello\n1\n") << reader.err();
  EXPECT_EQ(textOf("mode.txt"), "444\n");
  EXPECT_NE(textOf("resources.json").find("/data.txt\":{\"type\":\"file\",\"holder\":\"store\""),
            std::string::npos)
      << textOf("resources.json");
  EXPECT_EQ(jobFolders(), 0U);
  EXPECT_EQ(std::distance(files::directory_iterator(folder_ / "host/cache"), {}), 2);
}

TEST_F(WorkerFiles, that_are_gone_fail_the_job_for_good) {
  const Json::Value made = resources_.createStored(name("gone"), "abc");
  ASSERT_EQ(resources_.remove(name("gone")).status, 200);
  ApiClient api(service().url(), "");
  HostFolder folder(host());
  ClaimedJob job;
  job.id = "j";
  job.attempt = "1";
  ClaimedInput input;
  input.resource_id = name("gone");
  input.as = "in";
  input.sha256 = std::string(64, 'a');
  input.content_path = contentPath(made["uid"].asString());
  job.inputs = {input};
  JobFiles job_files(folder, job);
  const auto fetched = job_files.fetchInputs({.ask = askOnce(api),
                                              .stop = [] { return false; },
                                              .pause = [] {},
                                              .ttl_seconds = {},
                                              .most_cache_bytes = {}});
  ASSERT_FALSE(fetched);
  EXPECT_TRUE(fetched.error().is_missing) << fetched.error().what;
}

TEST_F(WorkerFiles, of_a_worker_that_was_killed_are_swept_and_made_again) {
  const Json::Value job = pool_.push();
  const std::string script =
      "mkdir -p \"$MUSTER_OUTPUT_DIR\"; [ -e second ] && { echo right > \"$MUSTER_OUTPUT_DIR/f\"; "
      "exit; };"
      "echo wrong > \"$MUSTER_OUTPUT_DIR/f\"; echo wrong > \"$MUSTER_OUTPUT_DIR/g\"; " +
      kUntilGo;
  auto worker = startScript(script, {"--data-dir", host()});
  const std::string first = "host/jobs/" + job["id"].asString() + ".1";
  ASSERT_TRUE(appears(first + "/lock")) << worker->err();
  worker->signal(SIGKILL);
  worker->wait();
  ASSERT_TRUE(commandEnds());
  EXPECT_TRUE(files::exists(folder_ / first));
  writeFile(folder_ / "second", "");
  ASSERT_TRUE(goesBack(job)) << pool_.job(job);
  ASSERT_EQ(workWith(script), 0) << err();
  EXPECT_EQ(artifactsOf(job), (std::map<std::string, std::string>{{"f", "file"}}));
  EXPECT_EQ(artifact(job, "f").body, "right\n");
  EXPECT_EQ(jobFolders(), 0U);
}

TEST_F(WorkerFiles, of_a_worker_that_was_killed_while_it_sent_them_are_sent_by_the_next) {
  const Json::Value job = pool_.push();
  const std::string script =
      "mkdir -p \"$MUSTER_OUTPUT_DIR\"; head -c 300000000 /dev/zero > \"$MUSTER_OUTPUT_DIR/large\"";
  auto worker = startScript(script, {"--data-dir", host()});
  ASSERT_TRUE(eventually(kPatience, [&] {
    return http_.get("/v1/resources?state=uploading&job_id=" + job["id"].asString())
               .json["items"]
               .size() == 1;
  })) << worker->err();
  worker->signal(SIGKILL);
  worker->wait();
  ASSERT_EQ(pool_.job(job)["status"], "claimed") << "it was too fast to be killed";
  ASSERT_TRUE(goesBack(job)) << pool_.job(job);
  ASSERT_EQ(workWith("mkdir -p \"$MUSTER_OUTPUT_DIR\"; echo small > \"$MUSTER_OUTPUT_DIR/large\""),
            0)
      << err();
  EXPECT_EQ(artifact(job, "large").body, "small\n");
  EXPECT_EQ(jobFolders(), 0U);
}

TEST_F(WorkerFiles, a_command_hands_back_and_reads_with_muster_artifacts) {
  const Json::Value job = pool_.push();
  ASSERT_EQ(workWith("m='" + musterBinary() +
                     "'; echo body | \"$m\" artifacts put a/b --type text > id.txt && "
                     "mkdir d && echo 1 > d/1 && \"$m\" artifacts put d ./d > d.txt && "
                     "\"$m\" artifacts get \"$MUSTER_JOB_ID/a/b\""),
            0)
      << err();
  EXPECT_EQ(pool_.job(job)["result"], "body") << pool_.job(job);
  EXPECT_EQ(artifactsOf(job), (std::map<std::string, std::string>{{"a/b", "text"}, {"d", "dir"}}));
  const std::string id = "jobs/" + job["id"].asString() + "/a/b";
  EXPECT_EQ(textOf("id.txt"), id + "\n");
  EXPECT_EQ(cli({"artifacts", "list", job["id"].asString()}), 0) << cli_err_;
  EXPECT_NE(cli_out_.find("a/b"), std::string::npos) << cli_out_;
  EXPECT_EQ(cli({"artifacts", "get", id, "copy"}), 0) << cli_err_;
  EXPECT_EQ(textOf("copy"), "body\n");
  EXPECT_FALSE(files::exists(folder_ / "copy.part"));
  EXPECT_EQ(cli({"artifacts", "get", id + "/none", "copy"}), 1);
  EXPECT_EQ(textOf("copy"), "body\n");
  EXPECT_FALSE(files::exists(folder_ / "copy.part"));
}

TEST_F(WorkerFiles, a_download_that_was_cut_off_goes_on) {
  const std::string bytes = noise(9'000'000);
  const Json::Value made = resources_.create(R"("type":"file","resource_id":")" + name("r") + '"');
  constexpr std::size_t kPart = 4'000'000;
  for (std::size_t at = 0; at < bytes.size(); at += kPart) {
    const bool is_last = at + kPart >= bytes.size();
    const Reply sent =
        resources_.patch(name("r"), static_cast<std::int64_t>(at), bytes.substr(at, kPart),
                         is_last ? Headers{{"Upload-Complete", "?1"}} : Headers{});
    ASSERT_EQ(sent.status, 200) << sent;
  }
  for (const std::string& before : {std::string(), bytes.substr(0, 5'000'000), bytes,
                                    std::string("something else"), bytes + "more"}) {
    writeFile(folder_ / "f.part", before);
    ASSERT_EQ(cli({"artifacts", "get", name("r"), "f"}), 0) << cli_err_;
    EXPECT_TRUE(textOf("f") == bytes) << before.size();
  }
  EXPECT_EQ(cli({"artifacts", "get", name("r")}), 0);
  EXPECT_TRUE(cli_out_ == bytes);
}

// Most memory that `muster ARGS` had, in KiB.
constexpr const char* kMeasure =
    "import resource, subprocess, sys; code = subprocess.call(sys.argv[1:]);"
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr); "
    "sys.exit(code)";

TEST_F(WorkerFiles, large_ones_need_no_more_memory_than_small_ones) {
  constexpr std::uintmax_t kLarge = 200'000'000;
  constexpr long kMostKiB = 40 * 1024;
  writeFile(folder_ / "large", "");
  files::resize_file(folder_ / "large", kLarge);
  pool_.push();
  const Json::Value job = pool_.claimOne();
  const auto measured = [&](std::vector<std::string> args) {
    args.insert(args.begin(),
                {"/usr/bin/env", "python3", "-c", kMeasure, musterBinary(), "artifacts"});
    ChildProcess process({args,
                          folder_.path(),
                          {"MUSTER_URL=" + service().url(), "MUSTER_JOB_ID=" + job["id"].asString(),
                           "MUSTER_LEASE_TOKEN=" + job["lease_token"].asString()}});
    EXPECT_EQ(process.wait(), 0) << process.err();
    return std::stol(process.err());
  };
  EXPECT_LT(measured({"put", "large", "large"}), kMostKiB);
  EXPECT_LT(measured({"get", job["id"].asString() + "/large", "back"}), kMostKiB);
  EXPECT_EQ(files::file_size(folder_ / "back"), kLarge);
}

TEST_F(WorkerFiles, resources_are_listed_leased_and_deleted_by_commands) {
  resources_.createStored(name("r"), "abc");
  EXPECT_EQ(cli({"resources", "list", "--type", "file", "-o", "json"}), 0) << cli_err_;
  EXPECT_NE(cli_out_.find(name("r")), std::string::npos);
  EXPECT_EQ(cli({"resources", "show", name("r")}), 0) << cli_err_;
  EXPECT_NE(cli_out_.find("active"), std::string::npos) << cli_out_;
  ASSERT_EQ(cli({"resources", "lease", name("r"), "--ttl-seconds", "60"}), 0) << cli_err_;
  const std::string lease = cli_out_.substr(0, cli_out_.find('\n'));
  EXPECT_EQ(cli({"resources", "delete", name("r")}), 0) << cli_err_;
  EXPECT_NE(cli_out_.find("evicting"), std::string::npos) << cli_out_;
  EXPECT_EQ(cli({"resources", "release", name("r"), lease}), 0) << cli_err_;
  EXPECT_NE(cli_out_.find("evicted"), std::string::npos) << cli_out_;
  EXPECT_EQ(cli({"resources", "touch", name("r"), "--ttl-seconds", "60"}), 1);
}

}  // namespace
}  // namespace muster::test
