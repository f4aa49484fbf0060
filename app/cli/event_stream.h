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
// events without data are left out, but for the position they give.
class EventStreamParser {
 public:
  // `on_event` answers false to stop; then so does feed().
  bool feed(std::string_view bytes, const std::function<bool(const StreamedEvent&)>& on_event);

  // The last id that was seen; empty before the first.
  const std::string& lastId() const { return last_id_; }

 private:
  void takeLine(std::string_view line);

  std::string line_;
  bool after_return_ = false;
  bool has_data_ = false;
  StreamedEvent event_;
  std::string last_id_;
};

}  // namespace muster
