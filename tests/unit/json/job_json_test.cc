#include "models/json/job_json.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

using Lines = std::vector<std::string>;

template <class Read>
auto reading(const std::string& text, std::vector<FieldError>& faults, Read read) {
  const auto doc = JsonDoc::parse(text);
  EXPECT_TRUE(doc) << text;
  return read(doc->root(), faults);
}

NewJob newJob(const std::string& text, std::vector<FieldError>& faults) {
  return reading(text, faults,
                 [](JsonValue value, auto& noted) { return readNewJob(value, "", noted); });
}

Lines lines(const std::vector<FieldError>& faults) {
  Lines out;
  for (const FieldError& fault : faults) out.push_back(fault.pointer + " " + fault.code);
  return out;
}

Lines faultsOfNewJob(const std::string& text) {
  std::vector<FieldError> faults;
  newJob(text, faults);
  return lines(faults);
}

TEST(ReadNewJob, readsEveryField) {
  std::vector<FieldError> faults;
  const NewJob job = newJob(
      R"({"data":{"n":1234567890123456789},"max_retries":5,"priority":-7,"delay_seconds":1.5,
          "expires_at":"2030-01-01T00:00:00Z","tenant":"acme","unique_key":"k",
          "affinity":"session-1",
          "placement":{"requires_executors":["shell"],"requires_capabilities":["gpu"],
            "allowed_nodes":["b","a"],"forbidden_nodes":["c"],"max_parallel_per_node":2,
            "region":"eu"},
          "resource_refs":[{"resource_id":"r1"}]})",
      faults);
  EXPECT_EQ(lines(faults), Lines{});
  EXPECT_EQ(job.data, R"({"n":1234567890123456789})");
  EXPECT_EQ(job.max_retries, 5);
  EXPECT_EQ(job.priority, -7);
  EXPECT_EQ(job.delay, Millis(1500));
  EXPECT_EQ(job.expires_at, parseTime("2030-01-01T00:00:00Z"));
  EXPECT_EQ(job.tenant, "acme");
  EXPECT_EQ(job.unique_key, "k");
  EXPECT_EQ(job.affinity, "session-1");
  EXPECT_EQ(job.resource_refs, R"([{"resource_id":"r1"}])");
  EXPECT_EQ(job.placement.executors, Lines{"shell"});
  EXPECT_EQ(job.placement.capabilities, Lines{"gpu"});
  EXPECT_EQ(job.placement.allowed_nodes, (Lines{"a", "b"}));
  EXPECT_EQ(job.placement.forbidden_nodes, Lines{"c"});
  EXPECT_EQ(job.placement.max_parallel_per_node, 2);
  EXPECT_EQ(job.placement.region, "eu");
}

TEST(ReadNewJob, needsDataButTakesAnyValueForIt) {
  EXPECT_EQ(faultsOfNewJob("{}"), Lines{"/data required"});
  for (const std::string data :
       {"null", "0", "\"\"", "[]", "{}", "false", "1e300", "\"\\u0000\""}) {
    std::vector<FieldError> faults;
    EXPECT_EQ(newJob("{\"data\": " + data + " }", faults).data, data);
    EXPECT_EQ(lines(faults), Lines{}) << data;
  }
}

TEST(ReadNewJob, hasTheDocumentedDefaults) {
  std::vector<FieldError> faults;
  const NewJob job = newJob(R"({"data":1,"priority":null,"placement":null,"tenant":null})", faults);
  EXPECT_EQ(lines(faults), Lines{});
  EXPECT_EQ(job.priority, 0);
  EXPECT_FALSE(job.max_retries) << "the pool decides";
  EXPECT_EQ(job.delay, Millis(0));
  EXPECT_FALSE(job.available_at);
  EXPECT_FALSE(job.expires_at);
  EXPECT_TRUE(job.placement.empty());
}

