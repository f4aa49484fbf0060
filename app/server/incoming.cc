#include "app/server/incoming.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controllers/chunked_body.h"
#include "controllers/request_head.h"

namespace muster {
namespace {

using trantor::MsgBuffer;
using trantor::TcpConnection;
using trantor::TcpConnectionPtr;

constexpr std::size_t kMaxRequestHead = 24U << 10;  // the gateway allows 16 KiB of headers
constexpr std::size_t kSlice = 64U << 10;
constexpr std::size_t kMaxDropped = 64U << 20;
constexpr std::size_t kMaxUntaken = 256U << 10;  // of answers, before further requests wait
constexpr std::size_t kMaxWaiting = 1U << 20;    // of such requests
constexpr double kFirstLook = 0.005;             // seconds; whether they were taken
constexpr double kLastLook = 1.0;
constexpr std::chrono::seconds kLingerTime{30};
constexpr double kSweepSeconds = 1.0;
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr std::string_view kEmptyLine = "\r\n";

// The framework sets what receives bytes, and has no way to ask for it.
struct Receiver : TcpConnection {
  static trantor::RecvMessageCallback& of(TcpConnection& connection) {
    return connection.*(&Receiver::recvMsgCallback_);
  }
};

std::string_view textOf(const MsgBuffer& bytes) { return {bytes.peek(), bytes.readableBytes()}; }

// The requests of one connection. On the connection's event loop only.
class Incoming {
 public:
  Incoming(const TcpConnectionPtr& connection, std::shared_ptr<const IncomingRules> rules,
           ConnectionPlace place)
      : connection_(connection),
        framework_(Receiver::of(*connection)),
        rules_(std::move(rules)),
        place_(std::move(place)) {}
  ~Incoming() { release(); }
  Incoming(const Incoming&) = delete;
  Incoming& operator=(const Incoming&) = delete;

  void receive(const TcpConnectionPtr& connection, MsgBuffer& bytes) {
    bool going_on = true;
    while (going_on && bytes.readableBytes() > 0) {
      switch (reads_) {
        case Reads::kHead:
          going_on = answersAreTaken(connection, bytes) && readHead(connection, bytes);
          break;
        case Reads::kBody:
          handOnBody(connection, bytes);
          break;
        case Reads::kChunks:
          readChunks(connection, bytes);
          break;
        case Reads::kNothing:
          drop(connection, bytes);
          break;
      }
    }
    // A buffer that has grown would keep its memory as long as the connection lasts.
    if (bytes.readableBytes() == 0 && std::exchange(has_grown_, false)) MsgBuffer().swap(bytes);
  }

  // The client has not taken `unsent` bytes of what it was answered. Further requests wait until it
  // has. The framework does not say when that is, so it is looked at.
  static void pause(const std::shared_ptr<Incoming>& incoming, std::size_t unsent) {
    const TcpConnectionPtr connection = incoming->connection_.lock();
    if (!connection || std::exchange(incoming->paused_, true)) return;
    incoming->go_on_at_ = connection->bytesSent() + unsent;
    lookAgain(incoming, kFirstLook);
  }

  // Answers before, or instead of, reading a request that the framework has not seen.
  void refuse(const TcpConnectionPtr& connection, const Error& error,
              std::string_view head = "GET / HTTP/1.1\r\nConnection: close\r\n") {
    endRequest();
    reads_ = Reads::kNothing;
    const EarlyRefusal refusal(error);
    handOn(connection, head, kEmptyLine);
  }

  // Closes the connection if what is under way should have come by now.
  void closeIfLate(std::chrono::nanoseconds now) {
    const TcpConnectionPtr connection = connection_.lock();
    if (!connection) return;
    const bool answered = reads_ == Reads::kNothing && !connection->connected();
    if (answered && due_ == due_.zero()) due_ = now + kLingerTime;
    if (due_ != due_.zero() && now >= due_) connection->forceClose();
  }

 private:
  enum class Reads { kHead, kBody, kChunks, kNothing };

  // The framework reads on all the same, so what waits has a limit too.
  bool answersAreTaken(const TcpConnectionPtr& connection, const MsgBuffer& bytes) const {
    if (paused_ && bytes.readableBytes() > kMaxWaiting) connection->forceClose();
    return !paused_;
  }

  static void lookAgain(const std::shared_ptr<Incoming>& incoming, double seconds) {
    const TcpConnectionPtr connection = incoming->connection_.lock();
    if (!connection) return;
    connection->getLoop()->runAfter(seconds, [incoming, seconds] {
      const TcpConnectionPtr open = incoming->connection_.lock();
      if (!open) return;
      if (open->bytesSent() < incoming->go_on_at_) {
        return lookAgain(incoming, std::min(2 * seconds, kLastLook));
      }
      incoming->paused_ = false;
      incoming->receive(open, *open->getRecvBuffer());
    });
  }

