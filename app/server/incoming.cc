#include "app/server/incoming.h"

#include <algorithm>
#include <memory>

#include "controllers/request_head.h"

namespace muster {
namespace {

using trantor::MsgBuffer;
using trantor::TcpConnection;
using trantor::TcpConnectionPtr;

// The framework sets what receives bytes, and has no way to ask for it.
struct Receiver : TcpConnection {
  static trantor::RecvMessageCallback& of(TcpConnection& connection) {
    return connection.*(&Receiver::recvMsgCallback_);
  }
};

class Incoming {
 public:
  explicit Incoming(trantor::RecvMessageCallback framework) : framework_(std::move(framework)) {}

  void receive(const TcpConnectionPtr& connection, MsgBuffer& bytes) {
    while (bytes.readableBytes() > 0 && !unclear_) {
      if (rest_ == 0) {
        const auto head = readRequestHead({bytes.peek(), bytes.readableBytes()});
        if (head.state == RequestHead::State::kIncomplete) return;
        if (head.state == RequestHead::State::kUnclear) break;
        rest_ = head.size + head.body_size;
        if (!isFrameworkMethod(head.method)) rename(head.method, bytes);
      }
      handOn(connection, bytes);
    }
    if (bytes.readableBytes() == 0) return;
    unclear_ = true;
    framework_(connection, &bytes);
  }

 private:
  void rename(std::string_view method, MsgBuffer& bytes) {
    const std::string begin = beginOfRenamed(method);
    const std::size_t replaced = method.size() + 1;
    rest_ += begin.size() - replaced;
    bytes.retrieve(replaced);
    bytes.addInFront(begin.data(), begin.size());
  }

  // Most often the bytes are those of one request, or of a part of it.
  void handOn(const TcpConnectionPtr& connection, MsgBuffer& bytes) {
    const std::size_t size = std::min(rest_, bytes.readableBytes());
    rest_ -= size;
    if (size == bytes.readableBytes()) {
      framework_(connection, &bytes);
      return;
    }
    MsgBuffer one(size);
    one.append(bytes.peek(), size);
    bytes.retrieve(size);
    framework_(connection, &one);
  }

  const trantor::RecvMessageCallback framework_;
  std::size_t rest_ = 0;  // bytes of the present request that have not come yet
  bool unclear_ = false;
};

}  // namespace

void readRequestsOneByOne(const TcpConnectionPtr& connection) {
  auto incoming = std::make_shared<Incoming>(Receiver::of(*connection));
  connection->setRecvMsgCallback([incoming](const TcpConnectionPtr& from, MsgBuffer* bytes) {
    incoming->receive(from, *bytes);
  });
}

}  // namespace muster