TEST(ReadNewJob, notesAllFaultsAtOnce) {
  EXPECT_EQ(
      faultsOfNewJob(
          R"({"max_retries":-1,"priority":2147483648,"delay_seconds":-0.1,"expires_at":"soon",
                    "tenant":"","unique_key":7,"placement":{"max_parallel_per_node":0,"colour":1},
                    "resource_refs":[{}],"status":"done"})"),
      (Lines{"/data required", "/max_retries range", "/priority range", "/delay_seconds range",
             "/expires_at format", "/tenant length", "/unique_key type",
             "/placement/max_parallel_per_node range", "/placement/colour unknown_field",
             "/resource_refs/0/resource_id required", "/status unknown_field"}));
  EXPECT_EQ(faultsOfNewJob("[]"), Lines{" type"});
}

TEST(ReadNewJob, takesADelayOrATimeButNotBoth) {
  EXPECT_EQ(faultsOfNewJob(R"({"data":1,"delay_seconds":1,"available_at":"2030-01-01T00:00:00Z"})"),
            Lines{"/available_at contradiction"});
}

TEST(ReadNewJob, keepsDelaysToTheMillisecond) {
  const std::pair<std::string, int> delays[] = {
      {"0.001", 1}, {"1.001", 1001}, {"4.35", 4350}, {"0.29", 290}, {"86400", 86'400'000}};
  for (const auto& [seconds, millis] : delays) {
    std::vector<FieldError> faults;
    EXPECT_EQ(newJob("{\"data\":1,\"delay_seconds\":" + seconds + "}", faults).delay,
              Millis(millis))
        << seconds;
  }
}

TEST(ReadNewJob, takesCapabilitiesAsAListOrAMap) {
  std::vector<FieldError> faults;
  const auto list = newJob(
      R"({"data":1,"placement":{"requires_capabilities":["ssd","gpu=nvidia","ssd"]}})", faults);
  const auto map = newJob(
      R"({"data":1,"placement":{"requires_capabilities":{"ssd":true,"gpu":"nvidia"}}})", faults);
  EXPECT_EQ(lines(faults), Lines{});
  EXPECT_EQ(list.placement.capabilities, (Lines{"gpu=nvidia", "ssd"}));
  EXPECT_EQ(map.placement, list.placement) << "one meaning, one spelling";
}

TEST(ReadNewJob, namesTheCapabilityThatIsWrong) {
  EXPECT_EQ(
      faultsOfNewJob(
          R"({"data":1,"placement":{"requires_capabilities":{"gpu":1,"a/b":false,"ok":true}}})"),
      (Lines{"/placement/requires_capabilities/gpu type",
             "/placement/requires_capabilities/a~1b type"}));
  EXPECT_EQ(faultsOfNewJob(R"({"data":1,"placement":{"requires_capabilities":"gpu"}})"),
            Lines{"/placement/requires_capabilities type"});
}

TEST(PlacementText, isReadBackAndIsOneForOneMeaning) {
  EXPECT_EQ(writePlacement({}), "");
  EXPECT_TRUE(parsePlacement("").empty());
  Placement full;
  full.executors = {"a"};
  full.capabilities = {"gpu=\"x\"", "ssd"};
  full.allowed_nodes = Lines{"n1"};
  full.forbidden_nodes = {"n2", "n3"};
  full.max_parallel_per_node = 3;
  full.region = "eu";
  EXPECT_EQ(parsePlacement(writePlacement(full)), full);
  Placement nobody;
  nobody.allowed_nodes = Lines{};
  EXPECT_EQ(parsePlacement(writePlacement(nobody)), nobody) << "an empty list is not no list";
}

