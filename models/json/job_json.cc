#include "models/json/job_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/json/artifact_json.h"
#include "models/json/json_reader.h"
#include "models/json/resource_json.h"
#include "models/policy/circuit.h"

namespace muster {
namespace {

constexpr std::size_t kMaxErrorBytes = 65'536;
constexpr std::size_t kMaxNames = 1000;
constexpr std::size_t kMaxNameBytes = 256;
constexpr double kYearSeconds = 365.0 * 24 * 3600;
constexpr std::size_t kMostResourceRefs = 100;

Millis toDuration(double seconds) { return Millis(std::llround(seconds * 1000.0)); }

// What a capability is called in the list form; nothing if its value is neither a text nor true.
std::optional<std::string> capabilityName(const JsonValue::Iterator& entry) {
  const auto name = entry.name();
  if (!name || name->empty()) return std::nullopt;
  if (const auto text = (*entry).string()) return *name + "=" + *text;
  return (*entry).boolean() == true ? name : std::nullopt;
}

// A list of names, or the map form: {"gpu": "nvidia"} is `gpu=nvidia`, {"gpu": true} is `gpu`. Both
// have the same limits, so that what one of them took can be read back as the other.
std::vector<std::string> readCapabilities(ObjectReader& in, std::string_view name,
                                          std::vector<FieldError>& faults, JsonValue parent) {
  for (auto it = parent.begin(); it != parent.end(); ++it) {
    if (it.key() != name || !(*it).isObject()) continue;
    std::vector<std::string> capabilities;
    const auto map = in.object(name);
    if (map->size() > kMaxNames) {
      in.fault(name, "length", fmt::format("must have 0 to {} names", kMaxNames));
      return capabilities;
    }
    ObjectReader entries(*map, in.pointer(name), faults);
    for (auto entry = map->begin(); entry != map->end(); ++entry) {
      auto capability = capabilityName(entry);
      if (!capability) {
        entries.fault(entry.key(), "type", "must be a name with a string or true");
      } else if (capability->size() > kMaxNameBytes) {
        entries.fault(entry.key(), "length",
                      fmt::format("must have at most {} bytes as name=value", kMaxNameBytes));
      } else {
        capabilities.push_back(*std::move(capability));
      }
    }
    return capabilities;
  }
  return in.texts(name, kMaxNames, kMaxNameBytes).value_or(std::vector<std::string>{});
}

Placement readPlacement(JsonValue value, const std::string& pointer,
                        std::vector<FieldError>& faults) {
  ObjectReader in(value, pointer, faults);
  Placement placement;
  placement.executors =
      in.texts("requires_executors", kMaxNames, kMaxNameBytes).value_or(std::vector<std::string>{});
  placement.capabilities = readCapabilities(in, "requires_capabilities", faults, value);
  placement.allowed_nodes = in.texts("allowed_nodes", kMaxNames, kMaxNameBytes);
  placement.forbidden_nodes =
      in.texts("forbidden_nodes", kMaxNames, kMaxNameBytes).value_or(std::vector<std::string>{});
  if (const auto limit = in.integer("max_parallel_per_node", 1, 1'000'000)) {
    placement.max_parallel_per_node = static_cast<int>(*limit);
  }
  placement.region = in.text("region", 1, 128).value_or("");
  in.finish();
  // Order and repetition mean nothing here: one spelling, one lane.
  for (auto* list : {&placement.executors, &placement.capabilities, &placement.forbidden_nodes,
                     placement.allowed_nodes ? &*placement.allowed_nodes : nullptr}) {
    if (list == nullptr) continue;
    std::sort(list->begin(), list->end());
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
  return placement;
}

// Writes it anew as well, in snake_case.
ResourceRef readResourceRef(ObjectReader& in, JsonWriter& out) {
  constexpr std::string_view kForm =
      "must be of letters, digits and ._~:/-, without an empty, . or .. between slashes";
  const auto slashed = [&](std::string_view field) {
    auto text = in.text(field, 1, 256);
    if (text && !isSlashedName(*text)) in.fault(field, "format", std::string(kForm));
    return text.value_or("");
  };
  ResourceRef ref;
  out.beginObject();
  const auto add = [&out](std::string_view name, const std::string& text) {
    if (!text.empty()) out.field(name, text);
  };
  const auto id_field = spelling(in, "resource_id", "resourceId");
  ref.resource = slashed(id_field);
  if (!in.has(id_field)) in.fault("resource_id", "required", "is required");
  add("resource_id", ref.resource);
  if (const auto uid = slashed("uid"); !uid.empty()) {
    if (!uid.starts_with(kUidPrefix)) in.fault("uid", "format", "must begin with u~");
    add("uid", uid);
    ref.resource = uid;  // of several that had the id, this one
  }
  ref.as = slashed("as");
  add("as", ref.as);
  ref.worker = in.id(spelling(in, "worker_id", "workerId")).value_or("");
  add("worker_id", ref.worker);
  add("worker_name", in.text(spelling(in, "worker_name", "workerName"), 1, 256).value_or(""));
  add("type", in.text("type", 1, 128).value_or(""));
  const auto size = in.integer(spelling(in, "size_bytes", "sizeBytes"), 0,
                               std::numeric_limits<std::int64_t>::max());
  if (size) out.field("size_bytes", *size);
  const auto expires = in.time(spelling(in, "expires_at", "expiresAt"));
  if (expires) out.field("expires_at", formatTime(*expires));
  out.endObject();
  return ref;
}

void readResourceRefs(ObjectReader& in, NewJob& job, std::vector<FieldError>& faults) {
  const auto refs = in.array("resource_refs", 0, kMostResourceRefs);
  if (!refs || refs->size() == 0) return;
  JsonWriter out;
  out.beginArray();
  for (auto it = refs->begin(); it != refs->end(); ++it) {
    ObjectReader ref(*it, fmt::format("{}/{}", in.pointer("resource_refs"), job.refs.size()),
                     faults);
    job.refs.push_back(readResourceRef(ref, out));
    ref.finish();
  }
  job.resource_refs = out.endArray().take();
}

bool mentionsRefs(std::string_view data) {
  return data.find("resourceRef\"") != std::string_view::npos ||
         data.find("resource_ref\"") != std::string_view::npos;
}

// What stands under the keys of refs, at any depth.
void findRefs(JsonValue value, std::vector<JsonValue>& found) {
  if (!value.isObject() && !value.isArray()) return;
  for (auto it = value.begin(); it != value.end(); ++it) {
    const JsonValue inner = *it;
    if (value.isObject() && inner.isObject()) {
      const std::string key = it.key();
      if (key == "resourceRef" || key == "resource_ref") {
        found.push_back(inner);
        continue;
      }
    }
    findRefs(inner, found);
  }
}

// As far as it is given; the same bounds as those of a pool.
void readRetry(JsonValue value, const std::string& pointer, std::vector<FieldError>& faults,
               RetryPolicy& policy) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  ObjectReader in(value, pointer, faults);
  if (const auto base = in.integer("base_ms", 0, kMost)) policy.base = Millis(*base);
  if (const auto jitter = in.number("jitter", 0, 1)) policy.jitter = *jitter;
  if (const auto cap = in.integer("cap_ms", 0, kMost)) policy.cap = Millis(*cap);
  in.finish();
}

Reporter readReporter(ObjectReader& in) {
  return {in.text("lease_token", 1, 128).value_or(""), in.id("worker_id").value_or("")};
}

FailureReport readFailure(ObjectReader& in) {
  FailureReport report;
  report.error = in.text("error", 0, kMaxErrorBytes).value_or("");
  report.error_class = in.text("error_class", 1, kMaxErrorClass).value_or("");
  report.retryable = in.boolean("retryable").value_or(true);
  report.no_penalty = in.boolean("no_penalty").value_or(false);
  if (const auto wait = in.number("retry_after_seconds", 0, kYearSeconds)) {
    report.retry_after = toDuration(*wait);
  }
  constexpr std::int64_t kInt = std::numeric_limits<std::int32_t>::max();
  if (const auto code = in.integer("exit_code", -kInt - 1, kInt)) {
    report.exit_code = static_cast<int>(*code);
  }
  if (const auto signal = in.integer("exit_signal", 0, 128)) {
    report.exit_signal = static_cast<int>(*signal);
  }
  report.max_rss_bytes = in.integer("max_rss_bytes", 0, std::numeric_limits<std::int64_t>::max());
  report.output_tail = in.text("output_tail", 0, kMaxErrorBytes).value_or("");
  return report;
}

void writePlaceInFlow(JsonWriter& out, const JobFlow& flow, JobStatus status) {
  if (!flow.callback.empty()) return;  // a callback is outside of its flow
  out.field("flow_id", flow.id).field("name", flow.name);
  if (!flow.parent.empty()) out.field("parent_id", flow.parent);
  if (flow.may_fail) out.field("may_fail", true);
  if (status == JobStatus::kBlocked) out.field("blocked_by", flow.blocked_by);
}

void writePin(JsonWriter& out, const JobPin& pin) {
  if (pin.affinity_mode) out.field("affinity_mode", name(*pin.affinity_mode));
  if (pin.wait) out.field("pin_wait_seconds", std::chrono::duration<double>(*pin.wait).count());
  if (pin.holder.empty()) return;
  out.field("pinned_to", pin.holder).field("pin_mode", name(pin.mode));
  if (pin.mode == PinMode::kPreferred) out.field("unpin_at", pin.unpin_at);
}

void writeJobFields(JsonWriter& out, const Job& job) {
  out.field("id", job.id).field("pool_id", job.pool);
  out.key("data").raw(job.data);
  out.field("status", name(job.status)).field("priority", job.priority);
  out.field("attempts", job.attempts).field("max_retries", job.max_retries);
  out.field("crashes", job.crashes);
  if (!job.tenant.empty()) out.field("tenant", job.tenant);
  if (!job.unique_key.empty()) out.field("unique_key", job.unique_key);
  out.field("available_at", job.available_at).field("expires_at", job.expires_at);
  out.field("created_at", job.created_at).field("claimed_at", job.claimed_at);
  out.field("finished_at", job.finished_at);
  if (!job.claimed_by.empty()) out.field("claimed_by", job.claimed_by);
  out.field("lease_expires_at", job.lease_expires_at);
  out.field("cancel_requested", job.cancel_requested);
  if (job.result) out.key("result").raw(*job.result);
  if (!job.artifacts.empty()) out.key("artifacts").raw(job.artifacts);
  if (!job.error.empty()) out.field("error", job.error);
  if (!job.reason.empty()) out.field("reason", job.reason);
  out.field("progress", job.progress);
  if (!job.progress_message.empty()) out.field("progress_message", job.progress_message);
  if (!job.placement.empty()) out.key("placement").raw(job.placement);
  if (!job.affinity.empty()) out.field("affinity", job.affinity);
  if (job.pin) writePin(out, *job.pin);
  if (!job.resource_refs.empty()) out.key("resource_refs").raw(job.resource_refs);
  if (!job.traceparent.empty()) out.field("traceparent", job.traceparent);
  if (!job.retry.empty()) out.key("retry").raw(job.retry);
  out.field("effect_key", job.effect_key).field("version", job.version);
  if (job.flow) writePlaceInFlow(out, *job.flow, job.status);
}

void readHanded(ObjectReader& in, OutcomeReport& report, std::vector<FieldError>& faults) {
  report.result = in.raw("result");
  HandedArtifacts handed = readArtifacts(in, faults);
  report.artifacts = std::move(handed.json);
  report.inlined = std::move(handed.inlined);
}

}  // namespace

std::string writePlacement(const Placement& placement) {
  if (placement.empty()) return {};
  JsonWriter out;
  out.beginObject();
  if (!placement.executors.empty()) out.list("requires_executors", placement.executors);
  if (!placement.capabilities.empty()) out.list("requires_capabilities", placement.capabilities);
  if (placement.allowed_nodes) out.list("allowed_nodes", *placement.allowed_nodes);
  if (!placement.forbidden_nodes.empty()) out.list("forbidden_nodes", placement.forbidden_nodes);
  out.field("max_parallel_per_node", placement.max_parallel_per_node);
  if (!placement.region.empty()) out.field("region", placement.region);
  out.endObject();
  return out.take();
}

Placement parsePlacement(std::string_view text) {
  if (text.empty()) return {};
  std::vector<FieldError> faults;
  if (const auto doc = JsonDoc::parse(text)) {
    Placement placement = readPlacement(doc->root(), "", faults);
    if (faults.empty()) return placement;
  }
  return nowhere();
}

RetryPolicy overridden(RetryPolicy policy, std::string_view retry) {
  if (retry.empty()) return policy;
  std::vector<FieldError> none;
  if (const auto doc = JsonDoc::parse(retry)) readRetry(doc->root(), "", none, policy);
  return policy;
}

NewJob readNewJob(JsonValue value, const std::string& pointer, std::vector<FieldError>& faults) {
  ObjectReader in(value, pointer, faults);
  NewJob job = readNewJobFields(in, value, faults);
  in.finish();
  return job;
}

NewJob readNewJobFields(ObjectReader& in, JsonValue value, std::vector<FieldError>& faults) {
  NewJob job;
  if (auto data = in.raw("data")) {
    job.data = *std::move(data);
  } else if (value.isObject()) {
    in.fault("data", "required", "is required; null is a value");
  }
  if (const auto retries = in.integer("max_retries", 0, 1000)) {
    job.max_retries = static_cast<int>(*retries);
  }
  if (const auto retry = in.object("retry")) {
    RetryPolicy policy;
    readRetry(*retry, in.pointer("retry"), faults, policy);
    if (retry->size() > 0) job.retry = retry->raw();
  }
  constexpr std::int64_t kInt32 = std::numeric_limits<std::int32_t>::max();
  job.priority = static_cast<int>(in.integer("priority", -kInt32 - 1, kInt32).value_or(0));
  const auto delay = in.number("delay_seconds", 0, kYearSeconds);
  if (delay) job.delay = toDuration(*delay);
  job.available_at = in.time("available_at");
  if (delay && job.available_at) {
    in.fault("available_at", "contradiction", "must not be given together with delay_seconds");
  }
  job.expires_at = in.time("expires_at");
  job.tenant = in.text("tenant", 1, 128).value_or("");
  job.unique_key = in.text("unique_key", 1, 256).value_or("");
  if (const auto placement = in.object("placement")) {
    job.placement = readPlacement(*placement, in.pointer("placement"), faults);
  }
  job.affinity = in.text("affinity", 1, 256).value_or("");
  if (const auto mode = in.oneOf("affinity_mode", {"preferred", "required", "sticky"})) {
    job.affinity_mode = parsePinMode(*mode).value_or(PinMode::kPreferred);
  }
  if (const auto wait = in.number("pin_wait_seconds", 0, kYearSeconds)) {
    job.pin_wait = toDuration(*wait);
  }
  readResourceRefs(in, job, faults);
  return job;
}

bool mayHaveRefs(const NewJob& job) { return !job.refs.empty() || mentionsRefs(job.data); }

Status addPayloadRefs(NewJob& job, const std::string& pointer) {
  if (!mentionsRefs(job.data)) return {};
  const auto data = JsonDoc::parse(job.data);
  if (!data) return {};  // it was read when the job came
  std::vector<JsonValue> found;
  findRefs(data->root(), found);
  std::string texts;
  for (const JsonValue& value : found) {
    std::vector<FieldError> faults;
    JsonWriter out;
    ObjectReader in(value, "", faults);
    ResourceRef ref = readResourceRef(in, out);
    // What is none in our sense is the payload's own business.
    if (!faults.empty() || std::find(job.refs.begin(), job.refs.end(), ref) != job.refs.end()) {
      continue;
    }
    job.refs.push_back(std::move(ref));
    texts += (texts.empty() ? "" : ",") + out.take();
  }
  if (texts.empty()) return {};
  if (job.refs.size() > kMostResourceRefs) {
    return tl::unexpected(Error{ErrorCode::kInvalid,
                                "the job refers to too much",
                                {{pointer + "/data", "length",
                                  fmt::format("has refs to {} resources; a job may have {}",
                                              job.refs.size(), kMostResourceRefs)}}});
  }
  if (job.resource_refs.empty()) {
    job.resource_refs = "[" + texts + "]";
  } else {
    job.resource_refs.insert(job.resource_refs.size() - 1, "," + texts);
  }
  return {};
}

OutcomeReport readComplete(JsonValue value, std::vector<FieldError>& faults) {
  ObjectReader in(value, "", faults);
  OutcomeReport report;
  report.reporter = readReporter(in);
  readHanded(in, report, faults);
  in.finish();
  return report;
}

OutcomeReport readFail(JsonValue value, std::vector<FieldError>& faults) {
  ObjectReader in(value, "", faults);
  OutcomeReport report;
  report.kind = OutcomeReport::Kind::kFailed;
  report.reporter = readReporter(in);
  report.failure = readFailure(in);
  report.failure.cancelled = in.boolean("cancelled").value_or(false);
  in.finish();
  return report;
}

OutcomeReport readBulkItem(JsonValue value, const std::string& pointer,
                           std::vector<FieldError>& faults) {
  ObjectReader in(value, pointer, faults);
  OutcomeReport report;
  report.job = JobId(in.required("job_id", in.id("job_id")));
  report.reporter = readReporter(in);
  const auto outcome =
      in.required("outcome", in.oneOf("outcome", {"done", "failed", "released", "cancelled"}));
  using Kind = OutcomeReport::Kind;
  report.kind = outcome == "failed"      ? Kind::kFailed
                : outcome == "released"  ? Kind::kReleased
                : outcome == "cancelled" ? Kind::kCancelled
                                         : Kind::kDone;
  report.failure = readFailure(in);
  readHanded(in, report, faults);
  if (report.kind == Kind::kCancelled) report.failure.cancelled = true;
  in.finish();
  return report;
}

ClaimRequest readClaim(JsonValue value, const std::string& pointer,
                       std::vector<FieldError>& faults) {
  ObjectReader in(value, pointer, faults);
  ClaimRequest request;
  request.worker = WorkerId(in.required("worker_id", in.id("worker_id")));
  request.max = static_cast<int>(in.integer("max", 1, 1000).value_or(1));
  request.wait = toDuration(in.number("wait_seconds", 0, 30).value_or(0));
  request.job = JobId(in.id("job_id").value_or(""));
  in.finish();
  return request;
}

void writeJob(JsonWriter& out, const Job& job) {
  out.beginObject();
  writeJobFields(out, job);
  out.endObject();
}

void writeClaimedJob(JsonWriter& out, const Job& job) {
  out.beginObject();
  writeJobFields(out, job);
  out.field("lease_token", job.lease_token).field("attempt", job.attempts);
  if (job.flow) {
    out.key("flow");
    writeFlowOfClaim(out, *job.flow);
    if (!job.flow->upstream.empty()) out.key("upstream").raw(job.flow->upstream);
  }
  if (!job.inputs.empty()) {
    out.key("inputs").beginArray();
    for (const JobInput& input : job.inputs) writeJobInput(out, input);
    out.endArray();
  }
  out.endObject();
}

void writeFlowOfClaim(JsonWriter& out, const JobFlow& flow) {
  out.beginObject().field("flow_id", flow.id);
  if (!flow.flow_name.empty()) out.field("name", flow.flow_name);
  out.field("round", flow.round);
  if (!flow.callback.empty()) {
    out.field("status", flow.flow_status).field("callback", flow.callback);
  }
  out.endObject();
}

void writeAttempt(JsonWriter& out, const Attempt& attempt) {
  out.beginObject().field("attempt", attempt.attempt).field("worker_id", attempt.worker);
  out.field("claimed_at", attempt.claimed_at).field("ended_at", attempt.ended_at);
  out.field("outcome", attempt.outcome);
  if (!attempt.error.empty()) out.field("error", attempt.error);
  if (!attempt.error_class.empty()) out.field("error_class", attempt.error_class);
  out.field("exit_code", attempt.exit_code).field("exit_signal", attempt.exit_signal);
  out.field("max_rss_bytes", attempt.max_rss_bytes);
  if (!attempt.output_tail.empty()) out.field("output_tail", attempt.output_tail);
  out.endObject();
}

}  // namespace muster
