// What a host keeps in its folder, with the real service.
#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>

#include "app/worker/folder_records.h"
#include "app/worker/host_folder.h"
#include "tests/support/resource_client.h"
#include "tests/worker/worker_fixture.h"

namespace muster::test {
namespace {

namespace files = std::filesystem;

class HostFolders : public WorkerFixture {
 protected:
  // A command about the folder of this test's host.
  int cli(std::vector<std::string> args, const std::string& data_dir = "") {
    Command command{{musterBinary()}, folder_.path()};
    command.argv.insert(command.argv.end(), args.begin(), args.end());
    command.env = {"MUSTER_URL=" + service().url(), "MUSTER_HOST_NAME=" + host_,
                   "MUSTER_DATA_DIR=" + (data_dir.empty() ? path_ : data_dir)};
    ChildProcess process(command);
    const auto code = process.wait();
    cli_out_ = process.out();
    cli_err_ = process.err();
    return code.value_or(-1);
  }
  // The uid of the resource.
  std::string keep(const std::string& id, const std::string& bytes = "weights") {
    writeFile(folder_ / "model.bin", bytes);
    EXPECT_EQ(cli({"resources", "keep", "model.bin", "--id", name(id)}), 0) << cli_err_;
    return resources_.get(name(id)).json["uid"].asString();
  }
  std::string stateOf(const std::string& id) {
    return resources_.get(name(id)).json["state"].asString();
  }
  int workHere(const std::string& script) {
    return workWithScript(script, {"--host", host_, "--data-dir", path_});
  }