TEST(ReadNewJob, has_the_same_limits_for_both_forms_of_capabilities) {
  const auto of = [](const std::string& capabilities) {
    return faultsOfNewJob(R"({"data":1,"placement":{"requires_capabilities":)" + capabilities +
                          "}}");
  };
  const std::string longest(256, 'c'), too_long(257, 'c');
  std::string many_listed, many_mapped;
  for (int i = 0; i < 1001; ++i) {
    many_listed += (i > 0 ? ",\"c" : "\"c") + std::to_string(i) + '"';
    many_mapped += (i > 0 ? ",\"c" : "\"c") + std::to_string(i) + "\":true";
  }
  struct Case {
    std::string list, map;
    bool is_taken;
    std::string what;
  };
  const Case cases[] = {
      {"[\"" + longest + "\"]", "{\"" + longest + "\":true}", true, "256 bytes"},
      {"[\"" + too_long + "\"]", "{\"" + too_long + "\":true}", false, "257 bytes"},
      {"[\"a=" + longest.substr(2) + "\"]", "{\"a\":\"" + longest.substr(2) + "\"}", true,
       "256 with the value"},
      {"[\"a=" + longest + "\"]", "{\"a\":\"" + longest + "\"}", false, "258 with the value"},
      {"[\"\"]", "{\"\":true}", false, "no name"},
      {R"(["a\u0000"])", R"({"a\u0000":true})", false, "a NUL"},
      {R"(["\ud800"])", R"({"\ud800":true})", false, "half a surrogate pair"},
      {R"(["a=\ud800"])", R"({"a":"\ud800"})", false, "half a surrogate pair in the value"},
      {"[" + many_listed + "]", "{" + many_mapped + "}", false, "1001 of them"}};
  for (const Case& c : cases) {
    EXPECT_EQ(of(c.list).empty(), c.is_taken) << "list, " << c.what;
    EXPECT_EQ(of(c.map).empty(), c.is_taken) << "map, " << c.what;
  }
}

TEST(PlacementText, that_cannot_be_read_is_met_by_nobody) {
  const std::string long_name(257, 'c');
  const std::string texts[] = {"broken",
                               "[]",
                               "1",
                               "{\"requires_capabilities\":1}",
                               "{\"requires_capabilities\":[\"" + long_name + "\"]}",
                               "{\"colour\":1}",
                               "{\"max_parallel_per_node\":0}"};
  for (const std::string& text : texts) {
    const Placement placement = parsePlacement(text);
    EXPECT_FALSE(placement.empty()) << text;
    EXPECT_TRUE(placementObstacle(placement, {"n", "r", {long_name}, {}}, 0)) << text;
  }
}

TEST(ReadReports, readCompleteKeepsTheResultAsWritten) {
  std::vector<FieldError> faults;
  const auto report =
      reading(R"({"lease_token":"t","worker_id":"w","result": 0.10 ,"artifacts":[{"a":1}]})",
              faults, [](JsonValue value, auto& noted) { return readComplete(value, noted); });
  EXPECT_EQ(lines(faults), Lines{});
  EXPECT_EQ(report.kind, OutcomeReport::Kind::kDone);
  EXPECT_EQ(report.reporter.lease_token, "t");
  EXPECT_EQ(report.reporter.worker, "w");
  EXPECT_EQ(report.result, "0.10");
  EXPECT_EQ(report.artifacts, R"([{"a":1}])");

  const auto bare = reading(
      "{}", faults, [](JsonValue value, auto& noted) { return readComplete(value, noted); });
  EXPECT_FALSE(bare.result);
  EXPECT_TRUE(bare.reporter.lease_token.empty());
}

TEST(ReadReports, readFailTellsHowItFailed) {
  std::vector<FieldError> faults;
  const auto report = reading(
      R"({"error":"boom","retryable":false,"retry_after_seconds":2,"no_penalty":true,
          "cancelled":true,
          "exit_code":-9,"exit_signal":9,"max_rss_bytes":4096,"output_tail":"..."})",
      faults, [](JsonValue value, auto& noted) { return readFail(value, noted); });
  EXPECT_EQ(lines(faults), Lines{});
  EXPECT_EQ(report.kind, OutcomeReport::Kind::kFailed);
  EXPECT_EQ(report.failure.error, "boom");
  EXPECT_FALSE(report.failure.retryable);
  EXPECT_EQ(report.failure.retry_after, Seconds(2));
  EXPECT_TRUE(report.failure.no_penalty);
  EXPECT_TRUE(report.failure.cancelled);
  EXPECT_EQ(report.failure.exit_code, -9);
  EXPECT_EQ(report.failure.exit_signal, 9);
  EXPECT_EQ(report.failure.max_rss_bytes, 4096);
  EXPECT_EQ(report.failure.output_tail, "...");
}

