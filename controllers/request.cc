#include "controllers/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "models/json/json_reader.h"
#include "models/json/utf8.h"

namespace muster {
namespace {

int hexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

template <class T>
std::optional<T> parseNumber(std::string_view text) {
  T value{};
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Older releases of the framework cannot tell.
template <class HttpRequest>
bool isConnected(const HttpRequest& request) {
  if constexpr (requires { request.connected(); }) return request.connected();
  return true;
}

}  // namespace

bool isVisible(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

std::optional<std::string> percentDecode(std::string_view text, bool form) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (form && text[i] == '+') {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      const int high = i + 2 < text.size() ? hexDigit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hexDigit(text[i + 2]) : -1;
      if (high < 0 || low < 0 || high + low == 0) return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return out;
}

// The framework uses the object again for the next request of the connection, and would keep the
// memory of the largest body as long. A short string that is moved in would leave it in place.
Request::~Request() {
  constexpr std::size_t kLarge = 64U << 10;
  if (raw && raw->body().size() > kLarge) raw->setBody(std::string(kLarge / 1024, ' '));
}

std::string_view Request::method() const {
  switch (raw->method()) {
    case drogon::Get:
      return "GET";
    case drogon::Post:
      return "POST";
    case drogon::Put:
      return "PUT";
    case drogon::Patch:
      return "PATCH";
    case drogon::Delete:
      return "DELETE";
    case drogon::Options:
      return "OPTIONS";
    case drogon::Head:
      return "HEAD";
    default:
      return "";
  }
}

const std::string& Request::header(const std::string& lower_case_name) const {
  return raw->getHeader(lower_case_name);
}

const std::string* Request::headerIfSent(const std::string& lower_case_name) const {
  const auto found = raw->headers().find(lower_case_name);
  return found == raw->headers().end() ? nullptr : &found->second;
}

bool Request::clientIsThere() const { return isConnected(*raw); }

Result<std::string> Request::pathId(std::string_view name) const {
  for (const auto& [key, value] : path_values) {
    if (key != name) continue;
    if (isValidId(value)) return value;
    return tl::unexpected(Error{ErrorCode::kInvalidId,
                                fmt::format("{} must be 1 to 128 of A-Z a-z 0-9 . _ ~ : -", name),
                                {{std::string(name), "format", "is not a valid id"}}});
  }
  return fail(ErrorCode::kInternal, fmt::format("the route has no {}", name));
}

Result<IfVersion> Request::ifMatch() const {
  const std::string* sent = headerIfSent("if-match");
  if (sent == nullptr) return IfVersion();
  const std::string_view text = *sent;
  if (text == "*") return IfVersion(kAnyVersion);
  if (text.size() > 2 && text.front() == '"' && text.back() == '"') {
    if (const auto version = parseNumber<std::int64_t>(text.substr(1, text.size() - 2))) {
      return version;
    }
  }
  return tl::unexpected(Error{ErrorCode::kInvalidHeader,
                              "If-Match must be the ETag of an earlier answer",
                              {{"If-Match", "format", "must be the ETag of an earlier answer"}}});
}

Result<JsonDoc> parseBody(const Request& request, bool optional) {
  constexpr std::string_view kNoFields = "{}";
  if (optional && request.body().empty()) return JsonDoc::parse(kNoFields);
  auto body = JsonDoc::parse(request.body());
  return optional && body && body->root().isNull() ? JsonDoc::parse(kNoFields) : std::move(body);
}

Status checkNoBody(const Request& request) {
  const auto body = parseBody(request, true);
  if (!body) return tl::unexpected(body.error());
  std::vector<FieldError> faults;
  ObjectReader(body->root(), "", faults).finish();
  return checkFaults(std::move(faults));
}

QueryReader::QueryReader(const Request& request) {
  std::string_view rest = request.raw->query();
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (part.empty()) continue;
    const std::size_t equals = std::min(part.find('='), part.size());
    const auto name = percentDecode(part.substr(0, equals), true);
    const auto value =
        percentDecode(equals < part.size() ? part.substr(equals + 1) : std::string_view(), true);
    if (!name || !value) {
      faults_.push_back(
          {std::string(part.substr(0, equals)), "format", "has a broken percent escape"});
      continue;
    }
    if (!isUtf8(*name) || !isUtf8(*value)) {
      faults_.push_back({*name, "format", "is not valid UTF-8"});
      continue;
    }
    parameters_.push_back({*name, *value});
  }
}

void QueryReader::fault(std::string_view name, std::string detail) {
  faults_.push_back({std::string(name), "invalid", std::move(detail)});
}

std::optional<std::string> QueryReader::text(std::string_view name, std::size_t max_bytes) {
  std::optional<std::string> found;
  for (Parameter& parameter : parameters_) {
    if (parameter.name != name) continue;
    if (found && !parameter.used) fault(name, "is given twice");
    parameter.used = true;
    if (!found) found = parameter.value;
  }
  if (found && (found->empty() || found->size() > max_bytes)) {
    fault(name, fmt::format("must have 1 to {} bytes", max_bytes));
    return std::nullopt;
  }
  return found;
}

std::vector<std::string> QueryReader::texts(std::string_view name) {
  std::vector<std::string> all;
  for (Parameter& parameter : parameters_) {
    if (parameter.name != name) continue;
    parameter.used = true;
    std::string_view rest = parameter.value;
    for (;;) {
      const std::size_t comma = rest.find(',');
      const std::string_view item = rest.substr(0, comma);
      if (item.empty()) {
        fault(name, "has an empty item");
        return {};
      }
      all.emplace_back(item);
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  return all;
}

std::optional<std::int64_t> QueryReader::integer(std::string_view name, std::int64_t min,
                                                 std::int64_t max) {
  const auto given = text(name);
  if (!given) return std::nullopt;
  const auto value = parseNumber<std::int64_t>(*given);
  if (!value || *value < min || *value > max) {
    fault(name, fmt::format("must be a whole number between {} and {}", min, max));
    return std::nullopt;
  }
  return value;
}

std::optional<double> QueryReader::number(std::string_view name, double min, double max) {
  const auto given = text(name);
  if (!given) return std::nullopt;
  const auto value = parseNumber<double>(*given);
  if (!value || !(*value >= min && *value <= max)) {
    fault(name, fmt::format("must be a number between {} and {}", min, max));
    return std::nullopt;
  }
  return value;
}

std::optional<bool> QueryReader::boolean(std::string_view name) {
  const auto given = text(name);
  if (!given) return std::nullopt;
  if (*given == "true") return true;
  if (*given == "false") return false;
  fault(name, "must be true or false");
  return std::nullopt;
}

std::optional<Time> QueryReader::time(std::string_view name) {
  const auto given = text(name);
  if (!given) return std::nullopt;
  const auto value = parseTime(*given);
  if (!value) fault(name, "must be a time like 2026-03-01T12:00:00Z");
  return value;
}

std::string QueryReader::id(std::string_view name) {
  const auto given = text(name);
  if (!given) return {};
  if (!isValidId(*given)) fault(name, "must be 1 to 128 of A-Z a-z 0-9 . _ ~ : -");
  return *given;
}

Status QueryReader::finish() {
  for (const Parameter& parameter : parameters_) {
    if (!parameter.used) {
      faults_.push_back({parameter.name, "unknown", "is not a parameter of this request"});
    }
  }
  if (faults_.empty()) return {};
  Error error{ErrorCode::kInvalidQuery, faults_[0].pointer + " " + faults_[0].detail};
  if (faults_.size() > 1) error.detail = fmt::format("{} parameters are not valid", faults_.size());
  error.fields = std::move(faults_);
  return tl::unexpected(std::move(error));
}

}  // namespace muster
