#pragma once

#include <drogon/HttpResponse.h>
#include <trantor/net/TcpConnection.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace muster {

// A body that is written piece by piece while the client listens. Used on the event loop of its
// connection only.
class TextStream {
 public:
  virtual ~TextStream() = default;
  // The first piece, which need not reach the client before the next one.
  virtual void open(const std::string& text) = 0;
  // False: the stream is over, nothing more can be sent.
  virtual bool send(const std::string& text) = 0;
  // How many bytes the client has not taken yet and the process keeps for it, or somewhat fewer.
  virtual std::size_t unsent() { return 0; }
  virtual void close() = 0;
  // Closes the connection, and drops what the client has not taken.
  virtual void abort() { close(); }
};
using TextStreamPtr = std::unique_ptr<TextStream>;

// A stream for frameworks that have none: all that can be sent is one piece. A client of
// server-sent events comes again for the next one and says where it was.
class OnePieceStream : public TextStream {
 public:
  explicit OnePieceStream(std::function<void(std::string)> respond)
      : respond_(std::move(respond)) {}
  ~OnePieceStream() override { close(); }

  void open(const std::string& text) override { text_ = text; }
  bool send(const std::string& text) override {
    text_ += text;
    close();
    return false;
  }
  void close() override {
    if (const auto respond = std::exchange(respond_, nullptr)) respond(std::move(text_));
  }

 private:
  std::function<void(std::string)> respond_;
  std::string text_;
};

using ConnectionPtr = std::weak_ptr<trantor::TcpConnection>;

// The framework's own stream. Without a connection (in older releases) nothing is known to be
// unsent.
template <class FrameworkStreamPtr>
class ChunkedStream : public TextStream {
 public:
  ChunkedStream(FrameworkStreamPtr out, ConnectionPtr connection)
      : out_(std::move(out)), connection_(std::move(connection)) {
    if (const auto open = connection_.lock()) sent_ = open->bytesSent();
  }
  void open(const std::string& text) override { send(text); }
  bool send(const std::string& text) override {
    unsent_ = unsent() + text.size();
    return out_->send(text);
  }
  std::size_t unsent() override {
    const auto open = connection_.lock();
    if (!open) return unsent_ = 0;
    // Less what has gone since the last look. That counts bytes of the protocols around it too, so
    // what is left may be estimated too low, never ever lower.
    const std::size_t gone = open->bytesSent() - std::exchange(sent_, open->bytesSent());
    return unsent_ -= std::min(unsent_, gone);
  }
  void close() override { out_->close(); }
  void abort() override {
    if (const auto open = connection_.lock()) return open->forceClose();
    close();
  }

 private:
  FrameworkStreamPtr out_;
  ConnectionPtr connection_;
  std::size_t sent_ = 0;  // by the connection, at the last look
  std::size_t unsent_ = 0;
};

// Older releases of the framework do not tell.
template <class HttpRequest>
ConnectionPtr connectionOf(const HttpRequest& request) {
  if constexpr (requires { request.getConnectionPtr(); }) return request.getConnectionPtr();
  return {};
}

// A response whose body `start` writes; null where the framework has no such response
// (Drogon 1.9.0). A template, so that what is missing there is not looked for.
template <class Response = drogon::HttpResponse>
drogon::HttpResponsePtr newStreamedResponse(std::function<void(TextStreamPtr)> start,
                                            ConnectionPtr connection) {
  const auto begin = [start = std::move(start), connection = std::move(connection)](auto out) {
    start(std::make_unique<ChunkedStream<decltype(out)>>(std::move(out), connection));
  };
  if constexpr (requires { &Response::newAsyncStreamResponse; }) {
    return Response::newAsyncStreamResponse(begin);
  }
  return nullptr;
}

}  // namespace muster
