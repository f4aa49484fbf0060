#include "tests/support/service.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

namespace muster::test {
namespace {

constexpr const char* kOwnPostgres = "postgres";

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

ReservedPort::ReservedPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const int yes = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const place = reinterpret_cast<sockaddr*>(&address);
  if (::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      ::bind(socket_, place, size) != 0 || ::getsockname(socket_, place, &size) != 0) {
    throw std::runtime_error("there is no free port");
  }
  number_ = ntohs(address.sin_port);
}

ReservedPort::~ReservedPort() { ::close(socket_); }

Service::Service(ServiceOptions options) : options_(std::move(options)) {
  if (options_.store == kOwnPostgres) postgres_ = std::make_unique<PostgresDatabase>();
  writeFile(folder_ / "muster.yml",
            std::string("ticker: ") + (options_.ticker ? "on" : "off") + "\n" + options_.settings);
  start();
}

void Service::start() {
  process_.reset();
  std::filesystem::remove(folder_ / "stdout.txt");
  const std::string address = "127.0.0.1:" + std::to_string(port());
  Command command{{musterBinary(), "serve", "--listen", address, "--store", store()},
                  folder_.path()};
  command.env = options_.env;
  command.env.push_back("TMPDIR=" + folder_.path().string());  // whatever ends it, nothing is left
  command.adopts_orphans = options_.adopts_orphans;
  command.without = options_.without;
  command.open_files = options_.open_files;
  process_ = std::make_unique<ChildProcess>(command);
  // The line that a started service prints first.
  const auto listens = [this] { return process_->out().ends_with('\n'); };
  eventually(kPatience, [&] { return listens() || !process_->running(); });
  if (!listens()) {
    throw std::runtime_error("the service did not start: " + musterBinary() + "\n" + log());
  }
  if (process_->out() != "listening on " + url() + "\n") {
    throw std::runtime_error("unexpected first line: " + process_->out());
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

std::string Service::url() const {
  return (options_.https ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(port());
}

}  // namespace muster::test
