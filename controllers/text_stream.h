#pragma once

#include <drogon/HttpResponse.h>

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
  virtual void close() = 0;
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

// The framework's own stream.
template <class FrameworkStreamPtr>
class ChunkedStream : public TextStream {
 public:
  explicit ChunkedStream(FrameworkStreamPtr out) : out_(std::move(out)) {}
  void open(const std::string& text) override { out_->send(text); }
  bool send(const std::string& text) override { return out_->send(text); }
  void close() override { out_->close(); }

 private:
  FrameworkStreamPtr out_;
};

// A response whose body `start` writes; null where the framework has no such response
// (Drogon 1.9.0). A template, so that what is missing there is not looked for.
template <class Response = drogon::HttpResponse>
drogon::HttpResponsePtr newStreamedResponse(std::function<void(TextStreamPtr)> start) {
  const auto begin = [start = std::move(start)](auto out) {
    start(std::make_unique<ChunkedStream<decltype(out)>>(std::move(out)));
  };
  if constexpr (requires { &Response::newAsyncStreamResponse; }) {
    return Response::newAsyncStreamResponse(begin);
  }
  return nullptr;
}

}  // namespace muster
