#include "app/worker/job_report.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "models/json/json_writer.h"
#include "models/json/utf8.h"

namespace muster {
namespace {

constexpr int kTryLaterSeconds = 10;
// What shells say of a program that is not there, or that cannot be run.
constexpr int kExitNotFound = 127;
constexpr int kExitNotRunnable = 126;

JsonWriter beginReport(const std::string& lease_token) {
  JsonWriter json;
  json.beginObject().field("lease_token", lease_token);
  return json;
}

JobReport finish(const char* verb, JsonWriter& json) { return {verb, json.endObject().take()}; }

std::string errorOf(const JobEnd& end, const std::string& program) {
  if (end.kind == JobEnd::Kind::kNotStarted) {
    return fmt::format("cannot start '{}': {}", validUtf8(program), std::strerror(end.code));
  }
  if (end.kind == JobEnd::Kind::kNotReady || end.kind == JobEnd::Kind::kMissing) {
    return end.errors.lastLines();
  }
  if (end.kind == JobEnd::Kind::kNotTaken) return validUtf8(end.fault);
  const bool signalled = end.kind == JobEnd::Kind::kSignalled;
  const std::string lines = end.errors.lastLines();
  return fmt::format("{} {}{}{}", signalled ? "signal" : "exit", end.code,
                     lines.empty() ? "" : ": ", lines);
}

JobReport failureOf(const JobEnd& end, const std::string& program, const std::string& lease_token) {
  JsonWriter json = beginReport(lease_token);
  json.field("error", errorOf(end, program));
  if (end.kind == JobEnd::Kind::kNotReady) {
    json.field("retryable", true);
    return finish("fail", json);
  }
  if (end.kind == JobEnd::Kind::kMissing) {
    json.field("error_class", "resource_missing").field("retryable", false);
    return finish("fail", json);
  }
  if (end.kind == JobEnd::Kind::kSignalled) {
    json.field("exit_signal", end.code);
  } else if (end.kind == JobEnd::Kind::kNotStarted) {
    json.field("exit_code", end.code == ENOENT ? kExitNotFound : kExitNotRunnable);
  } else {
    json.field("exit_code", end.code);
  }
  if (end.kind == JobEnd::Kind::kExited && end.code == kExitTryLater) {
    json.field("retryable", true).field("no_penalty", true);
    json.field("retry_after_seconds", kTryLaterSeconds);
  }
  json.field("max_rss_bytes", end.max_rss_bytes);
  if (const std::string tail = end.output.lastLines(); !tail.empty()) {
    json.field("output_tail", tail);
  }
  return finish("fail", json);
}

JobReport tooLarge(const std::string& lease_token, std::uint64_t size, std::size_t limit) {
  return refusedResult(lease_token,
                       fmt::format("result too large: {} bytes, the limit is {}", size, limit));
}

}  // namespace

std::optional<JobReport> reportOf(const JobEnd& end, const std::string& program,
                                  const std::string& lease_token, std::size_t max_result_bytes) {
  switch (end.stopped) {
    case StopReason::kLeaseLost:
    case StopReason::kGone:
      return std::nullopt;
    case StopReason::kShutdown:
      return releaseOf(lease_token);
    case StopReason::kCancelled: {
      JsonWriter json = beginReport(lease_token);
      json.field("error", "cancelled").field("cancelled", true);
      return finish("fail", json);
    }
    case StopReason::kNone:
      break;
  }
  if (end.kind != JobEnd::Kind::kExited || end.code != 0) {
    return failureOf(end, program, lease_token);
  }
  if (end.result_is_artifact) {
    JsonWriter json = beginReport(lease_token);
    return finish("complete", json);
  }
  if (end.output.overflowed()) return tooLarge(lease_token, end.output.size(), max_result_bytes);
  const auto result = resultOf(end.output.beginning());
  // Escapes can make a text longer than it was written.
  if (result && result->size() > max_result_bytes) {
    return tooLarge(lease_token, result->size(), max_result_bytes);
  }
  JsonWriter json = beginReport(lease_token);
  if (result) json.key("result").raw(*result);
  return finish("complete", json);
}

JobReport refusedResult(const std::string& lease_token, const std::string& why) {
  JsonWriter json = beginReport(lease_token);
  json.field("error", why).field("retryable", false).field("exit_code", 0);
  return finish("fail", json);
}

JobReport releaseOf(const std::string& lease_token) {
  JsonWriter json = beginReport(lease_token);
  return finish("release", json);
}

}  // namespace muster