TEST(ReadReports, readBulkItemKnowsTheOutcomes) {
  using Kind = OutcomeReport::Kind;
  const std::pair<std::string, Kind> outcomes[] = {{"done", Kind::kDone},
                                                   {"failed", Kind::kFailed},
                                                   {"released", Kind::kReleased},
                                                   {"cancelled", Kind::kCancelled}};
  const auto item = [](JsonValue value, auto& noted) {
    return readBulkItem(value, "/items/17", noted);
  };
  for (const auto& [outcome, kind] : outcomes) {
    std::vector<FieldError> faults;
    const auto report =
        reading(R"({"job_id":"j","lease_token":"t","outcome":")" + outcome + "\"}", faults, item);
    EXPECT_EQ(lines(faults), Lines{});
    EXPECT_EQ(report.kind, kind) << outcome;
    EXPECT_EQ(report.failure.cancelled, kind == Kind::kCancelled) << outcome;
    EXPECT_EQ(report.job, JobId("j"));
  }
  std::vector<FieldError> faults;
  reading(R"({"outcome":"lost"})", faults, item);
  EXPECT_EQ(lines(faults), (Lines{"/items/17/job_id required", "/items/17/outcome choice"}));
}

TEST(ReadClaim, hasDefaultsAndLimits) {
  const auto claim = [](JsonValue value, auto& noted) { return readClaim(value, "", noted); };
  std::vector<FieldError> faults;
  const auto plain = reading(R"({"worker_id":"w"})", faults, claim);
  EXPECT_EQ(plain.worker, WorkerId("w"));
  EXPECT_EQ(plain.max, 1);
  EXPECT_EQ(plain.wait, Millis(0));
  EXPECT_TRUE(plain.job.empty());
  const auto full =
      reading(R"({"worker_id":"w","max":1000,"wait_seconds":30,"job_id":"j"})", faults, claim);
  EXPECT_EQ(full.max, 1000);
  EXPECT_EQ(full.wait, Seconds(30));
  EXPECT_EQ(full.job, JobId("j"));
  EXPECT_EQ(lines(faults), Lines{});
  reading(R"({"max":1001,"wait_seconds":31,"job_id":""})", faults, claim);
  EXPECT_EQ(lines(faults),
            (Lines{"/worker_id required", "/max range", "/wait_seconds range", "/job_id length"}));
}

Job sampleJob() {
  Job job;
  job.id = JobId("j1");
  job.pool = PoolId("p");
  job.data = "1234567890123456789";
  job.status = JobStatus::kClaimed;
  job.attempts = 2;
  job.max_retries = 3;
  job.available_at = job.created_at = fromMillis(0);
  job.claimed_by = "w";
  job.lease_token = "secret";
  job.effect_key = "e";
  return job;
}

TEST(WriteJob, showsTheLeaseTokenToTheClaimerAlone) {
  JsonWriter shown, claimed;
  writeJob(shown, sampleJob());
  writeClaimedJob(claimed, sampleJob());
  EXPECT_EQ(shown.take().find("secret"), std::string::npos);
  const std::string text = claimed.take();
  EXPECT_NE(text.find(R"("lease_token":"secret","attempt":2)"), std::string::npos) << text;
}

TEST(WriteJob, leavesOutWhatIsAbsentAndKeepsDataAsWritten) {
  JsonWriter out;
  writeJob(out, sampleJob());
  EXPECT_EQ(
      out.take(),
      R"({"id":"j1","pool_id":"p","data":1234567890123456789,"status":"claimed","priority":0,)"
      R"("attempts":2,"max_retries":3,"crashes":0,"available_at":"1970-01-01T00:00:00.000Z",)"
      R"("created_at":"1970-01-01T00:00:00.000Z","claimed_by":"w","cancel_requested":false,)"
      R"("effect_key":"e","version":1})");
}

