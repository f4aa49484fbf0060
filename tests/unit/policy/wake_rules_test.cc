#include "models/policy/wake_rules.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(WakeRules, an_event_wakes_those_it_concerns) {
  struct {
    std::string_view type;
    const char* details;
    bool brings_work, frees_a_place, ends_a_job;
  } const rows[] = {
      {event_type::kJobCreated, "", true, false, false},
      {event_type::kJobCreated, R"({"blocked":true})", false, false, false},
      {event_type::kJobUnblocked, "", true, false, false},
      {event_type::kJobUnblocked, R"({"x":1})", true, false, false},
      {event_type::kJobReleased, R"({"x":1})", true, false, false},
      {event_type::kJobUnpinned, R"({"holder":"worker:w"})", true, false, false},
      {event_type::kJobRetried, "", true, false, false},
      {event_type::kJobRetried, R"({"blocked":true})", false, false, false},
      {event_type::kJobFailed, R"({"x":1})", true, false, false},
      {event_type::kJobReassigned, R"({"x":1})", true, false, false},
      {event_type::kJobCompleted, "", false, true, true},
      {event_type::kJobPoisoned, R"({"x":1})", false, true, true},
      {event_type::kJobCancelled, R"({"x":1})", false, true, true},
      {event_type::kJobExpired, "", false, false, true},
      {event_type::kJobClaimed, "", false, false, false},
      {event_type::kJobProgress, "", false, false, false},
      {event_type::kFlowCreated, "", false, false, false},
      {event_type::kFlowSucceeded, R"({"x":1})", false, false, false},
      {event_type::kWorkerLost, "", false, false, false},
  };
  for (const auto& row : rows) {
    Event event;
    event.type = row.type;
    event.details = row.details;
    EXPECT_EQ(mayBringWork(event), row.brings_work) << row.type << row.details;
    EXPECT_EQ(mayFreeAPlace(event), row.frees_a_place) << row.type << row.details;
    EXPECT_EQ(endsAJob(event), row.ends_a_job) << row.type << row.details;
  }
}

TEST(WakeRules, only_the_end_of_a_flow_ends_it) {
  for (const std::string_view type : event_type::kAll) {
    Event event;
    event.type = type;
    const bool ends = type == event_type::kFlowSucceeded || type == event_type::kFlowFailed ||
                      type == event_type::kFlowCancelled || type == event_type::kFlowDeleted;
    EXPECT_EQ(endsAFlow(event), ends) << type;
  }
}

TEST(WakeRules, every_type_of_event_is_named_once) {
  for (std::size_t i = 0; i < event_type::kAll.size(); ++i) {
    EXPECT_NE(event_type::kAll[i], "") << i;
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(event_type::kAll[i], event_type::kAll[j]);
  }
}

}  // namespace
}  // namespace muster
