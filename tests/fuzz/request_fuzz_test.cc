#include <gtest/gtest.h>

#include "tests/fuzz/mutation.h"
#include "tests/support/http.h"
#include "tests/support/problem.h"
#include "tests/support/raw_connection.h"
#include "tests/support/service.h"

namespace muster::test {
namespace {

// Right requests; what follows makes them wrong. None of them waits.
const std::vector<Request> kRequests = {
    {"POST", "/v1/pools/p/jobs",
     R"({"data":{"a":[1,null]},"priority":5,"max_retries":2,"delay_seconds":0.5,"tenant":"t",)"
     R"("unique_key":"u","expires_at":"2099-01-01T00:00:00Z","affinity":"k",)"
     R"("placement":{"requires_capabilities":{"gpu":true},"allowed_nodes":["n"],)"
     R"("max_parallel_per_node":2,"region":"r"},"resource_refs":[{"resource_id":"r"}]})"},
    {"POST", "/v1/pools/p/jobs/batch", R"({"items":[{"data":1},{"data":"x","priority":-1}]})"},
    {"POST", "/v1/pools/p/claim", R"({"worker_id":"w","max":3})"},
    {"POST", "/v1/pools/p/reports",
     R"({"items":[{"job_id":"j","lease_token":"t","outcome":"failed","error":"e",)"
     R"("retry_after_seconds":1,"exit_code":1}],"claim":{"worker_id":"w","max":2}})"},
    {"POST", "/v1/jobs/j/complete", R"({"lease_token":"t","worker_id":"w","result":[1]})"},
    {"POST", "/v1/jobs/j/fail", R"({"lease_token":"t","error":"e","retryable":false})"},
    {"POST", "/v1/jobs/j/progress", R"({"lease_token":"t","progress":0.5,"message":"m"})"},
    {"POST", "/v1/jobs/j/renew", R"({"lease_token":"t","extend_seconds":5})"},
    {"PUT", "/v1/pools/q",
     R"({"lease_seconds":5,"retry":{"base_ms":1,"jitter":0.5},"scaling":{"max_workers":3},)"
     R"("limits":{"per_tenant_concurrency":2},"worker_mode":"loop"})"},
    {"PATCH", "/v1/pools/q", R"({"slots":2,"stale_threshold_seconds":100})"},
    {"POST", "/v1/pools/p/purge", R"({"status":["done"],"older_than_seconds":1})"},
    {"POST", "/v1/workers",
     R"({"worker_id":"w","host":"h","pid":1,"capabilities":["gpu"],"slots":1,"metadata":{"a":1}})"},
    {"PATCH", "/v1/workers/w", R"({"status":"active","metadata":{"b":2},"current_task_id":"t"})"},
    {"POST", "/v1/workers/w/heartbeat", R"({"metadata":{"c":3},"metrics":{"cpu":0.5}})"},
    {"POST", "/v1/pools/p/reap", R"({"stale_threshold_seconds":60})"},
    {"GET", "/v1/pools/p/jobs?status=pending&tenant=t&limit=5&created_after=2020-01-01T00:00:00Z"},
    {"GET", "/v1/workers?status=active&pool_id=p&capability=gpu&stale_threshold_seconds=5"},
    {"GET", "/v1/events?after=1&types=job.created,job.claimed&pool_id=p&limit=10"},
    {"GET", "/v1/pools?limit=10&cursor=cGFwZXI"},
    {"GET", "/v1/jobs/j"},
    {"DELETE", "/v1/pools/q?force=true"},
    {"GET", "/v1/pools/p/stats"}};

const std::vector<std::string> kNastyValues = {"null",
                                               "-1",
                                               "0",
                                               "1e400",
                                               "-0.0",
                                               "1.5",
                                               "99999999999999999999",
                                               "true",
                                               "\"\"",
                                               "\"\\u0000\"",
                                               "\"\\ud800\"",
                                               "[]",
                                               "{}",
                                               "[[[[]]]]",
                                               "{\"\":{}}",
                                               "\"2020-13-45T99:99:99Z\"",
                                               "\"9999-12-31T23:59:59.999999999Z\"",
                                               "\"0000-01-01T00:00:00Z\"",
                                               "\"'; DROP TABLE jobs; --\"",
                                               "-9223372036854775809",
                                               "9223372036854775807",
                                               "\"%s%n\"",
                                               "[null]",
                                               "\"\xF4\x8F\xBF\xBF\""};

// Puts another value behind one of the colons of a JSON text.
std::string withNastyValue(std::string body, Dice& dice) {
  std::vector<std::size_t> colons;
  for (std::size_t at = body.find("\":"); at != std::string::npos; at = body.find("\":", at + 1)) {
    colons.push_back(at + 2);
  }
  if (colons.empty()) return body;
  const std::size_t start = dice.pick(colons);
  const std::size_t end = body.find_first_of(",}]", start);
  return body.replace(start, end - start, dice.pick(kNastyValues));
}

class RequestFuzz : public testing::Test {
 protected:
  void expectSane(const Request& request, const Reply& reply) {
    const std::string sent = request.method + " " + request.path + "\n" + request.body;
    ASSERT_NE(reply.status, 0) << sent << "\n" << reply << "\n" << service_.log();
    EXPECT_LT(reply.status, 500) << sent << "\n" << reply;
    if (reply.status >= 400) {
      EXPECT_TRUE(isProblem(reply, reply.status)) << sent;
    }
  }
  void TearDown() override {
    EXPECT_TRUE(service_.running()) << service_.log();
    EXPECT_EQ(Http(service_.url()).get("/readyz").status, 200);
    EXPECT_EQ(service_.stop(), 0) << service_.log();
  }

