#include "models/json/event_json.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

std::string written(const Event& event) {
  JsonWriter out;
  writeEvent(out, event);
  return out.take();
}

TEST(EventJson, showsWhatTheEventNames) {
  Event event;
  event.seq = 7;
  event.at = fromMillis(0);
  event.type = event_type::kJobFailed;
  event.pool = "p";
  event.job = "j";
  event.worker = "w";
  event.attempt = 2;
  event.details = R"({"error":"boom"})";
  EXPECT_EQ(written(event),
            R"({"seq":7,"at":"1970-01-01T00:00:00.000Z","type":"job.failed","pool_id":"p",)"
            R"("job_id":"j","worker_id":"w","attempt":2,"details":{"error":"boom"}})");
}

TEST(EventJson, leavesOutWhatItDoesNot) {
  Event event;
  event.type = event_type::kPoolCreated;
  EXPECT_EQ(written(event),
            R"({"seq":0,"at":"1970-01-01T00:00:00.000Z","type":"pool.created","details":{}})");
}

TEST(EventJson, an_event_of_a_flow_names_it) {
  struct {
    std::string_view type;
    const char* details;
    const char* flow;
  } const rows[] = {
      {event_type::kFlowFailed, R"({"flow_id":"f1","round":2,"reason":"job_failed"})", "f1"},
      {event_type::kFlowDeleted, R"({"name":"n","flow_id":"f2"})", "f2"},
      {event_type::kFlowCreated, R"({"round":1})", ""},
      {event_type::kFlowCreated, R"({"flow_id":7})", ""},
      {event_type::kFlowCreated, "[]", ""},
      {event_type::kFlowCreated, "", ""},
      {event_type::kJobCompleted, R"({"flow_id":"f1"})", ""},
  };
  for (const auto& row : rows) {
    Event event;
    event.type = row.type;
    event.details = row.details;
    EXPECT_EQ(flowOf(event), row.flow) << row.type << row.details;
  }
}

}  // namespace
}  // namespace muster
