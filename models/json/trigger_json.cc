#include "models/json/trigger_json.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/base64.h"
#include "models/json/json_reader.h"
#include "models/policy/cron.h"

namespace muster {
namespace {

constexpr std::size_t kMaxSecrets = 10;
constexpr std::size_t kMaxTextBytes = 512;
constexpr std::string_view kSignedPrefix = "whsec_";

std::optional<std::string> readPointer(ObjectReader& in, std::string_view name) {
  auto pointer = in.text(name, 0, kMaxTextBytes);
  if (pointer && !pointer->empty() && pointer->front() != '/') {
    in.fault(name, "format", "must be a JSON pointer like /record, or \"\" for all");
    return std::nullopt;
  }
  return pointer;
}

bool isCallable(std::string_view url) {
  const std::size_t scheme = url.starts_with("https://") ? 8 : url.starts_with("http://") ? 7 : 0;
  const std::string_view host = url.substr(scheme).substr(0, url.substr(scheme).find('/'));
  const bool visible =
      std::all_of(url.begin(), url.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  return scheme > 0 && !host.empty() && host.find('@') == std::string_view::npos && visible;
}

TriggerInput readInput(JsonValue value, const std::string& pointer, TriggerType type,
                       std::vector<FieldError>& faults) {
  ObjectReader in(value, pointer, faults);
  TriggerInput input;
  input.pool = PoolId(in.id("pool_id").value_or(""));
  input.max_workers = in.integer("max_workers", 0, 1'000'000);
  if (const auto seconds = in.number("stale_threshold_seconds", 0.001, 365.0 * 24 * 3600)) {
    input.stale_threshold = Millis(static_cast<std::int64_t>(*seconds * 1000));
  }
  if (type == TriggerType::kWebhook) {
    input.pool_from = readPointer(in, "pool_from");
    input.job_from = readPointer(in, "job_from");
    input.events = in.texts("events", 100, 256).value_or(std::vector<std::string>{});
  }
  if (type == TriggerType::kLambda) {
    input.url = in.required("url", in.text("url", 1, 2048));
    if (!input.url.empty() && !isCallable(input.url)) {
      in.fault("url", "format", "must be an http or https URL without a user");
    }
    input.allow_private = in.boolean("allow_private").value_or(false);
  }
  in.unused({"pool_from", "job_from", "events", "url", "allow_private"});
  in.finish();
  return input;
}

void checkSecrets(ObjectReader& in, const TriggerAuth& auth) {
  using Type = TriggerAuth::Type;
  if (auth.type == Type::kNone) {
    if (!auth.secrets.empty()) in.fault("secrets", "contradiction", "mean nothing with type none");
    return;
  }
  if (auth.secrets.empty() && !in.has("secrets")) in.fault("secrets", "required", "is required");
  if (auth.secrets.empty() && in.has("secrets")) in.fault("secrets", "length", "needs one or more");
  for (const std::string& secret : auth.secrets) {
    std::string_view text = secret;
    const bool is_bytes = text.starts_with("base64:") || auth.type == Type::kStandard;
    if (text.starts_with("env:") || !is_bytes) continue;
    if (text.starts_with("base64:")) text.remove_prefix(7);
    if (text.starts_with(kSignedPrefix)) text.remove_prefix(kSignedPrefix.size());
    const auto bytes = decodeBase64(text);
    if (!bytes || bytes->empty()) {
      in.fault("secrets", "format",
               auth.type == Type::kStandard ? "must be whsec_ and base64" : "must be base64");
      return;
    }
  }
}

bool isHeaderName(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
}

TriggerAuth readAuth(JsonValue value, const std::string& pointer, std::vector<FieldError>& faults) {
  using Type = TriggerAuth::Type;
  ObjectReader in(value, pointer, faults);
  TriggerAuth auth;
  const auto type =
      in.required("type", in.oneOf("type", {"none", "standard", "hmac_sha256", "token"}));
  auth.type = parseAuthType(type).value_or(Type::kNone);
  auth.secrets =
      in.texts("secrets", kMaxSecrets, kMaxTextBytes).value_or(std::vector<std::string>{});
  if (auth.type == Type::kHmacSha256 || auth.type == Type::kToken) {
    const bool is_token = auth.type == Type::kToken;
    const auto header = in.text("header", 1, 128);
    if (header && !isHeaderName(*header)) in.fault("header", "format", "is no name of a header");
    auth.header = header.value_or(is_token ? "Authorization" : "X-Hub-Signature-256");
    const char* const usual = header ? "" : is_token ? "Bearer " : "sha256=";
    auth.prefix = in.text("prefix", 0, 64).value_or(usual);
  }
  if (auth.type == Type::kHmacSha256) {
    auth.base64 = in.oneOf("encoding", {"hex", "base64"}).value_or("hex") == "base64";
  }
  if (!type.empty()) checkSecrets(in, auth);
  in.unused({"header", "prefix", "encoding"});
  in.finish();
  return auth;
}

// What belongs to a type, and what does not.
void checkType(ObjectReader& in, const TriggerSpec& spec) {
  const std::string type = fmt::format("a {} trigger", name(spec.type));
  const bool by_time = spec.type == TriggerType::kCron || spec.type == TriggerType::kSubprocess ||
                       spec.type == TriggerType::kLambda;
  const bool by_event = spec.type == TriggerType::kInLoop ||
                        spec.type == TriggerType::kSubprocess || spec.type == TriggerType::kLambda;
  const bool has_time = in.has("schedule"), has_event = in.has("on");
  if (has_time && !by_time) in.fault("schedule", "contradiction", "means nothing to " + type);
  if (has_event && !by_event) in.fault("on", "contradiction", "means nothing to " + type);
  if (by_time && !by_event && !has_time) in.fault("schedule", "required", "is required");
  if (by_event && !has_event && !(by_time && has_time)) in.fault("on", "required", "is required");
  if (in.has("auth") && spec.type != TriggerType::kWebhook) {
    in.fault("auth", "contradiction", "means nothing to " + type);
  }
  if (in.has("timezone") && !has_time) {
    in.fault("timezone", "contradiction", "means nothing without a schedule");
  }
}

void readSchedule(ObjectReader& in, TriggerSpec& spec, const ZoneLookup& zones) {
  spec.schedule = in.text("schedule", 1, kMaxTextBytes).value_or("");
  spec.timezone = in.text("timezone", 1, 128).value_or("");
  if (spec.schedule.empty() || !zones) return;
  const auto schedule = CronSchedule::parse(spec.schedule, spec.timezone, zones);
  if (schedule) return;
  const bool in_zone = schedule.error().in_zone && !spec.timezone.empty();
  in.fault(in_zone ? "timezone" : "schedule", "format", schedule.error().what);
}

void writeAuth(JsonWriter& out, const TriggerAuth& auth, bool with_secrets) {
  using Type = TriggerAuth::Type;
  out.beginObject().field("type", name(auth.type));
  if (with_secrets && !auth.secrets.empty()) out.list("secrets", auth.secrets);
  if (!with_secrets && !auth.secrets.empty()) out.field("secret_count", auth.secrets.size());
  if (auth.type == Type::kHmacSha256 || auth.type == Type::kToken) {
    out.field("header", auth.header).field("prefix", auth.prefix);
  }
  if (auth.type == Type::kHmacSha256) out.field("encoding", auth.base64 ? "base64" : "hex");
  out.endObject();
}

void writeFields(JsonWriter& out, const TriggerSpec& spec, bool with_secrets) {
  const auto text = [&out](std::string_view field, const std::string& value) {
    if (!value.empty()) out.field(field, value);
  };
  out.field("name", spec.name).field("type", name(spec.type));
  text("schedule", spec.schedule);
  text("timezone", spec.timezone);
  text("on", spec.on);
  text("machine", spec.machine);
  out.key("input").raw(spec.input_json);
  if (spec.type == TriggerType::kWebhook) {
    out.key("auth");
    writeAuth(out, spec.auth, with_secrets);
  }
  out.field("enabled", spec.enabled);
}

}  // namespace

TriggerSpec readTrigger(JsonValue value, const std::string& pointer, const std::string& name,
                        const ZoneLookup& zones, std::vector<FieldError>& faults) {
  ObjectReader in(value, pointer, faults);
  TriggerSpec spec;
  const auto given = in.id("name");
  spec.name = given.value_or(name);
  if (name.empty() && !in.has("name")) in.fault("name", "required", "is required");
  if (given && !name.empty() && *given != name) {
    in.fault("name", "contradiction", "is another one than '" + name + "'");
  }
  const auto type =
      in.required("type", in.oneOf("type", {"cron", "webhook", "subprocess", "in_loop", "lambda"}));
  spec.type = parseTriggerType(type).value_or(TriggerType::kInLoop);
  readSchedule(in, spec, zones);
  spec.on = in.text("on", 1, 128).value_or("");
  if (!spec.on.empty() && !isKnownOn(spec.on)) {
    in.fault("on", "choice",
             "must be work_added, worker_exited or a type of event like job_poisoned");
  }
  spec.machine =
      in.oneOf("machine", {std::string(machine::kChecker), std::string(machine::kReaper)})
          .value_or("");
  if (!in.has("machine") && spec.type != TriggerType::kLambda && !type.empty()) {
    in.fault("machine", "required", "is required");
  }
  if (const auto input = in.object("input")) {
    spec.input_json = input->raw();
    spec.input = readInput(*input, in.pointer("input"), spec.type, faults);
  } else if (spec.type == TriggerType::kLambda && !in.has("input")) {
    in.fault("input", "required", "is required: it has the url");
  }
  if (const auto auth = in.object("auth")) {
    spec.auth = readAuth(*auth, in.pointer("auth"), faults);
  }
  spec.enabled = in.boolean("enabled").value_or(true);
  if (!type.empty()) checkType(in, spec);
  in.finish();
  return spec;
}

void writeTrigger(JsonWriter& out, const Trigger& trigger, std::optional<Time> next_fire_at) {
  out.beginObject();
  writeFields(out, trigger.spec, false);
  out.field("source", trigger.configured ? "configuration" : "api");
  out.field("last_fired_at", trigger.last_fired_at).field("next_fire_at", next_fire_at);
  out.field("version", trigger.version);
  out.field("created_at", trigger.created_at).field("updated_at", trigger.updated_at).endObject();
}

std::string packTrigger(const TriggerSpec& spec) {
  JsonWriter out;
  out.beginObject();
  writeFields(out, spec, true);
  out.endObject();
  return out.take();
}

TriggerSpec unpackTrigger(const std::string& name, std::string_view text) {
  TriggerSpec spec;
  if (const auto doc = JsonDoc::parse(text)) {
    std::vector<FieldError> ignored;  // written by us; a field of a newer version has its default
    spec = readTrigger(doc->root(), "", name, {}, ignored);
  }
  return spec;
}

}  // namespace muster
