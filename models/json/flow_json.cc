#include "models/json/flow_json.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "models/json/job_json.h"
#include "models/json/json_reader.h"
#include "models/policy/flow_graph.h"

namespace muster {
namespace {

constexpr std::size_t kMostCallbacks = 4;
constexpr std::size_t kMostInputs = 100;  // of one job
constexpr std::size_t kMaxFlowMetadataBytes = 16'384;
constexpr double kLongestDeadlineSeconds = 365.0 * 24 * 3600;
constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();

// `names_left` bounds what is read of a request with too many names: one more than a request may
// have, so that flowGraphFaults() notes the one that is too many.
void readEdges(ObjectReader& in, EdgeCondition when, NewFlowJob& job, std::size_t& names_left,
               std::vector<FieldError>& faults) {
  const auto names = in.array(name(when), 0, kAnyNumber);
  if (!names) return;
  std::size_t index = 0;
  for (auto it = names->begin(); it != names->end() && names_left > 0; ++it, ++index) {
    --names_left;
    auto from = (*it).string();
    if (from && isValidId(*from)) {
      job.edges.push_back({*std::move(from), when, index});
    } else {
      addFault(faults, {fmt::format("{}/{}", in.pointer(name(when)), index), "format",
                        "must be the name of a job: 1 to 128 of A-Z a-z 0-9 . _ ~ : -"});
    }
  }
}

void readInputs(ObjectReader& in, NewFlowJob& job, std::vector<FieldError>& faults) {
  const auto inputs = in.array("inputs", 0, kMostInputs);
  if (!inputs) return;
  for (auto it = inputs->begin(); it != inputs->end(); ++it) {
    ObjectReader item(*it, fmt::format("{}/{}", in.pointer("inputs"), job.inputs.size()), faults);
    const auto slashed = [&item](std::string_view field) {
      auto text = item.text(field, 1, 256);
      if (text && !isSlashedName(*text)) {
        item.fault(field, "format",
                   "must be of letters, digits and ._~:/-, without an empty, . or .. between "
                   "slashes");
      }
      return text.value_or("");
    };
    NewFlowJob::Input& input = job.inputs.emplace_back();
    input.from = item.required("from", item.id("from"));
    input.artifact = slashed("artifact");
    input.as = slashed("as");
    input.optional = item.boolean("optional").value_or(false);
    item.finish();
  }
}

NewFlowJob readBoundedFlowJob(JsonValue value, const std::string& pointer, std::size_t& names_left,
                              std::vector<FieldError>& faults) {
  ObjectReader in(value, pointer, faults);
  NewFlowJob job;
  if (in.has("name")) {
    job.name = in.id("name").value_or("");
  } else if (value.isObject()) {
    in.fault("name", "name_required", "is required: a job of a flow has a name");
  }
  if (value.isObject()) job.pool = PoolId(in.required("pool_id", in.id("pool_id")));
  job.has_priority = in.has("priority");
  job.job = readNewJobFields(in, value, faults);
  for (const auto when :
       {EdgeCondition::kAfter, EdgeCondition::kAfterFailure, EdgeCondition::kAfterAny}) {
    readEdges(in, when, job, names_left, faults);
  }
  readInputs(in, job, faults);
  job.may_fail = in.boolean("may_fail").value_or(false);
  in.finish();
  return job;
}

FlowCallback readCallback(JsonValue value, const std::string& pointer,
                          std::vector<FieldError>& faults) {
  ObjectReader in(value, pointer, faults);
  FlowCallback callback;
  if (!value.isObject()) return callback;
  callback.when = in.required("when", in.oneOf("when", {"succeeded", "failed", "ended"}));
  if (const auto job = in.object("job")) {
    ObjectReader fields(*job, in.pointer("job"), faults);
    callback.pool = PoolId(fields.required("pool_id", fields.id("pool_id")));
    callback.job = readNewJobFields(fields, *job, faults);
    fields.finish();
  } else if (!in.has("job")) {
    in.fault("job", "required", "is required");
  }
  in.finish();
  return callback;
}

void readDeadline(ObjectReader& in, CreateFlow& flow) {
  const auto seconds = in.number("deadline_seconds", 0, kLongestDeadlineSeconds);
  if (seconds) flow.deadline = Millis(std::llround(*seconds * 1000.0));
  flow.deadline_at = in.time("deadline_at");
  if (seconds && flow.deadline_at) {
    in.fault("deadline_at", "contradiction", "must not be given together with deadline_seconds");
  }
}

void readJobsOfNewFlow(ObjectReader& in, CreateFlow& flow, std::vector<FieldError>& faults) {
  const auto jobs = in.array("jobs", 0, kAnyNumber);
  if (!jobs) {
    if (!in.has("jobs") && !flow.open) {
      in.fault("jobs", "required", "is required, unless the flow is open");
    }
    return;
  }
  if (jobs->size() == 0 && !flow.open) {
    in.fault("jobs", "length",
             fmt::format("must have 1 to {} jobs, unless the flow is open", kMostFlowJobs));
  }
  const std::size_t before = faults.size();
  flow.jobs = readNewFlowJobs(*jobs, in.pointer("jobs"), faults);
  if (faults.size() > before) return;  // a name that could not be read would be unknown too
  for (FieldError& fault : unknownDependencies(flow.jobs, [](std::string_view) { return false; })) {
    addFault(faults, std::move(fault));
  }
}

void writeFlowFields(JsonWriter& out, const Flow& flow) {
  out.field("flow_id", flow.id);
  if (!flow.name.empty()) out.field("name", flow.name);
  if (!flow.tenant.empty()) out.field("tenant", flow.tenant);
  out.field("priority", flow.priority).field("status", name(flow.status));
  if (!flow.reason.empty()) out.field("reason", flow.reason);
  out.field("closed", flow.closed).field("round", flow.round);
  const FlowCounts& counts = flow.counts;
  out.key("counts").beginObject().field("total", counts.total).field("blocked", counts.blocked);
  out.field("live", counts.live()).field("done", counts.done).field("poisoned", counts.poisoned);
  out.field("cancelled", counts.cancelled).endObject();
  out.field("fail_fast", flow.fail_fast).field("deadline_at", flow.deadline_at);
  out.key("callbacks").raw(flow.callbacks.empty() ? "[]" : flow.callbacks);
  out.key("metadata").raw(flow.metadata.empty() ? "{}" : flow.metadata);
  out.field("created_at", flow.created_at).field("ended_at", flow.ended_at);
  out.field("version", flow.version);
}

}  // namespace

NewFlowJob readNewFlowJob(JsonValue value, const std::string& pointer,
                          std::vector<FieldError>& faults) {
  std::size_t names_left = kMostFlowEdges + 1;
  return readBoundedFlowJob(value, pointer, names_left, faults);
}

std::vector<NewFlowJob> readNewFlowJobs(JsonValue value, const std::string& pointer,
                                        std::vector<FieldError>& faults) {
  if (!value.isArray()) {
    addFault(faults, {pointer, "type", "must be an array"});
    return {};
  }
  if (value.size() > kMostFlowJobs) {
    addFault(faults, {pointer, "too_many_jobs",
                      fmt::format("has {} jobs; a request has at most {}: send the rest in another "
                                  "one",
                                  value.size(), kMostFlowJobs)});
    return {};
  }
  std::vector<NewFlowJob> jobs;
  jobs.reserve(value.size());
  std::size_t names_left = kMostFlowEdges + 1;
  for (auto it = value.begin(); it != value.end(); ++it) {
    jobs.push_back(
        readBoundedFlowJob(*it, fmt::format("{}/{}", pointer, jobs.size()), names_left, faults));
  }
  for (FieldError& fault : flowGraphFaults(jobs)) addFault(faults, std::move(fault));
  return jobs;
}

std::vector<FlowCallback> readFlowCallbacks(JsonValue value, const std::string& pointer,
                                            std::vector<FieldError>& faults) {
  if (!value.isArray()) {
    addFault(faults, {pointer, "type", "must be an array"});
    return {};
  }
  if (value.size() > kMostCallbacks) {
    addFault(faults, {pointer, "length", fmt::format("must have 0 to {} items", kMostCallbacks)});
    return {};
  }
  std::vector<FlowCallback> callbacks;
  for (auto it = value.begin(); it != value.end(); ++it) {
    callbacks.push_back(readCallback(*it, fmt::format("{}/{}", pointer, callbacks.size()), faults));
  }
  return callbacks;
}

CreateFlow readCreateFlow(JsonValue value, std::vector<FieldError>& faults) {
  ObjectReader in(value, "", faults);
  CreateFlow flow;
  if (!value.isObject()) return flow;
  flow.name = in.text("name", 1, 128).value_or("");
  flow.tenant = in.text("tenant", 1, 128).value_or("");
  constexpr std::int64_t kInt32 = std::numeric_limits<std::int32_t>::max();
  if (const auto priority = in.integer("priority", -kInt32 - 1, kInt32)) {
    flow.priority = static_cast<int>(*priority);
  }
  flow.open = in.boolean("open").value_or(false);
  flow.fail_fast = in.boolean("fail_fast").value_or(false);
  readJobsOfNewFlow(in, flow, faults);
  readDeadline(in, flow);
  if (const auto list = in.array("callbacks", 0, kAnyNumber)) {
    for (FlowCallback& callback : readFlowCallbacks(*list, in.pointer("callbacks"), faults)) {
      flow.callback_pools.push_back(std::move(callback.pool));
    }
    if (list->size() > 0) flow.callbacks = list->raw();
  }
  if (const auto metadata = in.object("metadata")) {
    if (metadata->raw().size() > kMaxFlowMetadataBytes) {
      in.fault("metadata", "length", "must not be larger than 16 KiB");
    } else if (metadata->size() > 0) {
      flow.metadata = metadata->raw();
    }
  }
  in.finish();
  return flow;
}

void writeFlow(JsonWriter& out, const Flow& flow) {
  out.beginObject();
  writeFlowFields(out, flow);
  out.endObject();
}

void writeFlowShown(JsonWriter& out, const FlowShown& shown) {
  out.beginObject();
  writeFlowFields(out, shown.flow);
  out.key("failed_jobs").beginArray();
  for (const FailedFlowJob& job : shown.failed_jobs) {
    out.beginObject().field("name", job.name).field("job_id", job.id);
    if (!job.reason.empty()) out.field("reason", job.reason);
    if (!job.error.empty()) out.field("error", job.error);
    out.endObject();
  }
  out.endArray().endObject();
}

void writeFlowJobsAdded(JsonWriter& out, const FlowJobsAdded& added) {
  out.beginObject().key("flow");
  writeFlow(out, added.flow);
  out.key("jobs").beginArray();
  for (const FlowJobAdded& job : added.jobs) {
    out.beginObject().field("name", job.name).field("job_id", job.id);
    out.field("status", name(job.status)).endObject();
  }
  out.endArray().endObject();
}

void writeFlowEdge(JsonWriter& out, const FlowEdge& edge) {
  out.beginObject().field("from", edge.from).field("to", edge.to);
  out.field("when", name(edge.when)).endObject();
}

void writeUpstreamItem(JsonWriter& out, const UpstreamItem& item) {
  out.beginObject().field("name", item.name).field("job_id", item.job);
  if (!item.parent.empty()) out.field("parent", item.parent);
  if (item.verdict) out.field("verdict", name(*item.verdict));
  out.field("status", name(item.status));
  if (item.result) out.key("result").raw(*item.result);
  if (!item.error.empty()) out.field("error", item.error);
  if (!item.artifacts.empty()) out.key("artifacts").raw(item.artifacts);
  out.endObject();
}

std::string writeFlowInputs(const std::vector<NewFlowJob::Input>& inputs) {
  if (inputs.empty()) return {};
  JsonWriter out;
  out.beginArray();
  for (const NewFlowJob::Input& input : inputs) {
    out.beginObject().field("from", input.from);
    if (!input.artifact.empty()) out.field("artifact", input.artifact);
    if (!input.as.empty()) out.field("as", input.as);
    if (input.optional) out.field("optional", true);
    out.endObject();
  }
  return out.endArray().take();
}

std::vector<NewFlowJob::Input> parseFlowInputs(std::string_view text) {
  NewFlowJob job;
  const std::string object = "{\"inputs\":" + std::string(text) + "}";
  if (const auto doc = JsonDoc::parse(object)) {
    std::vector<FieldError> none;
    ObjectReader in(doc->root(), "", none);
    readInputs(in, job, none);
  }
  return std::move(job.inputs);
}

std::string writeCallbackFlow(const JobFlow& flow) {
  JsonWriter out;
  writeFlowOfClaim(out, flow);
  return out.take();
}

JobFlow parseCallbackFlow(std::string_view text) {
  JobFlow flow;
  const auto doc = JsonDoc::parse(text);
  if (!doc) return flow;
  std::vector<FieldError> none;
  ObjectReader in(doc->root(), "", none);
  flow.id = FlowId(in.id("flow_id").value_or(""));
  flow.flow_name = in.text("name", 1, 128).value_or("");
  flow.round = static_cast<int>(
      in.integer("round", 1, std::numeric_limits<std::int32_t>::max()).value_or(1));
  flow.flow_status = in.text("status", 1, 64).value_or("");
  flow.callback = in.text("callback", 1, 64).value_or("");
  return flow;
}

std::string flowEventDetails(const Flow& flow) {
  JsonWriter out;
  out.beginObject().field("flow_id", flow.id);
  if (!flow.name.empty()) out.field("name", flow.name);
  out.field("round", flow.round);
  if (!flow.reason.empty()) out.field("reason", flow.reason);
  out.endObject();
  return out.take();
}

}  // namespace muster
