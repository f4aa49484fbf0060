#pragma once

#include <json/value.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace muster::test {

// One call as it came in.
struct ReceivedCall {
  std::string method, path;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;

  std::string header(const std::string& name) const;
  Json::Value json() const;  // of the body
};

struct ReceiverAnswer {
  int status = 204;
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
  std::string raw = {};  // bytes to send instead, after which the connection is closed
  bool never = false;    // the caller is left waiting until the receiver goes away
};

// A server on a free port of loopback that notes every call and answers as it is told.
class WebhookReceiver {
 public:
  // Called on the thread of the connection.
  using Answer = std::function<ReceiverAnswer(const ReceivedCall& call)>;
  explicit WebhookReceiver(Answer answer = [](const ReceivedCall&) { return ReceiverAnswer{}; });
  ~WebhookReceiver();
  WebhookReceiver(const WebhookReceiver&) = delete;
  WebhookReceiver& operator=(const WebhookReceiver&) = delete;

  std::string url(const std::string& host = "127.0.0.1") const;
  std::vector<ReceivedCall> calls() const;
  std::size_t count() const { return calls().size(); }

 private:
  void listen();
  void serve(int connection);
  bool readCall(int connection, std::string& buffer, ReceivedCall& call) const;

  const Answer answer_;
  int socket_ = -1;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  bool ending_ = false;                // guarded by mutex_
  std::set<int> connections_;          // guarded by mutex_
  std::vector<ReceivedCall> calls_;    // guarded by mutex_
  std::vector<std::jthread> threads_;  // the listener's, after the first
  std::jthread listener_;
};

// Whether the call is signed with the secret by Standard Webhooks.
bool isSignedWith(const ReceivedCall& call, const std::string& secret);

}  // namespace muster::test
