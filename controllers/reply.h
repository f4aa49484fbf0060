#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controllers/text_stream.h"
#include "models/json/json_writer.h"
#include "models/result.h"

namespace muster {

// What goes back to the client.
struct Reply {
  int status = 200;
  std::string body = {};
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers = {};
  // False: the request is not over (a claim that waits), so the answer must not be remembered
  // under its Idempotency-Key.
  bool final = true;
  // Set: the body is this part of a file, and `body` is not sent.
  struct File {
    std::string path;
    std::size_t offset = 0;
    std::size_t length = 0;
  };
  std::optional<File> file = {};
  // Set: the body is written piece by piece, for as long as the stream is kept.
  std::function<void(TextStreamPtr)> stream = {};

  static Reply json(int status, JsonWriter&& out) { return {status, out.take()}; }
  Reply& with(std::string name, std::string value) {
    headers.emplace_back(std::move(name), std::move(value));
    return *this;
  }
  // "" when there is none.
  std::string header(std::string_view name) const {
    for (const auto& [key, value] : headers) {
      if (key == name) return value;
    }
    return {};
  }
};

inline std::string etag(std::int64_t version) { return '"' + std::to_string(version) + '"'; }

using Outcome = Result<Reply>;
using Respond = std::function<void(Outcome)>;

}  // namespace muster
