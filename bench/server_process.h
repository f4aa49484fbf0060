#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace muster::bench {

// A server in a process of its own that prints `listening on http://HOST:PORT` first. It is stopped
// when this goes out of scope, and dies with us.
class ServerProcess {
 public:
  // Returns when the server listens. Throws when it does not.
  ServerProcess(const std::vector<std::string>& command, const std::string& folder);
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  ~ServerProcess();

  std::uint16_t port() const { return port_; }
  double cpuSeconds() const;
  std::int64_t residentBytes() const;
  std::int64_t peakResidentBytes() const;

 private:
  std::int64_t memoryBytes(const std::string& field) const;

  pid_t pid_ = -1;
  int output_ = -1;
  std::uint16_t port_ = 0;
};

}  // namespace muster::bench
