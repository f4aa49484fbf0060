#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <list>
#include <string_view>

#include "tests/support/raw_connection.h"
#include "tests/support/service_fixture.h"

#ifdef MUSTER_FRAMEWORK_TELLS_OF_CONNECTIONS

namespace muster::test {
namespace {

constexpr const char* kHead = "POST /v1/pools/p/jobs HTTP/1.1\r\nHost: localhost\r\n";
constexpr const char* kHealth = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";

// While it lives, the soft limit of open files is the usual one; widen() makes it the hard one.
class FileLimit {
 public:
  FileLimit() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    constexpr rlim_t kUsual = 1024;
    set(std::min(kUsual, before_.rlim_max));
  }
  ~FileLimit() { set(before_.rlim_cur); }
  void widen() const { set(before_.rlim_max); }
  std::size_t most() const { return before_.rlim_max; }

 private:
  void set(rlim_t soft) const {
    const rlimit limit{soft, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  rlimit before_{};
};

TEST(Connections, thousands_of_slow_ones_leave_others_unharmed) {
  const FileLimit limit;
  Service service({.store = anyStore()});
  limit.widen();
  PoolClient pool(service.url(), "p");
  PendingReply waiting(service.url(),
                       {"POST", "/v1/pools/q/claim", R"({"worker_id":"w","wait_seconds":30})"});
  waiting.finished(10ms);  // sends it

  std::list<RawConnection> slow;
  const std::size_t count = std::min<std::size_t>(2000, limit.most() / 2);
  for (std::size_t i = 0; i < count; ++i) {
    constexpr std::array<std::string_view, 4> kBegun = {
        "", "POST /v1/po", "POST /v1/pools/p/jobs HTTP/1.1\r\nHost: localhost\r\n",
        "POST /v1/pools/p/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{"};
    ASSERT_TRUE(slow.emplace_back(service.port()).send(kBegun[i % kBegun.size()]));
  }
  for (int i = 0; i < 20; ++i) {
    Http other(service.url());  // a new connection each
    EXPECT_EQ(other.get("/healthz").status, 200);
  }
  const Json::Value job = pool.push();
  EXPECT_EQ(pool.claimOne()["id"], job["id"]);
  PoolClient(service.url(), "q").push();
  EXPECT_TRUE(waiting.finished(kPatience));
  EXPECT_EQ(waiting.reply().status, 200) << waiting.reply();
  EXPECT_LT(service.log().size(), 16U << 10) << service.log().substr(0, 2000);
  EXPECT_EQ(service.stop(), 0);
}

// In KiB, the most that the process ever held.
long mostMemory(pid_t pid) {
  const std::string status = readFile("/proc/" + std::to_string(pid) + "/status");
  return std::stol(status.substr(status.find("VmHWM:") + 6));
}

TEST(Connections, one_that_takes_no_answers_is_asked_for_no_more) {
  Service service({.store = anyStore(), .settings = "threads: 1\n"});
  constexpr int kRequests = 400;  // for some 300 KB each
  std::string requests;
  for (int i = 1; i <= kRequests; ++i) {
    requests += "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n";
    requests += i == kRequests ? "Connection: close\r\n\r\n" : "\r\n";
  }
  RawConnection greedy(service.port());
  ASSERT_TRUE(greedy.send(requests));
  Http other(service.url());
  for (int i = 0; i < 50; ++i) EXPECT_EQ(other.get("/healthz").status, 200);
  EXPECT_LT(mostMemory(service.pid()), 100'000);
  const std::string answers = greedy.receive(kPatience);
  EXPECT_TRUE(greedy.closed());
  int count = 0;
  for (std::size_t at = 0; (at = answers.find("HTTP/1.1 200", at)) != std::string::npos; ++at)
    ++count;
  EXPECT_EQ(count, kRequests) << "all come once they are taken";
  EXPECT_LT(mostMemory(service.pid()), 100'000);
}

TEST(Connections, one_too_many_is_told_so) {
  Service service({.store = anyStore(), .settings = "max_connections: 4\n"});
  std::list<RawConnection> all;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(all.emplace_back(service.port()).send(kHealth));
    EXPECT_TRUE(all.back().receive(kPatience, "\r\n\r\n").starts_with("HTTP/1.1 200"));
  }
  RawConnection refused(service.port());
  std::string answer = refused.receive(kPatience);
  EXPECT_TRUE(refused.closed());
  const Reply reply = takeReply(answer);
  EXPECT_TRUE(isProblem(reply, 503, "store_busy"));
  EXPECT_FALSE(reply.header("retry-after").empty());
  EXPECT_EQ(answer, "");
  ASSERT_TRUE(all.back().send(kHealth)) << "those that are there are served";
  EXPECT_TRUE(all.back().receive(kPatience, "\r\n\r\n").starts_with("HTTP/1.1 200"));
  all.pop_front();
  EXPECT_TRUE(eventually(kPatience, [&] {
    return exchange(service.port(), "GET /healthz HTTP/1.0\r\n\r\n", kPatience)
        .starts_with("HTTP/1.0 200");
  })) << "the place of the one that ended is free";
}

TEST(Connections, an_address_has_its_share) {
  Service service({.store = anyStore(), .settings = "max_connections_per_address: 2\n"});
  std::list<RawConnection> all;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(all.emplace_back(service.port()).send(kHealth));
    EXPECT_TRUE(all.back().receive(kPatience, "\r\n\r\n").starts_with("HTTP/1.1 200"));
  }
  std::string answer = exchange(service.port(), kHealth, kPatience);
  EXPECT_TRUE(isProblem(takeReply(answer), 429, "rate_limited"));
}

TEST(Connections, more_than_there_are_descriptors_do_not_fill_the_log) {
  Service service({.store = anyStore(), .open_files = 256});
  RawConnection early(service.port());
  ASSERT_TRUE(early.send(kHealth));
  EXPECT_TRUE(early.receive(kPatience, "\r\n\r\n").starts_with("HTTP/1.1 200"));
  {
    std::list<RawConnection> all;
    for (int i = 0; i < 400; ++i) all.emplace_back(service.port()).send("GET /hea");
    ASSERT_TRUE(early.send(kHealth));
    EXPECT_TRUE(early.receive(kPatience, "\r\n\r\n").starts_with("HTTP/1.1 200"));
  }
  EXPECT_TRUE(eventually(kPatience, [&] {
    Http http(service.url());
    return http.get("/healthz").status == 200;
  })) << service.log();
  EXPECT_LT(service.log().size(), 16U << 10) << service.log().substr(0, 2000);
  EXPECT_EQ(service.log().find("Acceptor"), std::string::npos) << "it ran out of descriptors";
}

TEST(Connections, a_head_or_a_body_that_does_not_come_ends_its_connection) {
  Service service(
      {.store = anyStore(), .settings = "head_timeout_seconds: 1\nbody_timeout_seconds: 1\n"});
  RawConnection idle(service.port());
  PendingReply waiting(service.url(),
                       {"POST", "/v1/pools/p/claim", R"({"worker_id":"w","wait_seconds":30})"});
  waiting.finished(10ms);  // sends it
  const std::string head = kHead;
  std::list<RawConnection> slow;
  for (const std::string& bytes :
       {std::string("P"), head, head + "Content-Length: 10\r\n\r\n{",
        head + "Content-Length: 10\r\n\r\n", head + "Transfer-Encoding: chunked\r\n\r\n1\r\n",
        kHealth + head}) {
    ASSERT_TRUE(slow.emplace_back(service.port()).send(bytes));
  }
  for (RawConnection& connection : slow) {
    connection.receive(kPatience);
    EXPECT_TRUE(connection.closed());
  }
  PoolClient(service.url(), "p").push();
  EXPECT_TRUE(waiting.finished(kPatience));
  EXPECT_EQ(waiting.reply().status, 200) << "to wait is not to be slow " << waiting.reply();
  ASSERT_TRUE(idle.send(kHealth));
  EXPECT_TRUE(idle.receive(kPatience, "\r\n\r\n").starts_with("HTTP/1.1 200"))
      << "nothing was under way on it";
}

}  // namespace
}  // namespace muster::test

#endif
