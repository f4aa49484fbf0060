#pragma once

#include <initializer_list>
#include <string>

#include "bench/workshop.h"

namespace muster::bench {

// What the command prints. Throws when it fails.
std::string outputOf(const std::string& command);

// A new database on the PostgreSQL under test.
class Database {
 public:
  explicit Database(const Workshop& shop);
  std::string url() const;
  std::string query(const std::string& sql) const;
  // Transactions a second of the script, by so many clients.
  double benchmark(const std::string& script, int clients, double seconds) const;

 private:
  std::string place() const;

  std::string folder_;
  std::string name_;
};

// Jobs a second that a peer runs, each time on a new database: the best of these numbers of tracks.
// `shape` is that of a flow, for the peer that has them.
double bestPeerRate(const Workshop& shop, const std::string& peer, int jobs,
                    std::initializer_list<int> tracks, const std::string& shape = {});

}  // namespace muster::bench