  // False: the bytes that are left wait for more.
  bool readHead(const TcpConnectionPtr& connection, MsgBuffer& bytes) {
    const RequestHead head = readRequestHead(textOf(bytes));
    if (head.state == RequestHead::State::kIncomplete) return awaitHead(connection, bytes);
    endRequest();
    if (head.state == RequestHead::State::kMalformed) {
      refuse(connection, Error{ErrorCode::kInvalidHeader, head.fault});
      return true;
    }
    const std::size_t body_here = bytes.readableBytes() - head.text.size();
    if (head.chunked || body_here < head.body_size) {
      return beginLargeRequest(connection, bytes, head);
    }
    if (auto ok = rules_->head_check.checkBodySize(head.body_size); !ok) {
      refuse(connection, ok.error(), rewriteRefusedHead(head));
      return true;
    }
    handOnHead(connection, bytes, head);
    return true;
  }

  bool awaitHead(const TcpConnectionPtr& connection, const MsgBuffer& bytes) {
    if (bytes.readableBytes() > kMaxRequestHead) {
      refuse(connection, Error{ErrorCode::kBodyTooLarge,
                               fmt::format("the head of the request is larger than {} bytes",
                                           kMaxRequestHead)});
      return true;
    }
    if (due_ == due_.zero()) due_ = rules_->clock.monotonic() + rules_->head_timeout;
    if (auto ok = hold(bytes.readableBytes(), CallerKind::kUnknown); !ok) {
      refuse(connection, ok.error());
      return true;
    }
    return false;
  }

  // Of a request whose body is not here yet, or comes in chunks.
  bool beginLargeRequest(const TcpConnectionPtr& connection, MsgBuffer& bytes,
                         const RequestHead& head) {
    auto caller = rules_->head_check.check(head);
    if (!caller) {
      refuse(connection, caller.error(), rewriteRefusedHead(head));
      return true;
    }
    caller_ = *caller;
    if (auto ok = hold(head.body_size, caller_); !ok) {
      refuse(connection, ok.error(), rewriteRefusedHead(head));
      return true;
    }
    due_ = rules_->clock.monotonic() + rules_->body_timeout +
           std::chrono::seconds(head.body_size / kSlice);
    if (head.expects_continue && !head.is_http10 && bytes.readableBytes() == head.text.size()) {
      connection->send(kContinue.data(), kContinue.size());
    }
    if (head.chunked) {
      chunks_ = std::make_unique<Chunks>(Chunks{rewriteHead(head), rewriteRefusedHead(head), {}});
      bytes.retrieve(head.text.size());
      reads_ = Reads::kChunks;
    } else {
      handOnHead(connection, bytes, head);
    }
    return true;
  }

  void handOnHead(const TcpConnectionPtr& connection, MsgBuffer& bytes, const RequestHead& head) {
    rest_ = head.body_size;
    if (passesAsItIs(head)) {
      rest_ += head.text.size();
      handOnBody(connection, bytes);
      return;
    }
    const std::string rewritten = rewriteHead(head);
    reads_ = rest_ > 0 ? Reads::kBody : Reads::kHead;
    bytes.retrieve(head.text.size());
    handOn(connection, rewritten, kEmptyLine);
  }

  // Most often the bytes are those of one request, or of a part of it.
  void handOnBody(const TcpConnectionPtr& connection, MsgBuffer& bytes) {
    const std::size_t size = std::min(rest_, bytes.readableBytes());
    rest_ -= size;
    reads_ = rest_ > 0 ? Reads::kBody : Reads::kHead;
    if (rest_ == 0) endRequest();
    if (size == bytes.readableBytes()) {
      framework_(connection, &bytes);
      bytes.retrieveAll();  // it leaves them if it has closed the connection
      return;
    }
    MsgBuffer one(size);
    one.append(bytes.peek(), size);
    bytes.retrieve(size);
    framework_(connection, &one);
  }

  void readChunks(const TcpConnectionPtr& connection, MsgBuffer& bytes) {
    std::string_view rest = textOf(bytes).substr(0, kSlice);
    const std::size_t offered = rest.size(), before = chunks_->body.data().size();
    const ChunkedBody::State state = chunks_->body.read(rest);
    due_ += std::chrono::seconds(chunks_->body.data().size() / kSlice - before / kSlice);
    bytes.retrieve(offered - rest.size());
    Status ok = state == ChunkedBody::State::kMalformed
                    ? fail(ErrorCode::kInvalidHeader, chunks_->body.fault())
                    : rules_->head_check.checkBodySize(chunks_->body.expected());
    if (ok) ok = hold(chunks_->body.data().capacity(), caller_);
    if (!ok) {
      refuseChunks(connection, ok.error());
    } else if (state == ChunkedBody::State::kComplete) {
      handOnChunks(connection);
    }
  }

