#include "controllers/access.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

#include "models/store/random.h"

namespace muster {
namespace {

constexpr std::string_view kWorkerPrefix = "mw.";

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// The name in a Host header, without port and brackets.
std::string hostName(std::string_view host) {
  if (host.starts_with('[')) return lower(host.substr(1, host.find(']') - 1));
  return lower(host.substr(0, host.find(':')));
}

bool isAddress(const std::string& name) {
  unsigned char bytes[16];
  return inet_pton(AF_INET, name.c_str(), bytes) == 1 ||
         inet_pton(AF_INET6, name.c_str(), bytes) == 1;
}

}  // namespace

bool Principal::may(Scope scope) const {
  return std::find(scopes.begin(), scopes.end(), scope) != scopes.end() ||
         std::find(scopes.begin(), scopes.end(), Scope::kAdmin) != scopes.end();
}

Status Principal::mayActAs(std::string_view worker_id) const {
  if (worker.empty() || worker == worker_id) return {};
  return fail(ErrorCode::kForbidden, "this token is for worker '" + worker + "' only");
}

Access::Access(const Settings& settings, std::string secret, std::string_view advertised_url)
    : tokens_(settings.tokens),
      tls_clients_(settings.tls_clients),
      origins_(settings.allowed_origins),
      loopback_only_(settings.listen.isLoopback()),
      secret_(std::move(secret)) {
  hosts_ = {"localhost", lower(settings.listen.host)};
  for (const auto& host : settings.allowed_hosts) hosts_.push_back(lower(host));
  if (const auto scheme = advertised_url.find("://"); scheme != std::string_view::npos) {
    hosts_.push_back(hostName(advertised_url.substr(scheme + 3)));
  }
}

std::string Access::workerToken(const std::string& worker_id) const {
  return std::string(kWorkerPrefix) + worker_id + "." + hmacSha256Hex(secret_, worker_id);
}

std::optional<std::string> Access::workerOf(std::string_view token) const {
  const std::size_t dot = token.rfind('.');
  if (!token.starts_with(kWorkerPrefix) || dot <= kWorkerPrefix.size()) return std::nullopt;
  const std::string worker(token.substr(kWorkerPrefix.size(), dot - kWorkerPrefix.size()));
  if (!constantTimeEqual(token.substr(dot + 1), hmacSha256Hex(secret_, worker)))
    return std::nullopt;
  return worker;
}

Result<Principal> Access::identify(std::string_view authorization) const {
  if (!hasTokens()) {
    return Principal{"", {Scope::kRead, Scope::kProduce, Scope::kWork, Scope::kAdmin}, ""};
  }
  constexpr std::string_view kBearer = "bearer ";
  if (authorization.empty()) {
    return fail(ErrorCode::kUnauthorized, "send 'Authorization: Bearer TOKEN'");
  }
  if (authorization.size() <= kBearer.size() ||
      lower(authorization.substr(0, kBearer.size())) != kBearer) {
    return fail(ErrorCode::kUnauthorized, "the Authorization header must be 'Bearer TOKEN'");
  }
  const std::string_view token = authorization.substr(kBearer.size());
  const std::string hash = sha256Hex(token);
  for (const AccessToken& known : tokens_) {
    if (constantTimeEqual(hash, known.sha256)) return Principal{known.name, known.scopes, ""};
  }
  if (const auto worker = workerOf(token)) {
    return Principal{"worker:" + *worker, {Scope::kWork}, *worker};
  }
  return fail(ErrorCode::kUnauthorized, "the token is not known");
}

Result<Principal> Access::identifyCertificate(std::string_view common_name) const {
  for (const TlsClient& client : tls_clients_) {
    if (client.subject == common_name) return Principal{client.name, client.scopes, ""};
  }
  return fail(ErrorCode::kUnauthorized,
              fmt::format("no entry of tls_clients has the common name '{}'; send "
                          "'Authorization: Bearer TOKEN'",
                          common_name));
}

Status Access::checkHost(std::string_view host) const {
  if (host.empty()) return {};
  const std::string name = hostName(host);
  if (std::find(hosts_.begin(), hosts_.end(), name) != hosts_.end()) return {};
  // An address cannot be rebound to another machine by DNS; a loopback listener takes only its own.
  if (ListenAddress{name, 0}.isLoopback() || (!loopback_only_ && isAddress(name))) return {};
  return fail(ErrorCode::kMisdirectedHost,
              "the Host '" + name + "' is not served here; add it to allowed_hosts");
}

bool Access::isAllowedOrigin(std::string_view origin) const {
  return std::find(origins_.begin(), origins_.end(), origin) != origins_.end();
}

Status Access::checkOrigin(std::string_view origin, std::string_view host) const {
  if (origin.empty() || isAllowedOrigin(origin)) return {};
  const std::size_t scheme = origin.find("://");
  if (scheme != std::string_view::npos && !host.empty() && origin.substr(scheme + 3) == host) {
    return {};
  }
  return fail(ErrorCode::kOriginNotAllowed, "the Origin '" + std::string(origin.substr(0, 200)) +
                                                "' is not allowed; add it to allowed_origins");
}

}  // namespace muster
