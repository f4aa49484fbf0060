#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/load.h"
#include "bench/server_process.h"
#include "models/store/storage.h"

namespace muster::bench {

struct Options {
  std::string muster;  // the programs
  std::string echo_server;
  std::string one_request;
  std::string folder;    // for databases; on a disk, or `full` durability costs nothing
  std::string postgres;  // the socket's folder of a running server
  std::string peers;     // bench/peers, installed
  bool quick = false;
};

// One kind of thing measured several times, in turn with what it is compared to.
class Series {
 public:
  void add(double value, double cpu_us = 0) {
    values_.push_back(value);
    cpu_us_.push_back(cpu_us);
  }
  double median() const;
  double medianCpuUs() const;
  // The median of the ratios of each round: what slows both in one round does not count.
  double ratioTo(const Series& baseline) const;
  // For many short rounds: the ratio of the rates over all of them, without the fastest and the
  // slowest tenth.
  double overallRatioTo(const Series& baseline) const;

 private:
  double overallRate() const;

  std::vector<double> values_;
  std::vector<double> cpu_us_;
};

double quantile(std::vector<double> values, double share);

// Where measurements are made: starts servers, fills pools, measures.
class Workshop {
 public:
  explicit Workshop(Options options) : options_(std::move(options)) {}

  bool quick() const { return options_.quick; }
  int rounds() const { return options_.quick ? 3 : 5; }
  double seconds() const { return options_.quick ? 1.0 : 2.0; }
  std::string path(const std::string& name) const { return options_.folder + "/" + name; }

  std::unique_ptr<ServerProcess> echo(bool parse = false) const;
  // On the database of that name, which is made when it is new.
  std::unique_ptr<ServerProcess> service(const std::string& name, Durability durability) const;

  // On the PostgreSQL database at this address.
  std::unique_ptr<ServerProcess> service(const std::string& name, const std::string& store) const;

  // On a folder of that name, with these lines of muster.yml.
  std::unique_ptr<ServerProcess> configured(const std::string& name,
                                            const std::string& settings) const;
  const Options& options() const { return options_; }

  // Pushes jobs in batches; `extra` as in jobBody().
  void fill(const ServerProcess& server, const std::string& pool, std::int64_t jobs,
            const std::string& extra = {}) const;

  // One run. Throws when an answer was not the expected one.
  LoadResult measure(const ServerProcess& server, int connections, const MakeConversation& make,
                     const LoadLimit& limit) const;
  // Adds the rate of a run to the series, with the server's CPU time per request.
  LoadResult sample(Series& series, const ServerProcess& server, int connections,
                    const MakeConversation& make, const LoadLimit& limit) const;

 private:
  const Options options_;
};

}  // namespace muster::bench