  const std::string host_ = name("h");
  const std::string path_ = (folder_ / "host").string();
  ResourceClient resources_{http_};
  std::string cli_out_, cli_err_;
};

TEST_F(HostFolders, keep_a_file_that_a_job_on_the_host_reads) {
  const std::string uid = keep("base");
  EXPECT_EQ(cli_out_, name("base") + "\n");
  EXPECT_FALSE(files::exists(folder_ / "model.bin"));
  const Json::Value resource = resources_.get(uid).json;
  EXPECT_EQ(resource["holder"], "host:" + host_);
  EXPECT_EQ(resource["state"], "active");
  EXPECT_EQ(resource["path"], "resources/" + uid + "/model.bin");
  EXPECT_EQ(resource["size_bytes"], 7);
  EXPECT_FALSE(resource["stored"].asBool());
  const auto job = pool_.push(R"("data":1,"resource_refs":[{"resource_id":)" +
                              inQuotes(name("base")) + R"(,"as":"model"}])");
  EXPECT_EQ(workHere("printf '\"%s\"' \"$(cat $MUSTER_INPUTS/model)\""), 0) << err();
  EXPECT_EQ(pool_.job(job)["result"], "weights") << err();
}

TEST_F(HostFolders, delete_a_file_at_the_next_tending) {
  const std::string uid = keep("base");
  ASSERT_EQ(cli({"resources", "gc"}), 0) << cli_err_;
  EXPECT_NE(keptFile(path_, uid), "");
  EXPECT_EQ(resources_.remove(name("base")).json["state"], "evicting");
  ASSERT_EQ(cli({"resources", "gc"}), 0) << cli_err_;
  EXPECT_EQ(keptFile(path_, uid), "");
  EXPECT_EQ(stateOf("base"), "evicted");
}

TEST_F(HostFolders, are_tended_by_a_worker_when_it_is_time) {
  const std::string uid = keep("base");
  resources_.remove(name("base"));
  const auto sinceTended = [this](std::time_t seconds) {
    struct timespec then[2] = {};
    ::clock_gettime(CLOCK_REALTIME, &then[1]);
    then[1].tv_sec -= seconds;
    then[0] = then[1];
    ASSERT_EQ(::utimensat(AT_FDCWD, (path_ + "/lock").c_str(), then, 0), 0);
  };
  sinceTended(1);
  EXPECT_EQ(workHere("true"), 0) << err();
  EXPECT_NE(keptFile(path_, uid), "");
  sinceTended(3600);
  EXPECT_EQ(workHere("true"), 0) << err();
  EXPECT_EQ(keptFile(path_, uid), "") << err();
  EXPECT_EQ(stateOf("base"), "evicted");
}

TEST_F(HostFolders, of_one_host_are_not_two) {
  keep("base");
  writeFile(folder_ / "other.bin", "x");
  const std::string other = (folder_ / "other").string();
  EXPECT_EQ(cli({"resources", "keep", "other.bin", "--id", name("other")}, other), 1);
  EXPECT_NE(cli_err_.find("has the folder"), std::string::npos) << cli_err_;
  EXPECT_EQ(readFile(folder_ / "other.bin"), "x");
  EXPECT_EQ(resources_.get(name("other")).status, 404);
}

TEST_F(HostFolders, leave_a_file_whose_resource_is_refused) {
  keep("base");
  writeFile(folder_ / "model.bin", "another");
  EXPECT_EQ(cli({"resources", "keep", "model.bin", "--id", name("base")}), 1);
  EXPECT_EQ(readFile(folder_ / "model.bin"), "another");
  EXPECT_EQ(stateOf("base"), "active");
}

TEST_F(HostFolders, take_the_same_file_twice_as_one) {
  const std::string uid = keep("base");
  EXPECT_EQ(keep("base"), uid);
  EXPECT_FALSE(files::exists(folder_ / "model.bin"));
  EXPECT_EQ(readFile(keptFile(path_, uid)), "weights");
}

TEST_F(HostFolders, finish_what_was_registered_and_did_not_come) {
  ASSERT_TRUE(HostFolder(path_).prepare());
  ASSERT_EQ(cli({"resources", "gc"}), 0) << cli_err_;
  writeFile(folder_ / "model.bin", "weights");
  const auto made = resources_.create(R"("resource_id":)" + inQuotes(name("base")) +
                                      R"(,"type":"file","holder":)" + inQuotes("host:" + host_));
  const std::string uid = made["uid"].asString(), from = (folder_ / "model.bin").string();
  ASSERT_TRUE(writeRecord(
      path_,
      {.uid = uid, .id = name("base"), .name = "model.bin", .from = from, .mark = fileMark(from)}));
  ASSERT_EQ(cli({"resources", "gc"}), 0) << cli_err_;
  EXPECT_EQ(readFile(keptFile(path_, uid)), "weights");
  EXPECT_EQ(stateOf("base"), "active");
}

TEST_F(HostFolders, that_lose_a_file_lose_its_resource) {
  const std::string uid = keep("base");
  ASSERT_EQ(cli({"resources", "gc"}), 0) << cli_err_;
  files::remove_all(path_ + "/resources/" + uid);
  ASSERT_EQ(cli({"resources", "gc"}), 0) << cli_err_;
  EXPECT_EQ(stateOf("base"), "lost");
  EXPECT_FALSE(files::exists(path_ + "/resources/" + uid + ".json"));
}

TEST_F(HostFolders, hold_artifacts_that_stay_on_the_host) {
  const auto job = pool_.push();
  ASSERT_EQ(workHere("echo data >big; " + musterBinary() + " artifacts put big big --on-host"), 0)
      << err();
  EXPECT_EQ(pool_.job(job)["status"], "done") << err();
  const Json::Value made = resources_.get("jobs/" + job["id"].asString() + "/big").json;
  EXPECT_EQ(made["holder"], "host:" + host_) << made;
  EXPECT_EQ(readFile(keptFile(path_, made["uid"].asString())), "data\n");
}

TEST_F(HostFolders, are_asked_for_properly) {
  EXPECT_EQ(cli({"resources", "keep", "model.bin"}), 2);
  EXPECT_NE(cli_err_.find("--id"), std::string::npos) << cli_err_;
  EXPECT_EQ(cli({"resources", "keep", "missing.bin", "--id", name("x")}), 1);
  EXPECT_NE(cli_err_.find("missing.bin"), std::string::npos) << cli_err_;
  EXPECT_EQ(cli({"resources", "gc"}, (folder_ / "none").string()), 0);
  EXPECT_NE(cli_err_.find("nothing is kept there"), std::string::npos) << cli_err_;
  EXPECT_FALSE(files::exists(folder_ / "none"));
  EXPECT_EQ(cli({"resources", "keep", "--help"}), 0);
  EXPECT_NE(cli_out_.find("--data-dir"), std::string::npos) << cli_out_;
  EXPECT_EQ(cli({"artifacts", "put", "x", "--on-host"}), 2);
  EXPECT_NE(cli_err_.find("--on-host needs a file"), std::string::npos) << cli_err_;
}

}  // namespace
}  // namespace muster::test
