#include "app/client/api_client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <thread>

namespace muster {
namespace {

// Takes one connection, reads what comes until a blank line and the body it announces, and
// answers with a fixed text; an empty one means silence until the client goes away.
class OneAnswer {
 public:
  explicit OneAnswer(std::string answer) : answer_(std::move(answer)) {
    listener_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (bind(listener_, generic, size) != 0 || listen(listener_, 1) != 0 ||
        getsockname(listener_, generic, &size) != 0) {
      throw std::runtime_error("no port to listen on");
    }
    port_ = ntohs(address.sin_port);
    server_ = std::jthread([this] { serve(); });
  }
  ~OneAnswer() {
    shutdown(listener_, SHUT_RDWR);
    close(listener_);
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

  // What the client sent, once it has gone.
  std::string request() {
    server_.join();
    return request_;
  }

 private:
  void serve() {
    const int client = accept(listener_, nullptr, nullptr);
    if (client < 0) return;
    char bytes[4096];
    bool answered = answer_.empty();
    for (ssize_t n = 0; (n = read(client, bytes, sizeof bytes)) > 0;) {
      request_.append(bytes, static_cast<std::size_t>(n));
      if (answered || !isComplete()) continue;
      answered = send(client, answer_.data(), answer_.size(), MSG_NOSIGNAL) > 0;
      shutdown(client, SHUT_WR);
    }
    close(client);
  }

  bool isComplete() const {
    const auto blank = request_.find("\r\n\r\n");
    const auto length = request_.find("Content-Length: ");
    if (blank == std::string::npos) return false;
    if (length == std::string::npos) return true;
    return request_.size() >= blank + 4 + std::stoul(request_.substr(length + 16));
  }

  std::string answer_;
  std::string request_;
  int listener_ = -1;
  int port_ = 0;
  std::jthread server_;
};

std::string answerOf(const std::string& status, const std::string& body) {
  return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\nConnection: close\r\n\r\n" + body;
}

TEST(ApiClient, isSentOnToTheLeader) {
  OneAnswer leader(answerOf("201 Created", "{}"));
  OneAnswer worker(answerOf("503 Service Unavailable",
                            R"({"code":"not_leader","leader_url":")" + leader.url() + R"("})"));
  ApiClient api(worker.url(), "secret", {.nodes = "http://elsewhere, " + leader.url()});
  const auto answer = api.send({.method = "POST", .path = "/v1/x", .body = "{}"});
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_EQ(answer->status, 201);
  const std::string request = leader.request();
  EXPECT_TRUE(request.starts_with("POST /v1/x HTTP/1.1")) << request;
  EXPECT_NE(request.find("Bearer secret"), std::string::npos) << request;
}

TEST(ApiClient, a_token_is_for_the_place_that_was_named) {
  OneAnswer leader(answerOf("201 Created", "{}"));
  const std::string body = R"({"code":"not_leader","leader_url":")" + leader.url() + R"("})";
  OneAnswer worker(answerOf("503 Service Unavailable", body));
  {
    ApiClient api(worker.url(), "secret");
    const auto answer = api.send({.method = "POST", .path = "/v1/x", .body = "{}"});
    ASSERT_TRUE(answer) << answer.error().what;
    EXPECT_EQ(answer->status, 503) << "what was answered there";
    EXPECT_EQ(answer->body, body);
  }
  EXPECT_NE(worker.request().find("Bearer secret"), std::string::npos);
  ApiClient(leader.url(), "").send({.path = "/after"});
  EXPECT_TRUE(leader.request().starts_with("GET /after")) << "nobody was there before";
}

TEST(ApiClient, without_a_token_it_goes_where_it_is_sent) {
  OneAnswer leader(answerOf("201 Created", "{}"));
  OneAnswer worker(answerOf("503 Service Unavailable",
                            R"({"code":"not_leader","leader_url":")" + leader.url() + R"("})"));
  ApiClient api(worker.url(), "");
  EXPECT_EQ(api.send({.path = "/v1/x"})->status, 201);
}

namespace {

std::string redirectTo(const std::string& url) {
  return "HTTP/1.1 307 Temporary Redirect\r\nLocation: " + url +
         "/content\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
}

}  // namespace

TEST(ApiClient, follows_a_redirect_to_content_without_its_token) {
  OneAnswer elsewhere(answerOf("200 OK", "{}"));
  OneAnswer service(redirectTo(elsewhere.url()));
  ApiClient api(service.url(), "secret", {.nodes = "*"});
  EXPECT_EQ(api.send({.path = "/v1/x"})->status, 200);
  const std::string request = elsewhere.request();
  EXPECT_TRUE(request.starts_with("GET /content"));
  EXPECT_EQ(request.find("secret"), std::string::npos);
}

TEST(ApiClient, does_not_follow_a_redirect_of_a_change) {
  OneAnswer elsewhere(answerOf("200 OK", "{}"));
  OneAnswer service(redirectTo(elsewhere.url()));
  ApiClient api(service.url(), "secret", {.nodes = "*"});
  EXPECT_EQ(api.send({.method = "POST", .path = "/v1/x"})->status, 307);
  ApiClient(elsewhere.url(), "").send({.path = "/after"});
  EXPECT_TRUE(elsewhere.request().starts_with("GET /after"));
}

TEST(TrustedNode, is_the_same_place_or_one_that_was_named) {
  struct Row {
    const char* why;
    const char* own;
    const char* other;
    const char* nodes;
    bool trusted;
  };
  const Row rows[] = {
      {"itself", "http://a:1", "http://a:1/", "", true},
      {"itself, written otherwise", "https://A.example", "https://a.EXAMPLE:443", "", true},
      {"another port", "http://a:1", "http://a:2", "", false},
      {"another host", "http://a:1", "http://b:1", "", false},
      {"without TLS", "https://a:1", "http://a:1", "", false},
      {"with TLS", "http://a:1", "https://a:1", "", false},
      {"named", "http://a:1", "http://b:1", "http://b:1", true},
      {"named among others", "http://a:1", "http://b:1", "http://c:1 , http://b:1/", true},
      {"named with TLS", "https://a:1", "http://b:1", "https://b:1", false},
      {"named without TLS", "https://a:1", "http://b:1", "http://b:1", true},
      {"begins like one that is named", "http://a:1", "http://b.evil:1", "http://b", false},
      {"any", "http://a:1", "http://b:1", "*", true},
      {"any, with TLS", "https://a:1", "https://b:1", "*", true},
      {"any, but with TLS", "https://a:1", "http://b:1", "*", false},
      {"the list makes no sense", "http://a:1", "http://b:1", ",b:1,,*", false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(isTrustedNode(*parseHttpUrl(row.own), *parseHttpUrl(row.other), row.nodes),
              row.trusted)
        << row.why;
  }
}

TEST(ApiClient, aLeaderThatIsGoneIsForgotten) {
  std::string gone;
  {
    OneAnswer nobody("");
    gone = nobody.url();
  }
  OneAnswer worker(answerOf("503 Service Unavailable",
                            R"({"code":"not_leader","leader_url":")" + gone + R"("})"));
  ApiClient api(worker.url(), "");
  EXPECT_FALSE(api.send({.path = "/v1/x"})) << "it was sent on";
  worker.request();
  const auto again = api.send({.path = "/v1/x", .timeout = Millis(200)});
  ASSERT_FALSE(again) << "nobody answers there a second time";
  EXPECT_FALSE(again.error().refused) << "but it asked where it asked first";
}

TEST(ApiClient, aRefusalThatNamesNobodyIsTheAnswer) {
  OneAnswer worker(answerOf("503 Service Unavailable", R"({"code":"not_leader"})"));
  ApiClient api(worker.url(), "");
  EXPECT_EQ(api.send({.path = "/v1/x"})->status, 503);
}

TEST(ApiClient, sendsTheRequestAndReadsTheAnswer) {
  OneAnswer service(
      "HTTP/1.1 201 Created\r\nContent-Length: 8\r\nETag: \"7\"\r\n"
      "Date: Sun, 01 Mar 2026 12:00:00 GMT\r\nConnection: close\r\n\r\n{\"id\":1}");
  {
    ApiClient api(service.url() + "/", "secret");
    const auto answer = api.send({.method = "POST",
                                  .path = "/v1/pools/p/jobs",
                                  .body = "{\"data\":1}",
                                  .headers = {{"Idempotency-Key", "k"}}});
    ASSERT_TRUE(answer) << answer.error().what;
    EXPECT_EQ(answer->status, 201);
    EXPECT_TRUE(answer->ok());
    EXPECT_EQ(answer->headers.at("etag"), "\"7\"");
    EXPECT_EQ(answer->body, "{\"id\":1}");
    EXPECT_EQ(answer->date(), parseTime("2026-03-01T12:00:00Z"));
  }
  const std::string request = service.request();
  EXPECT_TRUE(request.starts_with("POST /v1/pools/p/jobs HTTP/1.1\r\n")) << request;
  EXPECT_NE(request.find("\r\nAuthorization: Bearer secret\r\n"), std::string::npos);
  EXPECT_NE(request.find("\r\nContent-Type: application/json\r\n"), std::string::npos);
  EXPECT_NE(request.find("\r\nIdempotency-Key: k\r\n"), std::string::npos);
  EXPECT_TRUE(request.ends_with("\r\n\r\n{\"data\":1}"));
}

TEST(ApiClient, aRefusalIsAnAnswer) {
  OneAnswer service("HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}");
  ApiClient api(service.url(), "");
  const auto answer = api.send({.path = "/v1/jobs/x"});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 404);
  EXPECT_FALSE(answer->ok());
}

TEST(ApiClient, aStreamIsHandedOverUntilTheReaderHasEnough) {
  OneAnswer service("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n");
  ApiClient api(service.url(), "");
  std::string seen;
  const auto answer =
      api.stream({.path = "/v1/events/stream"}, Seconds(30), [&seen](std::string_view bytes) {
        seen += bytes;
        return false;
      });
  ASSERT_TRUE(answer);
  EXPECT_EQ(seen, "data: 1\n\n");
}

TEST(ApiClient, aRefusedStreamHasItsReasonInTheBody) {
  OneAnswer service("HTTP/1.1 410 Gone\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}");
  ApiClient api(service.url(), "");
  const auto answer =
      api.stream({.path = "/v1/events/stream"}, Seconds(30), [](std::string_view) { return true; });
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 410);
  EXPECT_EQ(answer->body, "{}");
}

TEST(ApiClient, silenceEndsWithTheTimeout) {
  OneAnswer service("");
  ApiClient api(service.url(), "");
  const auto answer = api.send({.path = "/readyz", .timeout = Millis(50)});
  ASSERT_FALSE(answer);
  EXPECT_FALSE(answer.error().refused);
  EXPECT_EQ(answer.error().what, "no answer to GET /readyz in time");
}

TEST(ApiClient, knowsWhenNothingListens) {
  std::string url;
  {
    OneAnswer gone("");
    url = gone.url();
  }
  ApiClient api(url, "");
  const auto answer = api.send({.path = "/readyz"});
  ASSERT_FALSE(answer);
  EXPECT_TRUE(answer.error().refused);
}

TEST(ApiClient, speaksHttpOnly) {
  for (const std::string url : {"ftp://127.0.0.1:1", "file:///etc", "http://", "nonsense url"}) {
    ApiClient api(url, "");
    EXPECT_FALSE(api.send({.path = "/passwd", .timeout = Millis(200)})) << url;
  }
}

std::string textAnswered(const std::string& answer) {
  OneAnswer service(answer);
  ApiClient api(service.url(), "");
  const auto got = api.send({.path = "/", .timeout = Seconds(5)});
  return got ? std::to_string(got->status) + " " + got->body : "none: " + got.error().what;
}

TEST(ApiClient, readsEveryWayToSendABody) {
  EXPECT_EQ(textAnswered("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                         "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n"),
            "200 abcde");
  EXPECT_EQ(textAnswered("HTTP/1.1 200 OK\r\n\r\nuntil the end"), "200 until the end");
  EXPECT_EQ(textAnswered("HTTP/1.1 204 No Content\r\n\r\n"), "204 ");
  EXPECT_EQ(
      textAnswered("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"),
      "200 x");
}

TEST(ApiClient, anAnswerThatBreaksOffIsNone) {
  for (const std::string text :
       {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", "HTTP/1.1 200 OK\r\nContent-Le",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"}) {
    EXPECT_EQ(textAnswered(text), "none: the connection broke") << text;
  }
  EXPECT_EQ(textAnswered("SSH-2.0-OpenSSH_9.2\r\n"),
            "none: what answers there does not speak HTTP");
}

TEST(ApiClient, doesNotWaitForABodyThatIsNotWanted) {
  OneAnswer service("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nthe first of many");
  ApiClient api(service.url(), "");
  const auto answer = api.send({.path = "/", .head_only = true});
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_EQ(answer->status, 200);
}

TEST(ApiClient, aHeaderCannotHoldALineBreak) {
  OneAnswer service("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  ApiClient api(service.url(), "secret\r\nX-Evil: 1");
  const auto answer = api.send({.path = "/"});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().what, "the header Authorization holds a line break");
}

TEST(ApiClient, whoGivesUpDoesNotWait) {
  OneAnswer service("");
  ApiClient api(service.url(), "");
  const auto answer = api.send({.path = "/", .given_up = [] { return true; }});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().what, "given up");
}

}  // namespace
}  // namespace muster
