#include "app/cli/event_stream.h"

#include <utility>

namespace muster {

bool EventStreamParser::feed(std::string_view bytes,
                             const std::function<bool(const StreamedEvent&)>& on_event) {
  for (const char c : bytes) {
    const bool ends_pair = c == '\n' && after_return_;  // the line ended at the \r before
    after_return_ = c == '\r';
    if (ends_pair) continue;
    if (c != '\n' && c != '\r') {
      line_ += c;
      continue;
    }
    if (!line_.empty()) {
      takeLine(line_);
      line_.clear();
      continue;
    }
    StreamedEvent event = std::move(event_);
    event_ = {};
    if (!event.id.empty()) last_id_ = event.id;
    if (std::exchange(has_data_, false) && !on_event(event)) return false;
  }
  return true;
}

void EventStreamParser::takeLine(std::string_view line) {
  const auto colon = line.find(':');
  const auto field = line.substr(0, colon);
  auto value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "id") {
    event_.id = value;
  } else if (field == "event") {
    event_.type = value;
  } else if (field == "data") {
    if (has_data_) event_.data += '\n';
    event_.data += value;
    has_data_ = true;
  }
}

}  // namespace muster
