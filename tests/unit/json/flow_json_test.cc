#include "models/json/flow_json.h"

#include <gtest/gtest.h>

#include "models/policy/flow_graph.h"

namespace muster {
namespace {

using Lines = std::vector<std::string>;

// One for each condition of EdgeCondition.
constexpr EdgeCondition kConditions[] = {EdgeCondition::kAfter, EdgeCondition::kAfterFailure,
                                         EdgeCondition::kAfterAny};

Lines lines(const std::vector<FieldError>& faults) {
  Lines out;
  for (const FieldError& fault : faults) out.push_back(fault.pointer + " " + fault.code);
  return out;
}

template <class Read>
auto reading(const std::string& text, Lines& noted, Read read) {
  const auto doc = JsonDoc::parse(text);
  EXPECT_TRUE(doc) << text;
  std::vector<FieldError> faults;
  auto result = read(doc->root(), faults);
  noted = lines(faults);
  return result;
}

CreateFlow createFlow(const std::string& text, Lines& noted) {
  return reading(text, noted,
                 [](JsonValue value, auto& faults) { return readCreateFlow(value, faults); });
}

Lines faultsOfFlow(const std::string& text) {
  Lines noted;
  createFlow(text, noted);
  return noted;
}

std::vector<NewFlowJob> flowJobs(const std::string& text, Lines& noted) {
  return reading(text, noted, [](JsonValue value, auto& faults) {
    return readNewFlowJobs(value, "/jobs", faults);
  });
}

Lines faultsOfJobs(const std::string& text) {
  Lines noted;
  flowJobs(text, noted);
  return noted;
}

template <class T, class Write>
std::string written(Write write, const T& what) {
  JsonWriter out;
  write(out, what);
  const std::string text = out.take();
  EXPECT_TRUE(JsonDoc::parse(text)) << text;
  return text;
}

TEST(ReadFlowJob, is_a_new_job_with_a_place_in_a_flow) {
  Lines noted;
  const NewFlowJob job = reading(
      R"({"name":"merge","pool_id":"cpu","data":{"n":1},"priority":-3,"delay_seconds":1.5,
          "tenant":"acme","unique_key":"k","after":["left","right"],"after_failure":["x"],
          "after_any":["y"],"may_fail":true})",
      noted,
      [](JsonValue value, auto& faults) { return readNewFlowJob(value, "/jobs/4", faults); });
  EXPECT_EQ(noted, Lines{});
  EXPECT_EQ(job.name, "merge");
  EXPECT_EQ(job.pool, PoolId("cpu"));
  EXPECT_TRUE(job.may_fail);
  EXPECT_TRUE(job.has_priority);
  EXPECT_EQ(job.job.data, R"({"n":1})");
  EXPECT_EQ(job.job.priority, -3);
  EXPECT_EQ(job.job.delay, Millis(1500));
  EXPECT_EQ(job.job.tenant, "acme");
  EXPECT_EQ(job.job.unique_key, "k");
  Lines edges;
  for (const auto& edge : job.edges) {
    edges.push_back(std::string(name(edge.when)) + "/" + std::to_string(edge.index) + " " +
                    edge.from);
  }
  EXPECT_EQ(edges, (Lines{"after/0 left", "after/1 right", "after_failure/0 x", "after_any/0 y"}));
}

TEST(ReadFlowJob, has_the_defaults_of_a_job_outside_of_flows) {
  Lines noted;
  const auto jobs = flowJobs(
      R"([{"name":"a","pool_id":"p","data":null},
          {"name":"b","pool_id":"p","data":1,"priority":null,"after":null,"may_fail":null}])",
      noted);
  EXPECT_EQ(noted, Lines{});
  ASSERT_EQ(jobs.size(), 2U);
  for (const NewFlowJob& job : jobs) {
    EXPECT_FALSE(job.has_priority);
    EXPECT_FALSE(job.may_fail);
    EXPECT_TRUE(job.edges.empty());
    EXPECT_EQ(job.job.priority, 0);
  }
}