TEST(WriteJob, showsEverythingThatIsThere) {
  Job job = sampleJob();
  job.status = JobStatus::kDone;
  job.result = "null";
  job.artifacts = "[{}]";
  job.error = "e\"";
  job.reason = "r";
  job.progress = 0.5;
  job.progress_message = "half";
  job.placement = R"({"region":"eu"})";
  job.resource_refs = "[1]";
  job.tenant = "t";
  job.unique_key = "u";
  job.affinity = "a";
  job.traceparent = "00-1";
  job.crashes = 1;
  job.cancel_requested = true;
  job.finished_at = job.claimed_at = job.expires_at = job.lease_expires_at = fromMillis(1);
  JsonWriter out;
  writeJob(out, job);
  const std::string text = out.take();
  ASSERT_TRUE(JsonDoc::parse(text)) << text;
  for (const char* part :
       {R"("result":null)", R"("artifacts":[{}])", R"("error":"e\"")", R"("reason":"r")",
        R"("progress":0.5)", R"("progress_message":"half")", R"("placement":{"region":"eu"})",
        R"("resource_refs":[1])", R"("tenant":"t")", R"("unique_key":"u")", R"("affinity":"a")",
        R"("traceparent":"00-1")", R"("crashes":1)", R"("cancel_requested":true)",
        R"("finished_at":"1970-01-01T00:00:00.001Z")", R"("lease_expires_at":)",
        R"("expires_at":)"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
}

JobFlow sampleJobFlow() {
  JobFlow flow;
  flow.id = FlowId("f1");
  flow.flow_name = "report";
  flow.round = 2;
  flow.name = "merge";
  return flow;
}

std::string shownWith(const JobFlow& flow, JobStatus status = JobStatus::kClaimed) {
  Job job = sampleJob();
  job.status = status;
  job.flow = std::make_shared<const JobFlow>(flow);
  JsonWriter out;
  writeJob(out, job);
  const std::string text = out.take();
  EXPECT_TRUE(JsonDoc::parse(text)) << text;
  return text.substr(text.find(R"("version":1)") + 11);
}

std::string claimedWith(const JobFlow& flow) {
  Job job = sampleJob();
  job.flow = std::make_shared<const JobFlow>(flow);
  JsonWriter out;
  writeClaimedJob(out, job);
  const std::string text = out.take();
  EXPECT_TRUE(JsonDoc::parse(text)) << text;
  return text.substr(text.find(R"("version":1)") + 11);
}

TEST(WriteJob, shows_its_place_in_a_flow) {
  JobFlow flow = sampleJobFlow();
  flow.blocked_by = 3;
  flow.upstream = "{}";
  EXPECT_EQ(shownWith(flow), R"(,"flow_id":"f1","name":"merge"})");
  EXPECT_EQ(shownWith(flow, JobStatus::kBlocked),
            R"(,"flow_id":"f1","name":"merge","blocked_by":3})");
  flow.parent = "j0";
  flow.may_fail = true;
  EXPECT_EQ(shownWith(flow), R"(,"flow_id":"f1","name":"merge","parent_id":"j0","may_fail":true})");
}

TEST(WriteJob, gives_the_claimer_the_flow_and_the_upstream_jobs) {
  JobFlow flow = sampleJobFlow();
  EXPECT_EQ(claimedWith(flow), R"(,"flow_id":"f1","name":"merge","lease_token":"secret",)"
                               R"("attempt":2,"flow":{"flow_id":"f1","name":"report","round":2}})");
  flow.flow_name = "";
  flow.upstream = R"({"items":[],"count":0,"truncated":false})";
  EXPECT_EQ(claimedWith(flow), R"(,"flow_id":"f1","name":"merge","lease_token":"secret",)"
                               R"("attempt":2,"flow":{"flow_id":"f1","round":2},)"
                               R"("upstream":{"items":[],"count":0,"truncated":false}})");
}

TEST(WriteJob, a_callback_is_outside_of_its_flow_and_its_claimer_knows_how_that_ended) {
  JobFlow flow;
  flow.id = FlowId("f1");
  flow.flow_name = "report";
  flow.flow_status = "failed";
  flow.callback = "ended";
  EXPECT_EQ(shownWith(flow), "}");
  EXPECT_EQ(claimedWith(flow),
            R"(,"lease_token":"secret","attempt":2,"flow":{"flow_id":"f1",)"
            R"("name":"report","round":1,"status":"failed","callback":"ended"}})");
}

TEST(WriteAttempt, showsHowATryEnded) {
  Attempt attempt;
  attempt.attempt = 1;
  attempt.worker = "w";
  attempt.claimed_at = fromMillis(0);
  attempt.ended_at = fromMillis(1);
  attempt.outcome = "failed";
  attempt.error = "boom";
  attempt.exit_code = 3;
  JsonWriter out;
  writeAttempt(out, attempt);
  EXPECT_EQ(
      out.take(),
      R"({"attempt":1,"worker_id":"w","claimed_at":"1970-01-01T00:00:00.000Z",)"
      R"("ended_at":"1970-01-01T00:00:00.001Z","outcome":"failed","error":"boom","exit_code":3})");
}

TEST(ReadResourceRefs, are_written_anew_in_snake_case) {
  std::vector<FieldError> faults;
  const NewJob job = newJob(
      R"({"data":1,"resource_refs":[{"type":"file","resourceId":"a/b","workerId":"w",
          "workerName":"n","sizeBytes":5,"expiresAt":"2026-11-19T01:02:03Z"},
          {"resource_id":"c","uid":"u~1","as":"x/y"}]})",
      faults);
  EXPECT_EQ(lines(faults), Lines{});
  EXPECT_EQ(job.resource_refs,
            R"([{"resource_id":"a/b","worker_id":"w","worker_name":"n","type":"file",)"
            R"("size_bytes":5,"expires_at":"2026-11-19T01:02:03.000Z"},)"
            R"({"resource_id":"c","uid":"u~1","as":"x/y"}])");
  EXPECT_EQ(job.refs, (std::vector<ResourceRef>{{"a/b", "", "w"}, {"u~1", "x/y", ""}}));
}

