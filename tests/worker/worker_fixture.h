#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/support/service_fixture.h"

namespace muster::test {

// Tests of the real worker. Each has a pool with short leases, a folder in which the worker and its
// commands run, and a worker id of its own.
class WorkerFixture : public ServiceFixture {
 protected:
  WorkerFixture();

  // `muster worker --pool … ARGS`, for this service or the one at `url`.
  std::unique_ptr<ChildProcess> start(const std::vector<std::string>& args,
                                      const std::string& url = {});
  // The same, until it ends: its exit code.
  int work(const std::vector<std::string>& args);
  // With `sh -c SCRIPT` as the command.
  int workWithScript(const std::string& script, std::vector<std::string> options = {});
  std::unique_ptr<ChildProcess> startScript(const std::string& script,
                                            std::vector<std::string> options = {},
                                            const std::string& url = {});

  // Of the last worker that has ended in work().
  const std::string& out() const { return out_; }
  const std::string& err() const { return err_; }

  bool appears(const std::string& file);
  bool becomes(const Json::Value& job, const std::string& status);
  std::string textOf(const std::string& file) { return readFile(folder_ / file); }
  // The process whose id a command wrote into the file `pid` has ended.
  bool commandEnds();
  std::string workerStatus() { return pool_.worker(worker_)["status"].asString(); }

  TempFolder folder_;
  const std::string worker_ = name("w");

 private:
  std::string out_;
  std::string err_;
};

// A command that says it has started, and goes on until the file `go` is there.
extern const std::string kUntilGo;

}  // namespace muster::test