TEST(ReadFlowJob, notes_every_fault_where_it_is) {
  struct Case {
    const char* job;
    Lines faults;
  };
  const Case cases[] = {
      {R"({})",
       {"/jobs/0/name name_required", "/jobs/0/pool_id required", "/jobs/0/data required"}},
      {R"(7)", {"/jobs/0 type"}},
      {R"({"name":null,"pool_id":"p","data":1})", {"/jobs/0/name name_required"}},
      {R"({"name":"a b","pool_id":"p/q","data":1})",
       {"/jobs/0/name format", "/jobs/0/pool_id format"}},
      {R"({"name":"","pool_id":7,"data":1})", {"/jobs/0/name length", "/jobs/0/pool_id type"}},
      {R"({"name":"a","pool_id":"p","data":1,"after":"b","after_any":[["b"],"c d"]})",
       {"/jobs/0/after type", "/jobs/0/after_any/0 format", "/jobs/0/after_any/1 format"}},
      {R"({"name":"a","pool_id":"p","data":1,"may_fail":1,"priority":0.5})",
       {"/jobs/0/priority type", "/jobs/0/may_fail type"}},
      {R"({"name":"a","pool_id":"p","data":1,"inputs":[],"colour":"red"})",
       {"/jobs/0/colour unknown_field"}},
      {R"({"name":"a","pool_id":"p","data":1,"after":["b","a","b"]})",
       {"/jobs/0/after/2 duplicate_name", "/jobs/0/after/1 cycle"}},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(faultsOfJobs("[" + std::string(each.job) + "]"), each.faults) << each.job;
  }
}

TEST(ReadFlowJobs, say_what_is_wrong_with_their_graph) {
  EXPECT_EQ(faultsOfJobs(R"([{"name":"a","pool_id":"p","data":1,"after":["c"]},
                             {"name":"b","pool_id":"p","data":1,"after_any":["a"]},
                             {"name":"c","pool_id":"p","data":1,"after_failure":["x","b"]},
                             {"name":"b","pool_id":"p","data":1}])"),
            (Lines{"/jobs/3/name duplicate_name", "/jobs/0/after/0 cycle"}));
  EXPECT_EQ(faultsOfJobs(R"({"a":1})"), Lines{"/jobs type"});
  EXPECT_EQ(faultsOfJobs("[]"), Lines{}) << "for the caller to judge";
}

std::string manyJobs(std::size_t count) {
  std::string jobs = "[";
  for (std::size_t i = 0; i < count; ++i) {
    jobs += (i == 0 ? "" : ",") + std::string(R"({"name":"j)") + std::to_string(i) +
            R"(","pool_id":"p","data":1})";
  }
  return jobs + "]";
}

TEST(ReadFlowJobs, are_a_thousand_at_most) {
  Lines noted;
  EXPECT_EQ(flowJobs(manyJobs(kMostFlowJobs), noted).size(), kMostFlowJobs);
  EXPECT_EQ(noted, Lines{});
  EXPECT_EQ(flowJobs(manyJobs(kMostFlowJobs + 1), noted).size(), 0U);
  EXPECT_EQ(noted, Lines{"/jobs too_many_jobs"});
}

std::string jobAfter(const std::string& name, std::size_t begin, std::size_t end) {
  std::string names;
  for (std::size_t i = begin; i < end; ++i) {
    names += (i == begin ? "\"" : ",\"") + std::to_string(i) + "\"";
  }
  return R"({"name":")" + name + R"(","pool_id":"p","data":1,"after":[)" + names + "]}";
}

TEST(ReadFlowJobs, have_ten_thousand_edges_at_most) {
  const std::string first = jobAfter("a", 0, 4000), fits = jobAfter("b", 0, 6000);
  Lines noted;
  EXPECT_EQ(flowJobs("[" + first + "," + fits + "]", noted).at(1).edges.size(), 6000U);
  EXPECT_EQ(noted, Lines{});
  const auto jobs =
      flowJobs("[" + first + "," + jobAfter("b", 0, 6003) + "," + jobAfter("c", 0, 5) + "]", noted);
  EXPECT_EQ(noted, Lines{"/jobs/1/after/6000 too_many_edges"});
  EXPECT_EQ(jobs.at(1).edges.size(), 6001U) << "what is too much is not kept";
  EXPECT_EQ(jobs.at(2).edges.size(), 0U);
}

