#include "triggers/hook_payload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "models/json/json_doc.h"
#include "models/json/json_pointer.h"
#include "models/json/json_writer.h"
#include "models/store/random.h"

namespace muster {
namespace {

constexpr std::size_t kMaxDeliveryBytes = 200;
constexpr std::size_t kMaxBatch = 1000;

// The first of these that was sent tells one message from another.
constexpr std::array<const char*, 5> kDeliveryHeaders = {"webhook-id", "ce-id", "x-github-delivery",
                                                         "x-amz-sns-message-id", "idempotency-key"};

std::string delivery(std::string_view kind, std::string_view id) {
  if (id.empty()) return {};
  return fmt::format("{}:{}", kind,
                     id.size() <= kMaxDeliveryBytes ? std::string(id) : sha256Hex(id));
}

std::string deliveryOf(const HeaderLookup& header) {
  for (const std::string name : kDeliveryHeaders) {
    const std::string id = header(name);
    if (id.empty()) continue;
    // The id of a CloudEvent is unique only together with its source.
    return delivery(name, name == "ce-id" ? id + " " + header("ce-source") : id);
  }
  return {};
}

std::string textAt(JsonValue value, std::string_view pointer) {
  const auto found = valueAt(value, pointer);
  return found ? found->string().value_or("") : "";
}

std::string mediaType(const HeaderLookup& header) {
  std::string type = header("content-type");
  type.resize(std::min(type.find(';'), type.size()));
  while (!type.empty() && type.back() == ' ') type.pop_back();
  std::transform(type.begin(), type.end(), type.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return type;
}

int hexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The field `payload` of a form, in which GitHub wraps its JSON unless it is told otherwise.
std::optional<std::string> formPayload(std::string_view body) {
  constexpr std::string_view kName = "payload=";
  if (!body.starts_with(kName)) return std::nullopt;
  body = body.substr(kName.size(), body.find('&') - kName.size());
  std::string out;
  for (std::size_t i = 0; i < body.size(); ++i) {
    const int high = body[i] == '%' && i + 2 < body.size() ? hexDigit(body[i + 1]) : -1;
    const int low = high >= 0 ? hexDigit(body[i + 2]) : -1;
    if (low >= 0) {
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += body[i] == '+' ? ' ' : body[i];
    }
  }
  return out;
}

// One event as the sender wrote it down.
struct Written {
  JsonValue root;
  std::string type = {};      // what the sender calls this kind of event; empty: it does not say
  std::string delivery = {};  // from inside the message
  std::string ignored = {};   // why it does not count
  bool is_cloud_event = false;
  bool is_sns = false;
};

bool isCloudEvent(JsonValue value) {
  return !textAt(value, "/specversion").empty() && !textAt(value, "/type").empty();
}

void describeCloudEvent(Written& event) {
  event.is_cloud_event = true;
  event.type = textAt(event.root, "/type");
  const std::string id = textAt(event.root, "/id");
  if (!id.empty()) event.delivery = delivery("ce-id", id + " " + textAt(event.root, "/source"));
}

void describeSns(Written& event, const std::string& type) {
  event.is_sns = true;
  event.type = type;
  event.delivery = delivery("x-amz-sns-message-id", textAt(event.root, "/MessageId"));
  if (type != "Notification") event.ignored = type;
}

// Rows that are gone are no work.
void describeRow(Written& event, const std::string& operation) {
  event.type = operation;
  if (operation == "DELETE" || operation == "TRUNCATE") event.ignored = operation;
}

Written describe(JsonValue root, const HeaderLookup& header) {
  Written event{root};
  if (const std::string github = header("x-github-event"); !github.empty()) {
    event.type = github;
    if (github == "ping") event.ignored = "ping";
  } else if (const std::string binary = header("ce-type"); !binary.empty()) {
    event.type = binary;
  } else if (isCloudEvent(root)) {
    describeCloudEvent(event);
  } else if (const std::string sns = header("x-amz-sns-message-type"); !sns.empty()) {
    describeSns(event, sns);
  } else if (!textAt(root, "/TopicArn").empty() && !textAt(root, "/Type").empty()) {
    describeSns(event, textAt(root, "/Type"));
  } else if (const std::string op = textAt(root, "/event/op"); !op.empty()) {
    describeRow(event, op);
    event.delivery = delivery("hasura", textAt(root, "/id"));
  } else if (!textAt(root, "/table").empty() && !textAt(root, "/type").empty()) {
    describeRow(event, textAt(root, "/type"));
  }
  return event;
}

// The value behind a pointer as JSON text; nothing when it is missing or null. A message of SNS is
// looked into when it is JSON itself.
std::optional<std::string> take(const Written& event, const std::string& pointer) {
  constexpr std::string_view kMessage = "/Message";
  if (event.is_sns && (pointer == kMessage || pointer.starts_with("/Message/"))) {
    const std::string message = textAt(event.root, kMessage);
    if (const auto inner = JsonDoc::parse(message)) {
      const auto value = valueAt(inner->root(), std::string_view(pointer).substr(kMessage.size()));
      if (!value || value->isNull()) return std::nullopt;
      return std::string(value->raw());
    }
  }
  const auto value = valueAt(event.root, pointer);
  if (!value || value->isNull()) return std::nullopt;
  return std::string(value->raw());
}

Error invalidPool(const std::string& pointer) {
  const std::string what = "must be 1 to 128 of A-Z a-z 0-9 . _ ~ : -";
  return {ErrorCode::kInvalid, pointer + " " + what, {{pointer, "format", what}}};
}

// The text of a JSON string, of a number its digits.
std::string plain(const std::string& json) {
  const auto doc = JsonDoc::parse(json);
  return doc ? doc->root().string().value_or(json) : json;
}

Result<PoolId> poolOf(const TriggerInput& input, const HookMessage& message, const Written& event) {
  if (!input.pool.empty()) return input.pool;
  if (!message.pool.empty() && !message.is_signed) return message.pool;
  std::vector<std::string> places = {"/pool_id"};
  if (event.is_cloud_event) places.emplace_back("/data/pool_id");
  if (input.pool_from) places.push_back(*input.pool_from);
  for (const std::string& pointer : places) {
    const auto json = take(event, pointer);
    if (!json) continue;
    const std::string id = plain(*json);
    if (!isValidId(id)) return tl::unexpected(invalidPool(pointer));
    return PoolId(id);
  }
  return message.pool;
}

// Adds the event to the reading, or the reason why it does not count.
Status add(const TriggerInput& input, const HookMessage& message, const Written& event,
           std::string id, HookReading& reading) {
  const auto& wanted = input.events;
  if (!event.ignored.empty()) {
    reading.ignored = event.ignored;
    return {};
  }
  if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), event.type) == wanted.end()) {
    reading.ignored = event.type.empty() ? "no type of event" : event.type;
    return {};
  }
  auto pool = poolOf(input, message, event);
  if (!pool) return tl::unexpected(std::move(pool).error());
  HookEvent made{std::move(id), *std::move(pool), std::nullopt};
  if (input.job_from) {
    auto data = take(event, *input.job_from);
    if (!data) {
      reading.ignored = "nothing at " + *input.job_from;
      return {};
    }
    if (made.pool.empty()) {
      return tl::unexpected(Error{ErrorCode::kInvalid,
                                  "the message names no pool for its job",
                                  {{"/pool_id", "required", "is required"}}});
    }
    made.job = NewJob{.data = *std::move(data)};
  }
  reading.events.push_back(std::move(made));
  return {};
}

