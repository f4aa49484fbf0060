#include "models/json/trigger_json.h"

#include <gtest/gtest.h>

#include <set>

namespace muster {
namespace {

std::shared_ptr<const TimeZone> onlyUtc(const std::string& name) {
  return name == "Etc/UTC" ? TimeZone::utc() : nullptr;
}

TriggerSpec read(const std::string& json, std::vector<FieldError>& faults,
                 const std::string& name = "t") {
  const auto doc = JsonDoc::parse(json);
  return readTrigger(doc.value().root(), "", name, onlyUtc, faults);
}

std::set<std::string> faultsOf(const std::string& json, const std::string& name = "t") {
  std::vector<FieldError> faults;
  read(json, faults, name);
  std::set<std::string> pointers;
  for (const auto& fault : faults) pointers.insert(fault.pointer + " " + fault.code);
  return pointers;
}
using Faults = std::set<std::string>;

TEST(TriggerJson, readsEveryType) {
  const std::string machine = R"("machine":"parallelization_checker")";
  for (const std::string& json :
       {R"({"type":"cron","schedule":"*/5 * * * *","timezone":"Etc/UTC",)" + machine + "}",
        R"({"type":"in_loop","on":"work_added",)" + machine + "}",
        R"({"type":"in_loop","on":"worker.lost",)" + machine + "}",
        R"({"type":"subprocess","on":"job_poisoned",)" + machine + "}",
        R"({"type":"subprocess","schedule":"@daily",)" + machine + "}",
        R"({"type":"webhook",)" + machine + "}",
        R"({"name":"t","type":"webhook","auth":{"type":"none"},"enabled":false,)" + machine + "}",
        std::string(R"({"type":"lambda","on":"work_added","input":{"url":"https://f.example/x"}})"),
        std::string(R"({"type":"in_loop","on":"worker_exited","machine":"stale_worker_reaper",)"
                    R"("input":{"stale_threshold_seconds":1.5,"pool_id":"p","max_workers":3}})")}) {
    EXPECT_EQ(faultsOf(json), Faults{}) << json;
  }
}

TEST(TriggerJson, notesAllFaultsWithTheirPlace) {
  const std::pair<const char*, Faults> table[] = {
      {R"({})", {"/type required"}},
      {R"({"type":"carrier_pigeon","machine":"parallelization_checker"})", {"/type choice"}},
      {R"({"type":"cron","machine":"toaster"})", {"/machine choice", "/schedule required"}},
      {R"({"type":"cron","schedule":"99 * * * *"})", {"/machine required", "/schedule format"}},
      {R"({"type":"cron","schedule":"* * * * *","timezone":"Mars/X","machine":"stale_worker_reaper"})",
       {"/timezone format"}},
      {R"({"type":"cron","schedule":"0 0 30 2 *","on":"work_added","machine":"stale_worker_reaper"})",
       {"/schedule format", "/on contradiction"}},
      {R"({"type":"in_loop","on":"full_moon","machine":"stale_worker_reaper"})", {"/on choice"}},
      {R"({"type":"in_loop","on":"trigger_fired","machine":"stale_worker_reaper"})",
       {"/on choice"}},
      {R"({"type":"in_loop","machine":"stale_worker_reaper","extra":1})",
       {"/on required", "/extra unknown_field"}},
      {R"({"type":"in_loop","on":"work_added","auth":{"type":"none"},"machine":"stale_worker_reaper"})",
       {"/auth contradiction"}},
      {R"({"type":"webhook","machine":"stale_worker_reaper","auth":{"type":"token"}})",
       {"/auth/secrets required"}},
      {R"({"type":"webhook","machine":"stale_worker_reaper","auth":{"type":"standard","secrets":["whsec_!"]}})",
       {"/auth/secrets format"}},
      {R"({"type":"webhook","machine":"stale_worker_reaper","auth":{"type":"hmac_sha256","secrets":["s"],"header":"a b","encoding":"rot13"}})",
       {"/auth/header format", "/auth/encoding choice"}},
      {R"({"type":"webhook","machine":"stale_worker_reaper","input":{"job_from":"record","pool_from":1,"pool_id":"a/b","url":"x"}})",
       {"/input/job_from format", "/input/pool_from type", "/input/pool_id format",
        "/input/url unknown_field"}},
      {R"({"type":"lambda","on":"work_added"})", {"/input required"}},
      {R"({"type":"lambda","on":"work_added","input":{}})", {"/input/url required"}},
      {R"({"type":"lambda","on":"work_added","input":{"url":"ftp://x/"}})", {"/input/url format"}},
      {R"({"type":"lambda","on":"work_added","input":{"url":"http://u:p@x/"}})",
       {"/input/url format"}},
      {R"({"name":"other","type":"webhook","machine":"stale_worker_reaper"})",
       {"/name contradiction"}},
  };
  for (const auto& [json, faults] : table) EXPECT_EQ(faultsOf(json), faults) << json;
  EXPECT_EQ(faultsOf(R"({"type":"webhook","machine":"stale_worker_reaper"})", ""),
            Faults{"/name required"});
}

TEST(TriggerJson, neverShowsASecretAndNeverLosesOne) {
  std::vector<FieldError> faults;
  const std::string json =
      R"({"type":"webhook","machine":"parallelization_checker","input":{"pool_from":"/x","job_from":""},)"
      R"("auth":{"type":"hmac_sha256","secrets":["top-secret","env:OTHER"],"header":"X-Sig",)"
      R"("prefix":"v=","encoding":"base64"}})";
  Trigger trigger;
  trigger.spec = read(json, faults);
  ASSERT_TRUE(faults.empty());
  JsonWriter out;
  writeTrigger(out, trigger, std::nullopt);
  const std::string shown = out.take();
  EXPECT_EQ(shown.find("top-secret"), std::string::npos);
  EXPECT_EQ(shown.find("OTHER"), std::string::npos);
  EXPECT_NE(shown.find(R"("secret_count":2)"), std::string::npos);
  EXPECT_EQ(unpackTrigger("t", packTrigger(trigger.spec)), trigger.spec);
}

TEST(TriggerJson, signaturesHaveTheHeaderOfTheirUsualSender) {
  std::vector<FieldError> faults;
  const std::string head =
      R"({"type":"webhook","machine":"parallelization_checker","auth":{"secrets":["s"],)";
  const auto github = read(head + R"("type":"hmac_sha256"}})", faults).auth;
  EXPECT_EQ(github.header, "X-Hub-Signature-256");
  EXPECT_EQ(github.prefix, "sha256=");
  const auto token = read(head + R"("type":"token"}})", faults).auth;
  EXPECT_EQ(token.header, "Authorization");
  EXPECT_EQ(token.prefix, "Bearer ");
  EXPECT_EQ(read(head + R"("type":"token","header":"X-Token"}})", faults).auth.prefix, "");
}

Event eventOf(const std::string& type, const std::string& details = {}) {
  Event event;
  event.type = type;
  event.details = details;
  return event;
}

TEST(TriggerSpec, knowsWhichEventsSetItOff) {
  for (const char* type : {"job.created", "job.unblocked", "job.released", "job.retried",
                           "job.failed", "job.reassigned"}) {
    EXPECT_TRUE(setsOff(eventOf(type), "work_added")) << type;
  }
  for (const char* type : {"worker.exited", "worker.terminated", "worker.lost"}) {
    EXPECT_TRUE(setsOff(eventOf(type), "worker_exited")) << type;
  }
  EXPECT_FALSE(setsOff(eventOf("job.completed"), "work_added"));
  EXPECT_FALSE(setsOff(eventOf("worker.registered"), "worker_exited"));
  EXPECT_TRUE(setsOff(eventOf("job.late_result_dropped"), "job_late_result_dropped"));
  EXPECT_TRUE(setsOff(eventOf("pool.updated"), "pool.updated"));
  EXPECT_TRUE(setsOff(eventOf("flow.failed"), "flow_failed"));
}

TEST(TriggerSpec, a_blocked_job_that_is_created_is_no_work_yet) {
  const Event blocked = eventOf("job.created", R"({"blocked":true})");
  EXPECT_FALSE(setsOff(blocked, "work_added"));
  EXPECT_TRUE(setsOff(blocked, "job_created")) << "but it is created";
}

TEST(TriggerSpec, flows_may_set_it_off) {
  EXPECT_TRUE(isKnownOn("flow_succeeded"));
  EXPECT_TRUE(isKnownOn("flow.failed"));
  EXPECT_TRUE(isKnownOn("job_unblocked"));
}

}  // namespace
}  // namespace muster