TEST(ReadCreateFlow, reads_every_field) {
  Lines noted;
  const CreateFlow flow = createFlow(
      R"({"name":"a report","tenant":"acme","priority":5,"open":true,"fail_fast":true,
          "deadline_seconds":1.5,"metadata":{"by": "ci"},
          "jobs":[{"name":"a","pool_id":"p","data":1},
                  {"name":"b","pool_id":"q","data":1,"after":["a"]}],
          "callbacks":[{"when":"ended","job":{"pool_id":"net","data":2}},
                       {"when":"failed","job":{"pool_id":"ops","data":3}}]})",
      noted);
  EXPECT_EQ(noted, Lines{});
  EXPECT_EQ(flow.name, "a report");
  EXPECT_EQ(flow.tenant, "acme");
  EXPECT_EQ(flow.priority, 5);
  EXPECT_TRUE(flow.open);
  EXPECT_TRUE(flow.fail_fast);
  EXPECT_EQ(flow.deadline, Millis(1500));
  EXPECT_FALSE(flow.deadline_at);
  EXPECT_EQ(flow.metadata, R"({"by": "ci"})");
  EXPECT_EQ(flow.jobs.size(), 2U);
  EXPECT_EQ(flow.callback_pools, (std::vector<PoolId>{PoolId("net"), PoolId("ops")}));
  EXPECT_TRUE(flow.callbacks.starts_with(R"([{"when":"ended")")) << flow.callbacks;
}

TEST(ReadCreateFlow, leaves_the_rest_as_it_is) {
  Lines noted;
  const CreateFlow flow = createFlow(
      R"({"jobs":[{"name":"a","pool_id":"p","data":1}],"callbacks":[],"metadata":{},
          "deadline_at":"2030-01-01T00:00:00Z"})",
      noted);
  EXPECT_EQ(noted, Lines{});
  EXPECT_TRUE(flow.name.empty() && flow.tenant.empty() && flow.callbacks.empty() &&
              flow.metadata.empty());
  EXPECT_FALSE(flow.priority || flow.deadline || flow.open || flow.fail_fast);
  EXPECT_EQ(flow.deadline_at, parseTime("2030-01-01T00:00:00Z"));
}

TEST(ReadCreateFlow, has_no_jobs_only_when_it_is_open) {
  EXPECT_EQ(faultsOfFlow(R"({"open":true})"), Lines{});
  EXPECT_EQ(faultsOfFlow(R"({"open":true,"jobs":[]})"), Lines{});
  EXPECT_EQ(faultsOfFlow("{}"), Lines{"/jobs required"});
  EXPECT_EQ(faultsOfFlow(R"({"jobs":[]})"), Lines{"/jobs length"});
  EXPECT_EQ(faultsOfFlow(R"({"jobs":{}})"), Lines{"/jobs type"});
  EXPECT_EQ(faultsOfFlow("[]"), Lines{" type"});
}

TEST(ReadCreateFlow, knows_all_jobs_that_its_edges_may_name) {
  EXPECT_EQ(
      faultsOfFlow(R"({"jobs":[{"name":"a","pool_id":"p","data":1,"after":["b"]},
                                     {"name":"b","pool_id":"p","data":1,"after_any":["c","d"]}]})"),
      (Lines{"/jobs/1/after_any/0 unknown_dependency", "/jobs/1/after_any/1 unknown_dependency"}));
  EXPECT_EQ(faultsOfFlow(R"({"jobs":[{"name":"a","pool_id":"p","data":1,"after":["b"]},
                                     {"name":"b b","pool_id":"p","data":1}]})"),
            Lines{"/jobs/1/name format"})
      << "b may be what was meant";
}

TEST(ReadCreateFlow, notes_every_fault_of_its_own) {
  const std::string jobs = R"("jobs":[{"name":"a","pool_id":"p","data":1}])";
  EXPECT_EQ(faultsOfFlow(R"({"name":"","tenant":7,"priority":"high","open":1,"fail_fast":"no",
                             "deadline_seconds":-1,"metadata":[],"callbacks":{},"inputs":1,)" +
                         jobs + "}"),
            (Lines{"/name length", "/tenant type", "/priority type", "/open type",
                   "/fail_fast type", "/deadline_seconds range", "/callbacks type",
                   "/metadata type", "/inputs unknown_field"}));
  EXPECT_EQ(
      faultsOfFlow(R"({"deadline_seconds":1,"deadline_at":"2030-01-01T00:00:00Z",)" + jobs + "}"),
      Lines{"/deadline_at contradiction"});
  const std::string long_text(16'384, 'x');
  EXPECT_EQ(faultsOfFlow(R"({"metadata":{"a":")" + long_text + R"("},)" + jobs + "}"),
            Lines{"/metadata length"});
}

