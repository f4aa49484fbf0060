#include "bench/database.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <stdexcept>

namespace muster::bench {

std::string outputOf(const std::string& command) {
  FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  std::string output;
  std::array<char, 4096> room;
  while (const std::size_t count = std::fread(room.data(), 1, room.size(), pipe)) {
    output.append(room.data(), count);
  }
  if (::pclose(pipe) != 0) throw std::runtime_error("failed: " + command + "\n" + output);
  return output;
}

Database::Database(const Workshop& shop) : folder_(shop.options().postgres) {
  static int databases = 0;
  name_ = fmt::format("bench_{}", ++databases);
  outputOf(fmt::format("psql -qX {} -d postgres -c 'CREATE DATABASE {}' 2>&1", place(), name_));
}

std::string Database::url() const {
  return fmt::format("postgresql://postgres@/{}?host={}", name_, folder_);
}

std::string Database::query(const std::string& sql) const {
  return outputOf(fmt::format("psql -qAtX {} -d {} -c \"{}\" 2>&1", place(), name_, sql));
}

double Database::benchmark(const std::string& script, int clients, double seconds) const {
  const std::string out =
      outputOf(fmt::format("pgbench -n -M prepared {} -c {} -j 2 -T {:.0f} -f {} {} 2>&1", place(),
                           clients, std::max(1.0, seconds), script, name_));
  const auto at = out.find("tps = ");
  if (at == std::string::npos) throw std::runtime_error("pgbench: " + out);
  return std::stod(out.substr(at + 6));
}

std::string Database::place() const { return fmt::format("-h {} -U postgres", folder_); }

double bestPeerRate(const Workshop& shop, const std::string& peer, int jobs,
                    std::initializer_list<int> tracks, const std::string& shape) {
  double best = 0;
  for (const int concurrency : tracks) {
    const Database database(shop);
    best =
        std::max(best, std::stod(outputOf(fmt::format(
                           "cd '{}' && node_modules/.bin/node peer.mjs {} '{}' {} {} {} "
                           "2>/dev/null",
                           shop.options().peers, peer, database.url(), jobs, concurrency, shape))));
  }
  return best;
}

}  // namespace muster::bench
