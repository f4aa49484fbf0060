#include "bench/server_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace muster::bench {
namespace {

std::string readLine(int from) {
  std::string line;
  char c = 0;
  while (::read(from, &c, 1) == 1 && c != '\n') line += c;
  return line;
}

bool accepts(std::uint16_t port) {
  const int probe = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool good = ::connect(probe, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  ::close(probe);
  return good;
}

}  // namespace

ServerProcess::ServerProcess(const std::vector<std::string>& command, const std::string& folder) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("no process");
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(ends[1], STDOUT_FILENO);
    if (::chdir(folder.c_str()) == 0) ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  output_ = ends[0];
  const std::string line = readLine(output_);
  const auto colon = line.rfind(':');
  if (!line.starts_with("listening on ") || colon == std::string::npos) {
    throw std::runtime_error(fmt::format("{} did not start", command.front()));
  }
  port_ = static_cast<std::uint16_t>(std::stoi(line.substr(colon + 1)));
  // Drogon calls back a moment before its loops listen.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (!accepts(port_)) {
    if (std::chrono::steady_clock::now() > deadline) {
      throw std::runtime_error(fmt::format("{} does not accept connections", command.front()));
    }
    std::this_thread::yield();
  }
}

ServerProcess::~ServerProcess() {
  ::kill(pid_, SIGTERM);
  ::waitpid(pid_, nullptr, 0);
  ::close(output_);
}

double ServerProcess::cpuSeconds() const {
  double nanoseconds = 0;
  for (const auto& task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid_))) {
    double on_cpu = 0;
    std::ifstream(task.path() / "schedstat") >> on_cpu;
    nanoseconds += on_cpu;
  }
  return nanoseconds / 1e9;
}

std::int64_t ServerProcess::residentBytes() const { return memoryBytes("VmRSS:"); }
std::int64_t ServerProcess::peakResidentBytes() const { return memoryBytes("VmHWM:"); }

std::int64_t ServerProcess::memoryBytes(const std::string& field) const {
  std::ifstream file(fmt::format("/proc/{}/status", pid_));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(field)) return std::atoll(line.c_str() + field.size()) * 1024;
  }
  return 0;
}

}  // namespace muster::bench