TEST(FlowCallbacks, are_four_jobs_at_most) {
  const auto faultsOf = [](const std::string& callbacks) {
    return faultsOfFlow(R"({"open":true,"callbacks":)" + callbacks + "}");
  };
  const std::string good = R"({"when":"succeeded","job":{"pool_id":"p","data":1}})";
  EXPECT_EQ(faultsOf("[" + good + "," + good + "," + good + "," + good + "]"), Lines{});
  EXPECT_EQ(faultsOf("[" + good + "," + good + "," + good + "," + good + "," + good + "]"),
            Lines{"/callbacks length"});
  EXPECT_EQ(
      faultsOf(R"([{},{"when":"done","job":{}},3,{"when":"ended","job":[]}])"),
      (Lines{"/callbacks/0/when required", "/callbacks/0/job required", "/callbacks/1/when choice",
             "/callbacks/1/job/pool_id required", "/callbacks/1/job/data required",
             "/callbacks/2 type", "/callbacks/3/job type"}));
  EXPECT_EQ(faultsOf(R"([{"when":"ended","url":"x","job":{"pool_id":"p","data":1,"name":"n"}}])"),
            (Lines{"/callbacks/0/job/name unknown_field", "/callbacks/0/url unknown_field"}));
}

TEST(FlowCallbacks, are_read_back_from_what_the_store_keeps) {
  Lines noted;
  const CreateFlow flow = createFlow(
      R"({"open":true,"callbacks":[
          {"when":"failed","job":{"pool_id":"ops","data":{"a":1},"max_retries":7}}]})",
      noted);
  const auto callbacks = reading(flow.callbacks, noted, [](JsonValue value, auto& faults) {
    return readFlowCallbacks(value, "", faults);
  });
  EXPECT_EQ(noted, Lines{});
  ASSERT_EQ(callbacks.size(), 1U);
  EXPECT_EQ(callbacks[0].when, "failed");
  EXPECT_EQ(callbacks[0].pool, PoolId("ops"));
  EXPECT_EQ(callbacks[0].job.data, R"({"a":1})");
  EXPECT_EQ(callbacks[0].job.max_retries, 7);
}

Flow sampleFlow() {
  Flow flow;
  flow.id = FlowId("f1");
  flow.counts = {10, 4, 3, 1, 0};
  flow.created_at = fromMillis(0);
  return flow;
}

TEST(WriteFlow, leaves_out_what_is_absent) {
  EXPECT_EQ(written(writeFlow, sampleFlow()),
            R"({"flow_id":"f1","status":"running","closed":false,"round":1,)"
            R"("counts":{"total":10,"blocked":4,"live":2,"done":3,"poisoned":1,"cancelled":0},)"
            R"("fail_fast":false,"callbacks":[],"metadata":{},)"
            R"("created_at":"1970-01-01T00:00:00.000Z","version":1})");
}

TEST(WriteFlow, shows_everything_that_is_there) {
  Flow flow = sampleFlow();
  flow.name = "report \"1\"";
  flow.tenant = "acme";
  flow.priority = 0;
  flow.status = FlowStatus::kFailed;
  flow.reason = "deadline";
  flow.closed = flow.fail_fast = true;
  flow.round = 3;
  flow.deadline_at = flow.ended_at = fromMillis(1);
  flow.callbacks = R"([{"when":"ended"}])";
  flow.metadata = R"({"a":1})";
  flow.version = 9;
  EXPECT_EQ(written(writeFlow, flow),
            R"({"flow_id":"f1","name":"report \"1\"","tenant":"acme","priority":0,)"
            R"("status":"failed","reason":"deadline","closed":true,"round":3,)"
            R"("counts":{"total":10,"blocked":4,"live":2,"done":3,"poisoned":1,"cancelled":0},)"
            R"("fail_fast":true,"deadline_at":"1970-01-01T00:00:00.001Z",)"
            R"("callbacks":[{"when":"ended"}],"metadata":{"a":1},)"
            R"("created_at":"1970-01-01T00:00:00.000Z","ended_at":"1970-01-01T00:00:00.001Z",)"
            R"("version":9})");
}

TEST(WriteFlow, shows_jobs_that_failed_beside_it) {
  FlowShown shown{sampleFlow(), {{"a", JobId("j1"), "", "boom"}, {"b", JobId("j2"), "r", ""}}};
  const std::string text = written(writeFlowShown, shown);
  EXPECT_TRUE(text.starts_with(R"({"flow_id":"f1",)")) << text;
  EXPECT_TRUE(
      text.ends_with(R"("version":1,"failed_jobs":[{"name":"a","job_id":"j1","error":"boom"},)"
                     R"({"name":"b","job_id":"j2","reason":"r"}]})"))
      << text;
  EXPECT_TRUE(
      written(writeFlowShown, FlowShown{sampleFlow(), {}}).ends_with(R"("failed_jobs":[]})"));
}

