#include "app/worker/command_output.h"

#include <algorithm>

#include "models/json/json_doc.h"
#include "models/json/json_writer.h"
#include "models/json/utf8.h"

namespace muster {
namespace {

// The service allows 64, and the report around the result is one of them.
constexpr JsonLimits kResultLimits{.depth = 63};

}  // namespace

void CommandOutput::add(std::string_view bytes) {
  if (spill_ && size_ + bytes.size() > limit_) {
    if (size_ <= limit_) spill_(beginning_);
    spill_(bytes);
  }
  size_ += bytes.size();
  beginning_.append(bytes.substr(0, limit_ - std::min(limit_, beginning_.size())));
  tail_.append(bytes.substr(bytes.size() - std::min(bytes.size(), kTailBytes)));
  if (tail_.size() > 2 * kTailBytes) tail_.erase(0, tail_.size() - kTailBytes);
}

std::string CommandOutput::lastLines() const {
  std::string_view text(tail_);
  if (size_ > kTailBytes) {
    text.remove_prefix(text.size() - kTailBytes);
    const auto line = text.find('\n');
    if (line != std::string_view::npos && line + 1 < text.size()) text.remove_prefix(line + 1);
  }
  const auto last = text.find_last_not_of(" \t\r\n");
  text = text.substr(0, last == std::string_view::npos ? 0 : last + 1);
  std::string lines = validUtf8(text);
  std::replace(lines.begin(), lines.end(), '\0', ' ');  // no text of the API may hold one
  return lines;
}

std::optional<std::string> resultOf(std::string_view output) {
  while (output.ends_with('\n')) output.remove_suffix(1);
  if (output.empty()) return std::nullopt;
  if (const auto doc = JsonDoc::parse(output, kResultLimits)) {
    return std::string(doc->root().raw());
  }
  return JsonWriter().value(validUtf8(output)).take();
}

}  // namespace muster
