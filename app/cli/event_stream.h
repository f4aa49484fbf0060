#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace muster {

struct StreamedEvent {
  std::string id;
  std::string type;
  std::string data;
};

// Cuts a stream of server-sent events into events. Bytes may come in any pieces; comments and
// events without data are left out.
class EventStreamParser {
 public:
  // `on_event` answers false to stop; then so does feed().
  bool feed(std::string_view bytes, const std::function<bool(const StreamedEvent&)>& on_event);

 private:
  void takeLine(std::string_view line);

  std::string line_;
  bool after_return_ = false;
  bool has_data_ = false;
  StreamedEvent event_;
};

}  // namespace muster
