#include "app/cli/cluster_view.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

std::string tableFor(const std::string& json, const std::string& now = "2026-03-01T12:00:10Z") {
  const auto answer = JsonAnswer::parse(json);
  return clusterTable(answer->root(), parseTime(now)).render(0, false);
}

TEST(ClusterView, marksWhoLeadsWithItsEpochAndWhatIsLeftOfItsLease) {
  EXPECT_EQ(tableFor(R"({"node_id":"b","role":"worker",
      "leader":{"node_id":"a","url":"http://a:8080","epoch":7,"expires_at":"2026-03-01T12:00:32Z"},
      "nodes":[
        {"node_id":"a","role":"leader","url":"http://a:8080","status":"healthy",
         "heartbeat_at":"2026-03-01T12:00:08Z"},
        {"node_id":"b","role":"observer","status":"dead","heartbeat_at":"2026-03-01T11:57:00Z"}]})"),
            "NODE  ROLE      STATUS   URL            HEARTBEAT   LEADER\n"
            "a     leader    healthy  http://a:8080  2s ago      ← epoch 7, 22s left\n"
            "b     observer  dead                    3m 10s ago\n");
}

TEST(ClusterView, theOnlyNodeLeadsWithoutALease) {
  EXPECT_EQ(tableFor(R"({"node_id":"a","role":"leader","leader":{"node_id":"a","epoch":0},
      "nodes":[{"node_id":"a","role":"leader","status":"healthy",
                "heartbeat_at":"2026-03-01T12:00:10Z"}]})"),
            "NODE  ROLE    STATUS   URL  HEARTBEAT  LEADER\n"
            "a     leader  healthy       now        ← epoch 0\n");
}

TEST(ClusterView, nobodyMayLead) {
  EXPECT_EQ(tableFor(R"({"node_id":"a","role":"worker","nodes":[]})"),
            "NODE  ROLE  STATUS  URL  HEARTBEAT  LEADER\n");
}

}  // namespace
}  // namespace muster