TEST(ReadResourceRefs, faults_have_their_place) {
  EXPECT_EQ(faultsOfNewJob(R"({"data":1,"resource_refs":[{"resource_id":"a","resourceId":"a"},
                               {"resource_id":"a","as":"../b"},{"resource_id":"a","uid":"b"},
                               {"type":"t","more":1}]})"),
            (Lines{"/resource_refs/0/resourceId contradiction", "/resource_refs/1/as format",
                   "/resource_refs/2/uid format", "/resource_refs/3/resource_id required",
                   "/resource_refs/3/more unknown_field"}));
}

TEST(PayloadRefs, stand_under_their_keys_at_any_depth) {
  NewJob job;
  job.data = R"({"a":[{"resourceRef":{"resourceId":"r/1","workerId":"w","more":1}}],
                 "resource_ref":{"resource_id":"r/2"},"resourceRef":"text",
                 "b":{"resource_ref":{"type":"no id"}},"c":{"resourceRef":{"resourceId":"r/2"}}})";
  const std::string data = job.data;
  EXPECT_TRUE(mayHaveRefs(job));
  ASSERT_TRUE(addPayloadRefs(job, ""));
  EXPECT_EQ(job.data, data);
  EXPECT_EQ(job.refs, (std::vector<ResourceRef>{{"r/1", "", "w"}, {"r/2", "", ""}}));
  EXPECT_EQ(job.resource_refs, R"([{"resource_id":"r/1","worker_id":"w"},{"resource_id":"r/2"}])");
  ASSERT_TRUE(addPayloadRefs(job, "")) << "the same again adds nothing";
  EXPECT_EQ(job.refs.size(), 2U);
  EXPECT_FALSE(mayHaveRefs(NewJob{.data = R"({"resource":1})"}));
}

TEST(PayloadRefs, are_not_without_number) {
  NewJob job;
  job.data = "[";
  for (int i = 0; i < 101; ++i) {
    job.data += (i > 0 ? "," : "") + std::string(R"({"resourceRef":{"resourceId":"r)") +
                std::to_string(i) + R"("}})";
  }
  job.data += "]";
  const auto added = addPayloadRefs(job, "/items/2");
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().fields[0].pointer, "/items/2/data");
}

TEST(WriteJob, gives_the_claimer_what_it_refers_to) {
  Job job;
  job.data = "1";
  JobInput input{"in", {}};
  input.resource.id = "r";
  input.resource.uid = "u~1";
  input.resource.type = "file";
  job.inputs.push_back(input);
  JsonWriter shown, claimed;
  writeJob(shown, job);
  writeClaimedJob(claimed, job);
  EXPECT_EQ(shown.take().find("inputs"), std::string::npos);
  EXPECT_NE(claimed.take().find(R"("inputs":[{"resource_id":"r","uid":"u~1","type":"file",)"
                                R"("holder":"store","as":"in"}])"),
            std::string::npos);
}

}  // namespace
}  // namespace muster