Result<HookReading> readBatch(const TriggerInput& input, const HookMessage& message,
                              JsonValue batch) {
  HookReading reading;
  if (batch.size() > kMaxBatch) {
    return fail(ErrorCode::kInvalid, fmt::format("a batch has at most {} events", kMaxBatch));
  }
  const std::string whole = deliveryOf(message.header);
  std::size_t index = 0;
  for (auto it = batch.begin(); it != batch.end(); ++it, ++index) {
    Written event{*it};
    describeCloudEvent(event);
    std::string id = event.delivery;
    if (id.empty() && !whole.empty()) id = fmt::format("{}#{}", whole, index);
    if (auto ok = add(input, message, event, std::move(id), reading); !ok) {
      return tl::unexpected(std::move(ok).error());
    }
  }
  if (batch.size() == 0) reading.ignored = "an empty batch";
  return reading;
}

}  // namespace

Result<HookReading> readHook(const TriggerInput& input, const HookMessage& message) {
  std::string_view body = message.body;
  const auto unwrapped = formPayload(body);
  if (unwrapped) body = *unwrapped;
  if (body.find_first_not_of(" \t\r\n") == std::string_view::npos) body = "{}";
  auto doc = JsonDoc::parse(body);
  if (!doc) {
    if (input.job_from || input.pool_from) return tl::unexpected(std::move(doc).error());
    doc = JsonDoc::parse("{}");  // whatever it is, somebody has called
  }
  if (doc->root().isArray() && mediaType(message.header) == "application/cloudevents-batch+json") {
    return readBatch(input, message, doc->root());
  }
  const Written event = describe(doc->root(), message.header);
  std::string id = deliveryOf(message.header);
  if (id.empty()) id = event.delivery;
  HookReading reading;
  if (auto ok = add(input, message, event, std::move(id), reading); !ok) {
    return tl::unexpected(std::move(ok).error());
  }
  if (event.is_sns && event.type == "SubscriptionConfirmation") {
    reading.confirm_url = textAt(event.root, "/SubscribeURL");
  }
  return reading;
}

}  // namespace muster
