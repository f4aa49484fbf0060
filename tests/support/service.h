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
  std::vector<int> without = {};      // capabilities that it and its workers do not have, if root
  unsigned open_files = 0;            // the hard limit of open files; 0: that of the test
  bool https = false;                 // the settings name a certificate
};

// A free port of loopback that nobody else is given while this lives. It is bound, so that the
// kernel gives it to no other, and not listened to, so that whoever asks to share it may.
class ReservedPort {
 public:
  ReservedPort();
  ~ReservedPort();
  ReservedPort(const ReservedPort&) = delete;
  ReservedPort& operator=(const ReservedPort&) = delete;

  std::uint16_t number() const { return number_; }

 private:
  int socket_ = -1;
  std::uint16_t number_ = 0;
};

// The real program, serving on a port of its own, the same after each start, with a database of its
// own.
class Service {
 public:
  explicit Service(ServiceOptions options = {});

  // Throws with the log when it does not come up.
  void start();
  void interrupt();  // asks it to stop and does not wait
  int awaitExit();   // the exit code, -1 when it had to be killed
  int stop();        // both
  void kill9();      // leaves it no time to tidy up
  void restart();    // stop and start on the same database
  bool running();
  pid_t pid() const { return process_->pid(); }

  std::string url() const;
  std::uint16_t port() const { return port_.number(); }
  const TempFolder& folder() const { return folder_; }
  std::string database() const { return (folder_ / "muster.db").string(); }  // of SQLite
  // What it is told to use as its store.
  std::string store() const { return postgres_ ? postgres_->url() : options_.store; }
  std::string log() const { return readFile(folder_ / "stderr.txt"); }

 private:
  ReservedPort port_;
  ServiceOptions options_;
  TempFolder folder_;
  std::unique_ptr<PostgresDatabase> postgres_;
  std::unique_ptr<ChildProcess> process_;
};

}  // namespace muster::test
