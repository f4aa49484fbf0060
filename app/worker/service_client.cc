#include "app/worker/service_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "models/json/json_writer.h"
#include "models/worker.h"

namespace muster {
namespace {

constexpr Millis kEndTimeout = Seconds(3);
constexpr Millis kDefaultLease = Seconds(60);
constexpr int kUpstreamPage = 100;

Millis secondsOf(JsonValue value, std::string_view name, Millis otherwise) {
  const auto found = member(value, name);
  const auto seconds = found ? found->number() : std::nullopt;
  if (!seconds || *seconds <= 0) return otherwise;
  constexpr double kYear = 365.0 * 24 * 3600;
  return Millis(static_cast<std::int64_t>(std::min(*seconds, kYear) * 1000));
}

// An older service names none.
std::size_t inlineLimitOf(JsonValue registration) {
  const auto found = member(registration, "inline_limit_bytes");
  const auto bytes = found ? found->integer() : std::nullopt;
  return bytes && *bytes >= 0 ? static_cast<std::size_t>(*bytes)
                              : std::numeric_limits<std::size_t>::max();
}

Millis leaseOf(JsonValue job) {
  const auto from = timeOf(job, "claimed_at"), until = timeOf(job, "lease_expires_at");
  return from && until && *until > *from ? *until - *from : kDefaultLease;
}

std::vector<std::string> rawItems(JsonValue value) {
  std::vector<std::string> items;
  for (const auto& item : itemsOf(value, "items")) items.emplace_back(item.raw());
  return items;
}

std::optional<std::uint64_t> bytesOf(JsonValue value, std::string_view name) {
  const auto found = member(value, name);
  const auto bytes = found ? found->integer() : std::nullopt;
  if (!bytes || *bytes < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*bytes);
}

std::vector<ClaimedInput> readInputs(JsonValue job) {
  std::vector<ClaimedInput> inputs;
  for (const auto& item : itemsOf(job, "inputs")) {
    const auto metadata = member(item, "metadata");
    inputs.push_back({.resource_id = textOf(item, "resource_id"),
                      .uid = textOf(item, "uid"),
                      .type = textOf(item, "type"),
                      .holder = textOf(item, "holder"),
                      .as = textOf(item, "as"),
                      .size_bytes = bytesOf(item, "size_bytes"),
                      .sha256 = textOf(item, "sha256"),
                      .content_path = textOf(item, "content_path"),
                      .path = textOf(item, "path"),
                      .uri = textOf(item, "uri"),
                      .expires_at = textOf(item, "expires_at"),
                      .metadata = metadata ? std::string(metadata->raw()) : ""});
  }
  return inputs;
}

ClaimedJob readJob(JsonValue job) {
  const auto data = member(job, "data"), flow = member(job, "flow"),
             upstream = member(job, "upstream");
  return {.id = textOf(job, "id"),
          .data = data ? std::string(data->raw()) : "null",
          .attempt = textOf(job, "attempt"),
          .lease_token = textOf(job, "lease_token"),
          .effect_key = textOf(job, "effect_key"),
          .traceparent = textOf(job, "traceparent"),
          .lease = leaseOf(job),
          .flow_id = flow ? textOf(*flow, "flow_id") : "",
          .name = textOf(job, "name"),
          .upstream = upstream
                          ? Upstream{rawItems(*upstream), textOf(*upstream, "truncated") == "true"}
                          : Upstream{},
          .inputs = readInputs(job)};
}

tl::expected<void, Refusal> done(const tl::expected<JsonAnswer, Refusal>& answer) {
  if (!answer) return tl::unexpected(answer.error());
  return {};
}

}  // namespace

ServiceClient::Answer<HttpAnswer> ServiceClient::exchange(const HttpRequest& request) {
  auto answer = api_.send(request);
  if (!answer) return tl::unexpected(Refusal{0, "unreachable", answer.error().what});
  if (!answer->ok()) return tl::unexpected(refusalOf(*answer));
  return *std::move(answer);
}

ServiceClient::Answer<JsonAnswer> ServiceClient::call(const HttpRequest& request) {
  auto answer = exchange(request);
  if (!answer) return tl::unexpected(std::move(answer).error());
  auto json = JsonAnswer::parse(std::move(answer->body));
  if (!json) {
    return tl::unexpected(
        Refusal{answer->status, "not_json", "the answer is not JSON; is this a Muster service?"});
  }
  return *std::move(json);
}

ServiceClient::Answer<Registration> ServiceClient::registerWorker(const WorkerIdentity& identity,
                                                                  const std::string& key) {
  JsonWriter body;
  body.beginObject().field("pool_id", identity.pool);
  if (!identity.worker_id.empty()) body.field("worker_id", identity.worker_id);
  if (!identity.host.empty()) body.field("host", identity.host);
  body.field("pid", identity.pid).field("mode", identity.loop ? "loop" : "once");
  if (!identity.launch_token.empty()) body.field("launch_token", identity.launch_token);
  body.list("capabilities", identity.capabilities).endObject();
  HttpRequest request{
      .method = "POST", .path = "/v1/workers", .body = body.take(), .timeout = Seconds(10)};
  if (!key.empty()) request.headers = {{"Idempotency-Key", key}};
  const auto answer = call(request);
  if (!answer) return tl::unexpected(answer.error());
  const JsonValue root = answer->root();
  const auto limits = member(root, "resource_limits");
  return Registration{
      .worker_id = textOf(root, "worker_id"),
      .worker_token = textOf(root, "worker_token"),
      .heartbeat_interval = secondsOf(root, "heartbeat_interval_seconds", kDefaultLease / 2),
      .lease = secondsOf(root, "lease_seconds", kDefaultLease),
      .most_result_bytes = inlineLimitOf(root),
      .most_disk_bytes = limits ? bytesOf(*limits, "disk_bytes") : std::nullopt,
      .data_dir = textOf(root, "data_dir"),
      .folder_id = textOf(root, "folder_id")};
}

ServiceClient::Answer<ClaimAnswer> ServiceClient::claim(const std::string& pool,
                                                        const std::string& worker, Millis wait,
                                                        const GivenUp& given_up) {
  JsonWriter body;
  body.beginObject().field("worker_id", worker);
  if (wait > Millis(0)) {
    body.field("wait_seconds", static_cast<double>(wait.count()) / 1000);
  }
  const auto answer = call({.method = "POST",
                            .path = apiPath({"v1", "pools", pool, "claim"}),
                            .body = body.endObject().take(),
                            .timeout = wait + Seconds(10),
                            .given_up = given_up});
  if (!answer) return tl::unexpected(answer.error());
  ClaimAnswer claimed;
  claimed.terminating = textOf(answer->root(), "worker_status") == worker_status::kTerminating;
  for (const auto& item : itemsOf(answer->root(), "items")) claimed.job = readJob(item);
  return claimed;
}

ServiceClient::Answer<HeartbeatAnswer> ServiceClient::heartbeat(const std::string& worker,
                                                                Millis timeout,
                                                                const GivenUp& given_up) {
  const auto answer = call({.method = "POST",
                            .path = apiPath({"v1", "workers", worker, "heartbeat"}),
                            .body = "{}",
                            .timeout = timeout,
                            .given_up = given_up});
  if (!answer) return tl::unexpected(answer.error());
  HeartbeatAnswer beat;
  beat.drain = textOf(answer->root(), "status") == worker_status::kTerminating;
  for (const auto& command : itemsOf(answer->root(), "commands")) {
    const std::string type = textOf(command, "type");
    if (type == "drain") beat.drain = true;
    if (type == "cancel") beat.cancelled.push_back(textOf(command, "job_id"));
  }
  for (const auto& lease : itemsOf(answer->root(), "leases")) {
    beat.held.push_back(textOf(lease, "job_id"));
  }
  return beat;
}

ServiceClient::Answer<UpstreamPage> ServiceClient::upstream(const std::string& job,
                                                            const std::string& cursor,
                                                            const GivenUp& given_up) {
  const auto answer =
      call({.path = apiPath({"v1", "jobs", job, "upstream"}) +
                    apiQuery({{"limit", std::to_string(kUpstreamPage)}, {"cursor", cursor}}),
            .given_up = given_up});
  if (!answer) return tl::unexpected(answer.error());
  return UpstreamPage{rawItems(answer->root()), textOf(answer->root(), "next_cursor")};
}

ServiceClient::Answer<void> ServiceClient::report(const std::string& job, const JobReport& report) {
  return done(call({.method = "POST",
                    .path = apiPath({"v1", "jobs", job, report.verb}),
                    .body = report.body,
                    .timeout = Seconds(30)}));
}

ServiceClient::Answer<void> ServiceClient::releaseAs(const std::string& worker,
                                                     const std::string& job) {
  JsonWriter body;
  body.beginObject().field("worker_id", worker).endObject();
  return done(call({.method = "POST",
                    .path = apiPath({"v1", "jobs", job, "release"}),
                    .body = body.take(),
                    .timeout = Seconds(10)}));
}

ServiceClient::Answer<void> ServiceClient::end(const std::string& worker) {
  JsonWriter body;
  body.beginObject().field("status", worker_status::kTerminated).endObject();
  return done(call({.method = "PATCH",
                    .path = apiPath({"v1", "workers", worker}),
                    .body = body.take(),
                    .timeout = kEndTimeout}));
}

}  // namespace muster