  void refuseChunks(const TcpConnectionPtr& connection, const Error& error) {
    const auto chunks = std::exchange(chunks_, nullptr);
    refuse(connection, error, chunks->refused_head);
  }

  void handOnChunks(const TcpConnectionPtr& connection) {
    const auto chunks = std::exchange(chunks_, nullptr);
    std::string_view body = chunks->body.data();
    reads_ = Reads::kHead;
    endRequest();
    handOn(connection, chunks->head, fmt::format("Content-Length: {}\r\n\r\n", body.size()));
    while (!body.empty()) {
      handOn(connection, body.substr(0, kSlice), {});
      body.remove_prefix(std::min(kSlice, body.size()));
    }
  }

  void handOn(const TcpConnectionPtr& connection, std::string_view text, std::string_view end) {
    MsgBuffer one(text.size() + end.size());
    one.append(text.data(), text.size());
    one.append(end.data(), end.size());
    framework_(connection, &one);
  }

  void drop(const TcpConnectionPtr& connection, MsgBuffer& bytes) {
    dropped_ += bytes.readableBytes();
    bytes.retrieveAll();
    if (dropped_ > kMaxDropped) connection->forceClose();
  }

  // Nothing is under way. A body that is handed on is counted by the gateway from here on.
  void endRequest() {
    has_grown_ = has_grown_ || held_ > 0;
    release();
    due_ = {};
  }

  // How many bytes of the request that is under way count as buffered.
  Status hold(std::size_t bytes, CallerKind caller) {
    if (bytes <= std::max(held_, kUncountedBytes)) return {};
    auto ok = rules_->buffers->take(bytes - held_, caller);
    if (ok) held_ = bytes;
    return ok;
  }

  void release() {
    if (held_ > 0) rules_->buffers->giveBack(std::exchange(held_, 0));
  }

  struct Chunks {
    std::string head;
    std::string refused_head;
    ChunkedBody body;
  };

  const std::weak_ptr<TcpConnection> connection_;
  const trantor::RecvMessageCallback framework_;
  const std::shared_ptr<const IncomingRules> rules_;
  const ConnectionPlace place_;
  Reads reads_ = Reads::kHead;
  CallerKind caller_ = CallerKind::kUnknown;
  std::unique_ptr<Chunks> chunks_;   // while they are read
  std::size_t rest_ = 0;             // bytes of the present body that have not come yet
  std::size_t held_ = 0;             // taken from the budget
  std::size_t dropped_ = 0;          // after the last request
  bool has_grown_ = false;           // the buffer of the connection
  bool paused_ = false;              // until the client has taken its answers,
  std::size_t go_on_at_ = 0;         // so that so many bytes have gone
  std::chrono::nanoseconds due_{0};  // 0: nothing is under way
};

// The connections of this event loop; looked at each second.
void watchDeadlines(const TcpConnectionPtr& connection, const std::shared_ptr<Incoming>& incoming,
                    const std::shared_ptr<const IncomingRules>& rules) {
  thread_local std::vector<std::weak_ptr<Incoming>> all;
  if (all.capacity() == 0) {
    connection->getLoop()->runEvery(kSweepSeconds, [rules] {
      const auto now = rules->clock.monotonic();
      std::erase_if(all, [now](const std::weak_ptr<Incoming>& each) {
        const auto there = each.lock();
        if (there) there->closeIfLate(now);
        return !there;
      });
    });
  }
  all.push_back(incoming);
}

}  // namespace

void readRequestsOneByOne(const TcpConnectionPtr& connection,
                          const std::shared_ptr<const IncomingRules>& rules,
                          ConnectionPlace place) {
  const std::optional<Error> refusal = place.refusal();
  auto incoming = std::make_shared<Incoming>(connection, rules, std::move(place));
  connection->setRecvMsgCallback([incoming](const TcpConnectionPtr& from, MsgBuffer* bytes) {
    incoming->receive(from, *bytes);
  });
  connection->setHighWaterMarkCallback(
      [incoming](const TcpConnectionPtr&, std::size_t unsent) {
        Incoming::pause(incoming, unsent);
      },
      kMaxUntaken);
  watchDeadlines(connection, incoming, rules);
  if (refusal) incoming->refuse(connection, *refusal);
}

}  // namespace muster