TEST(WriteFlow, shows_the_jobs_that_were_added) {
  const FlowJobsAdded added{
      sampleFlow(),
      {{"a", JobId("j1"), JobStatus::kPending}, {"b", JobId("j2"), JobStatus::kBlocked}},
      true};
  const std::string text = written(writeFlowJobsAdded, added);
  EXPECT_TRUE(text.starts_with(R"({"flow":{"flow_id":"f1",)")) << text;
  EXPECT_TRUE(
      text.ends_with(R"("version":1},"jobs":[{"name":"a","job_id":"j1","status":"pending"},)"
                     R"({"name":"b","job_id":"j2","status":"blocked"}]})"))
      << text;
}

TEST(WriteFlow, shows_edges_by_their_condition) {
  for (const EdgeCondition when : kConditions) {
    EXPECT_EQ(written(writeFlowEdge, FlowEdge{"a", "b", when}),
              R"({"from":"a","to":"b","when":")" + std::string(name(when)) + R"("})");
  }
}

TEST(WriteUpstreamItem, shows_how_an_upstream_job_ended) {
  UpstreamItem item;
  item.name = "left";
  item.job = JobId("j1");
  EXPECT_EQ(written(writeUpstreamItem, item),
            R"({"name":"left","job_id":"j1","status":"pending"})");
  item.parent = "split";
  item.verdict = Verdict::kFailed;
  item.status = JobStatus::kDone;
  item.result = "null";
  item.error = "boom";
  item.artifacts = "[{}]";
  EXPECT_EQ(written(writeUpstreamItem, item),
            R"({"name":"left","job_id":"j1","parent":"split","verdict":"failed","status":"done",)"
            R"("result":null,"error":"boom","artifacts":[{}]})");
}

TEST(CallbackFlow, is_read_as_it_was_written) {
  JobFlow flow;
  flow.id = FlowId("f1");
  flow.round = 2;
  flow.flow_status = "cancelled";
  flow.callback = "ended";
  EXPECT_EQ(writeCallbackFlow(flow),
            R"({"flow_id":"f1","round":2,"status":"cancelled","callback":"ended"})");
  flow.flow_name = "a \"name\"";
  const JobFlow read = parseCallbackFlow(writeCallbackFlow(flow));
  EXPECT_EQ(read.id, flow.id);
  EXPECT_EQ(read.flow_name, flow.flow_name);
  EXPECT_EQ(read.round, 2);
  EXPECT_EQ(read.flow_status, "cancelled");
  EXPECT_EQ(read.callback, "ended");
  EXPECT_TRUE(parseCallbackFlow("").id.empty());
}

TEST(FlowEventDetails, name_the_flow_its_round_and_why) {
  Flow flow = sampleFlow();
  EXPECT_EQ(flowEventDetails(flow), R"({"flow_id":"f1","round":1})");
  flow.name = "n";
  flow.reason = "job_failed";
  flow.round = 2;
  EXPECT_EQ(flowEventDetails(flow),
            R"({"flow_id":"f1","name":"n","round":2,"reason":"job_failed"})");
}

TEST(FlowInputsText, is_read_back) {
  Lines noted;
  const auto flow = createFlow(
      R"({"jobs":[{"name":"a","pool_id":"p","data":1},{"name":"b","pool_id":"p","data":1,
          "after":["a"],"inputs":[{"from":"a"},{"from":"a","artifact":"x/y","as":"z",
          "optional":true}]}]})",
      noted);
  EXPECT_EQ(noted, Lines{});
  const auto& inputs = flow.jobs.at(1).inputs;
  const std::string text = writeFlowInputs(inputs);
  EXPECT_EQ(text, R"([{"from":"a"},{"from":"a","artifact":"x/y","as":"z","optional":true}])");
  EXPECT_EQ(writeFlowInputs(parseFlowInputs(text)), text);
  EXPECT_EQ(writeFlowInputs({}), "");
}

TEST(ReadCreateFlow, inputs_come_from_upstream_jobs) {
  EXPECT_EQ(
      faultsOfFlow(R"({"jobs":[{"name":"a","pool_id":"p","data":1},
                             {"name":"b","pool_id":"p","data":1,"after":["a"],
                              "inputs":[{"from":"c"},{"artifact":"x"},{"from":"a","as":"/x"},
                                        {"from":"a","more":1}]}]})"),
      (Lines{"/jobs/1/inputs/1/from required", "/jobs/1/inputs/2/as format",
             "/jobs/1/inputs/3/more unknown_field", "/jobs/1/inputs/0/from unknown_dependency"}));
}

}  // namespace
}  // namespace muster
