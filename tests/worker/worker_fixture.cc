#include "tests/worker/worker_fixture.h"

#include <signal.h>

#include <cerrno>

namespace muster::test {

const std::string kUntilGo =
    "echo $$ > pid.new; mv pid.new pid; until [ -e go ]; do sleep 0.02; done; ";

WorkerFixture::WorkerFixture() {
  // A lease that no worker loses because it, or its service, stands still for a while.
  pool_.configure(
      R"("lease_seconds":60,"heartbeat_interval_seconds":1,"retry":{"base_ms":0,"max_retries":3})");
}

std::unique_ptr<ChildProcess> WorkerFixture::start(const std::vector<std::string>& args,
                                                   const std::string& url) {
  Command command{{musterBinary(), "worker", "--pool", pool_.name()}, folder_.path()};
  command.argv.insert(command.argv.end(), args.begin(), args.end());
  command.env = {"MUSTER_URL=" + (url.empty() ? service().url() : url),
                 "MUSTER_WORKER_ID=" + worker_};
  return std::make_unique<ChildProcess>(command);
}

int WorkerFixture::work(const std::vector<std::string>& args) {
  const auto process = start(args);
  const auto code = process->wait();
  out_ = process->out();
  err_ = process->err();
  EXPECT_TRUE(code) << "the worker does not end\n" << err_;
  return code.value_or(-1);
}

std::unique_ptr<ChildProcess> WorkerFixture::startScript(const std::string& script,
                                                         std::vector<std::string> options,
                                                         const std::string& url) {
  options.insert(options.end(), {"--", "sh", "-c", script});
  return start(options, url);
}

int WorkerFixture::workWithScript(const std::string& script, std::vector<std::string> options) {
  options.insert(options.end(), {"--", "sh", "-c", script});
  return work(options);
}

bool WorkerFixture::appears(const std::string& file) {
  return eventually(kPatience, [&] { return std::filesystem::exists(folder_ / file); });
}

bool WorkerFixture::becomes(const Json::Value& job, const std::string& status) {
  return eventually(kPatience, [&] { return pool_.job(job)["status"] == status; });
}

bool WorkerFixture::commandEnds() {
  const pid_t pid = std::stoi(textOf("pid"));
  return eventually(kPatience, [pid] { return ::kill(pid, 0) != 0 && errno == ESRCH; });
}

}  // namespace muster::test