  Service service_{{.store = anyStore()}};
  Http http_{service_.url()};
};

TEST_F(RequestFuzz, the_requests_that_are_mutated_are_understood) {
  for (const Request& request : kRequests) {
    const Reply reply = http_.send(request);
    EXPECT_TRUE(reply.ok() || reply.status == 404) << request.path << " " << reply;
  }
}

TEST_F(RequestFuzz, bodies) {
  Dice dice(21);
  const std::string bytes = allBytes() + std::string("\0\r\n", 3);
  for (int i = 0; i < 3000; ++i) {
    Request request = dice.pick(kRequests);
    if (request.body.empty()) request.body = "{}";
    request.body =
        dice.oneIn(2) ? withNastyValue(request.body, dice) : mutated(request.body, bytes, dice);
    expectSane(request, http_.send(request));
    if (HasFatalFailure()) return;
  }
}

TEST_F(RequestFuzz, paths_and_queries) {
  Dice dice(22);
  const std::string letters = "abcXYZ019/%?&=.~:-_+,;@!$'()*[]{}|^\"<>\x80\xff";
  const std::vector<std::string> pieces = {"%00",
                                           "%2F",
                                           "%2e%2e",
                                           "%zz",
                                           "%",
                                           "%F0%9F%9A%80",
                                           "//",
                                           "/../",
                                           "?",
                                           "&&",
                                           "==",
                                           "limit=",
                                           "&limit=1&limit=2",
                                           "cursor=AAAA",
                                           "&after=9223372036854775808",
                                           "#x"};
  for (int i = 0; i < 2500; ++i) {
    Request request = dice.pick(kRequests);
    const std::size_t at = 1 + dice.below(request.path.size());
    if (dice.oneIn(2)) request.path.insert(at, dice.pick(pieces));
    request.path = "/" + mutated(request.path.substr(1), letters, dice);
    const Reply reply = http_.send(request);
    expectSane(request, reply);
    if (HasFatalFailure()) return;
  }
}

TEST_F(RequestFuzz, headers) {
  Dice dice(23);
  const std::string bytes = allBytes();
  const std::vector<std::pair<std::string, std::string>> headers = {
      {"X-Request-Id", "abc"},
      {"Idempotency-Key", "key-1"},
      {"If-Match", "\"4\""},
      {"Authorization", "Bearer abc"},
      {"Origin", service_.url()},
      {"Host", "127.0.0.1"},
      {"traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
      {"Content-Type", "multipart/form-data; boundary=x"},
      {"Accept", "application/json"},
      {"Accept-Encoding", "gzip, br"},
      {"Cookie", "a=b; c"},
      {"Range", "bytes=0-1"}};
  for (int i = 0; i < 1500; ++i) {
    Request request = dice.pick(kRequests);
    auto header = dice.pick(headers);
    header.second = mutated(header.second, bytes, dice);
    request.headers.push_back(header);
    const Reply reply = http_.send(request);
    expectSane(request, reply);
    if (HasFatalFailure()) return;
  }
}

// Below HTTP a bare 400, a 501 for an unknown transfer coding or a closed connection is fine too.
TEST_F(RequestFuzz, bytes_on_the_wire) {
  Dice dice(24);
  const std::string bytes = allBytes() + std::string("\0\r\n\r\n", 5);
  const std::string host = "Host: 127.0.0.1:" + std::to_string(service_.port()) + "\r\n";
  const std::vector<std::string> seeds = {
      "GET /v1/pools HTTP/1.1\r\n" + host + "Connection: close\r\n\r\n",
      "POST /v1/pools/p/jobs HTTP/1.1\r\n" + host +
          "Content-Length: 10\r\nConnection: close\r\n\r\n{\"data\":1}",
      "POST /v1/pools/p/jobs HTTP/1.1\r\n" + host +
          "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\na\r\n{\"data\":1}\r\n0\r\n\r\n"};
  for (int i = 0; i < 400; ++i) {
    const std::string request = mutated(dice.pick(seeds), bytes, dice);
    RawConnection connection(service_.port());
    connection.send(request);
    const std::string answer = connection.receive(std::chrono::milliseconds(10), "\r\n\r\n");
    const std::string status = answer.substr(0, 12);
    EXPECT_TRUE(!status.starts_with("HTTP/1.1 5") || status == "HTTP/1.1 501") << request << "\n"
                                                                               << answer;
  }
}

}  // namespace
}  // namespace muster::test
