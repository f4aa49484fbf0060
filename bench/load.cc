#include "bench/load.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <ctime>
#include <exception>
#include <latch>
#include <mutex>
#include <system_error>
#include <thread>

namespace muster::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kThreads = 2;
constexpr int kPatienceMs = 30'000;
constexpr std::size_t kReadBytes = 256 * 1024;

[[noreturn]] void raise(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

double threadCpuSeconds() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

double secondsBetween(SteadyClock::time_point from, SteadyClock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

// One keep-alive connection with its conversation.
class Line {
 public:
  Line(std::uint16_t port, std::unique_ptr<Conversation> conversation)
      : conversation_(std::move(conversation)), socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      raise("connect");
    }
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  ~Line() { ::close(socket_); }

  int socket() const { return socket_; }
  SteadyClock::time_point asked() const { return asked_; }

  void ask() {
    asked_ = SteadyClock::now();
    std::string_view rest = conversation_->next();
    while (!rest.empty()) {
      const ssize_t sent = ::send(socket_, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent < 0) raise("send");
      rest.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

  // Takes what has arrived. Nothing: the answer is not complete yet.
  std::optional<bool> listen(std::array<char, kReadBytes>& buffer) {
    const ssize_t got = ::recv(socket_, buffer.data(), buffer.size(), 0);
    if (got < 0) raise("recv");
    if (got == 0) throw std::runtime_error("the server closed a connection");
    const std::string_view piece(buffer.data(), static_cast<std::size_t>(got));
    if (answer_.empty() && isWhole(piece)) return take(piece);
    answer_.append(piece);
    if (!isWhole(answer_)) return std::nullopt;
    const bool good = take(answer_);
    answer_.clear();
    head_ = 0;
    return good;
  }

 private:
  bool isWhole(std::string_view text) {
    if (head_ == 0) {
      const auto end = text.find("\r\n\r\n");
      if (end == std::string_view::npos) return false;
      body_ = 0;
      constexpr std::string_view kLength = "content-length:";
      auto at = text.find(kLength);
      if (at == std::string_view::npos) at = text.find("Content-Length:");
      if (at < end) {
        at = text.find_first_not_of(' ', at + kLength.size());
        std::from_chars(text.data() + at, text.data() + end, body_);
      }
      head_ = end + 4;
    }
    return text.size() >= head_ + body_;
  }

  bool take(std::string_view text) {
    int status = 0;
    std::from_chars(text.data() + 9, text.data() + 12, status);
    const bool good = conversation_->heard(status, text.substr(head_, body_));
    head_ = 0;
    return good;
  }

  std::unique_ptr<Conversation> conversation_;
  const int socket_;
  std::string answer_;    // what has arrived of an answer that came in pieces
  std::size_t head_ = 0;  // its size with the empty line; 0: not known yet
  std::size_t body_ = 0;
  SteadyClock::time_point asked_;
};

// What the threads of one run share.
struct Run {
  const LoadLimit limit;
  std::latch ready{kThreads};
  std::atomic<std::int64_t> left;
  std::mutex mutex;
  LoadResult result;         // guarded by mutex
  std::exception_ptr fault;  // guarded by mutex

  explicit Run(const LoadLimit& given) : limit(given), left(given.requests) {}

  bool mayAsk(SteadyClock::time_point began, SteadyClock::time_point now) {
    if (limit.over != nullptr) return !*limit.over;
    if (limit.requests > 0) return left.fetch_sub(1, std::memory_order_relaxed) > 0;
    return secondsBetween(began, now) < limit.seconds;
  }
};

void converse(Run& run, std::vector<std::unique_ptr<Line>>& lines, bool keep_latencies) {
  const int epoll = ::epoll_create1(0);
  for (auto& line : lines) {
    epoll_event wish{.events = EPOLLIN, .data = {.ptr = line.get()}};
    ::epoll_ctl(epoll, EPOLL_CTL_ADD, line->socket(), &wish);
  }
  auto buffer = std::make_unique<std::array<char, kReadBytes>>();
  std::array<epoll_event, 128> events{};
  std::vector<Line*> answered;
  LoadResult mine;
  run.ready.arrive_and_wait();
  const double cpu = threadCpuSeconds();
  const auto began = SteadyClock::now();
  auto now = began;
  std::size_t in_flight = 0;
  for (auto& line : lines) {
    if (!run.mayAsk(began, now)) break;
    line->ask();
    ++in_flight;
  }
  while (in_flight > 0) {
    const int count =
        ::epoll_wait(epoll, events.data(), static_cast<int>(events.size()), kPatienceMs);
    if (count == 0) throw std::runtime_error("no answer for half a minute");
    now = SteadyClock::now();
    answered.clear();
    for (int i = 0; i < count; ++i) {
      Line& line = *static_cast<Line*>(events[static_cast<std::size_t>(i)].data.ptr);
      const auto heard = line.listen(*buffer);
      if (!heard) continue;
      answered.push_back(&line);
      ++mine.requests;
      if (!*heard) ++mine.failures;
      if (keep_latencies) {
        mine.latencies_ms.push_back(secondsBetween(line.asked(), SteadyClock::now()) * 1000);
      }
    }
    // All that is there is read before the next is asked: fewer and fuller wake-ups on both sides.
    for (Line* line : answered) {
      if (run.mayAsk(began, now)) {
        line->ask();
      } else {
        --in_flight;
      }
    }
  }
  mine.seconds = secondsBetween(began, SteadyClock::now());
  mine.busiest_thread = threadCpuSeconds() - cpu;
  ::close(epoll);

  const std::lock_guard lock(run.mutex);
  run.result.requests += mine.requests;
  run.result.failures += mine.failures;
  run.result.seconds = std::max(run.result.seconds, mine.seconds);
  run.result.busiest_thread = std::max(run.result.busiest_thread, mine.busiest_thread);
  if (keep_latencies && !mine.latencies_ms.empty()) {
    run.result.latencies_ms = std::move(mine.latencies_ms);
  }
}

}  // namespace

LoadResult runLoad(std::uint16_t port, int connections, const MakeConversation& make,
                   const LoadLimit& limit) {
  Run run(limit);
  std::array<std::vector<std::unique_ptr<Line>>, kThreads> lines;
  for (int i = 0; i < connections; ++i) {
    lines[static_cast<std::size_t>(i) % kThreads].push_back(std::make_unique<Line>(port, make(i)));
  }
  {
    std::vector<std::jthread> threads;
    for (auto& own : lines) {
      threads.emplace_back([&run, &own, connections] {
        try {
          converse(run, own, connections == 1);
        } catch (...) {
          const std::lock_guard lock(run.mutex);
          run.fault = std::current_exception();
        }
      });
    }
  }
  if (run.fault) std::rethrow_exception(run.fault);
  return std::move(run.result);
}

}  // namespace muster::bench
