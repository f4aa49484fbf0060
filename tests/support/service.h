#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/child_process.h"
#include "tests/support/postgres_server.h"
#include "tests/support/temp_folder.h"

namespace muster::test {

// The store that this run of the tests is about, by MUSTER_TEST_STORE: sqlite (the default), memory
// or postgres. A service that is restarted needs one that lasts: in the run about memory that is
// SQLite. Each service has its own.
std::string anyStore();
std::string lastingStore();

struct ServiceOptions {
  std::string store = lastingStore();
  std::string settings = {};  // lines of muster.yml
  bool ticker = false;        // periodic duties run by themselves, not only by POST /v1/tick
  std::vector<std::string> env = {};  // NAME=value
  bool adopts_orphans = false;        // as process 1 of a container does
};

// The real program, serving on a free port of its own with a database of its own.
class Service {
 public:
  explicit Service(ServiceOptions options = {});

  // On a free port unless one is named; throws with the log when it does not come up.
  void start(std::uint16_t port = 0);
  void interrupt();  // asks it to stop and does not wait
  int awaitExit();   // the exit code, -1 when it had to be killed
  int stop();        // both
  void kill9();      // leaves it no time to tidy up
  void restart();    // stop and start on the same database
  bool running();
  pid_t pid() const { return process_->pid(); }

  std::string url() const;
  std::uint16_t port() const { return port_; }
  const TempFolder& folder() const { return folder_; }
  std::string database() const { return (folder_ / "muster.db").string(); }  // of SQLite
  // What it is told to use as its store.
  std::string store() const { return postgres_ ? postgres_->url() : options_.store; }
  std::string log() const { return readFile(folder_ / "stderr.txt"); }

  // What it is started with.
  std::vector<std::string> commandLine(std::uint16_t port = 0) const;

 private:
  ServiceOptions options_;
  TempFolder folder_;
  std::unique_ptr<PostgresDatabase> postgres_;
  std::unique_ptr<ChildProcess> process_;
  std::uint16_t port_ = 0;
};

}  // namespace muster::test
