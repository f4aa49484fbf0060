#include "tests/support/service.h"

#include <signal.h>

#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace muster::test {
namespace {

constexpr const char* kOwnPostgres = "postgres";

// The port in the line a started service prints first; 0 while it is not there.
std::uint16_t announcedPort(const std::string& out) {
  constexpr std::string_view kPrefix = "listening on http://127.0.0.1:";
  const std::size_t end = out.find('\n');
  if (end == std::string::npos) return 0;
  if (!out.starts_with(kPrefix)) throw std::runtime_error("unexpected first line: " + out);
  std::uint16_t port = 0;
  std::from_chars(out.data() + kPrefix.size(), out.data() + end, port);
  return port;
}

}  // namespace

std::string anyStore() {
  const char* const given = std::getenv("MUSTER_TEST_STORE");
  const std::string name = given != nullptr ? given : "sqlite";
  if (name == "sqlite") return "sqlite:muster.db";  // in the service's own folder
  if (name == "memory") return "memory:";
  if (name == "postgres") return kOwnPostgres;
  throw std::runtime_error("MUSTER_TEST_STORE is sqlite, memory or postgres, not " + name);
}

std::string lastingStore() {
  const std::string store = anyStore();
  return store == "memory:" ? "sqlite:muster.db" : store;
}

Service::Service(ServiceOptions options) : options_(std::move(options)) {
  if (options_.store == kOwnPostgres) postgres_ = std::make_unique<PostgresDatabase>();
  writeFile(folder_ / "muster.yml",
            std::string("ticker: ") + (options_.ticker ? "on" : "off") + "\n" + options_.settings);
  start();
}

std::vector<std::string> Service::commandLine(std::uint16_t port) const {
  const std::string address = "127.0.0.1:" + std::to_string(port);
  return {musterBinary(), "serve", "--listen", address, "--store", store()};
}

void Service::start(std::uint16_t port) {
  process_.reset();
  std::filesystem::remove(folder_ / "stdout.txt");
  Command command{commandLine(port), folder_.path()};
  command.env = options_.env;
  command.adopts_orphans = options_.adopts_orphans;
  process_ = std::make_unique<ChildProcess>(command);
  port_ = 0;
  eventually(kPatience, [this] {
    port_ = announcedPort(process_->out());
    return port_ != 0 || !process_->running();
  });
  if (port_ == 0) {
    throw std::runtime_error("the service did not start: " + musterBinary() + "\n" + log());
  }
}

void Service::interrupt() { process_->signal(SIGTERM); }

int Service::awaitExit() {
  const std::optional<int> code = process_->wait();
  if (!code) kill9();
  return code.value_or(-1);
}

int Service::stop() {
  interrupt();
  return awaitExit();
}

void Service::kill9() {
  process_->signal(SIGKILL);
  process_->wait();
}

void Service::restart() {
  if (const int code = stop(); code != 0) {
    throw std::runtime_error("the service stopped with " + std::to_string(code) + "\n" + log());
  }
  start();
}

bool Service::running() { return process_->running(); }

std::string Service::url() const { return "http://127.0.0.1:" + std::to_string(port_); }

}  // namespace muster::test
