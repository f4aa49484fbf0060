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

}  // namespace
}  // namespace muster
