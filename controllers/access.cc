#include "controllers/access.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

#include "models/store/random.h"

namespace muster {
namespace {

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

Status Principal::mayActAs(std::string_view worker_id) const {
  if (worker.empty() || worker == worker_id) return {};
  return fail(ErrorCode::kForbidden, "this token is for worker '" + worker + "' only");
}

Access::Access(const Settings& settings, std::string worker_key, std::string_view advertised_url,
               const Clock& clock)
    : known_(makeKnown(settings.tokens, settings.tls_clients, std::move(worker_key))),
      origins_(settings.allowed_origins),
      loopback_only_(settings.listen.isLoopback()),
      clock_(clock) {
  hosts_ = {"localhost", lower(settings.listen.host)};
  for (const auto& host : settings.allowed_hosts) hosts_.push_back(lower(host));
  if (const auto scheme = advertised_url.find("://"); scheme != std::string_view::npos) {
    hosts_.push_back(hostName(advertised_url.substr(scheme + 3)));
  }
}

std::shared_ptr<const Access::Known> Access::makeKnown(std::vector<AccessToken> tokens,
                                                       std::vector<TlsClient> clients,
                                                       std::string key) {
  auto made = std::make_shared<Known>();
  made->tokens = std::move(tokens);
  made->clients = std::move(clients);
  made->worker_key = std::move(key);
  for (const AccessToken& token : made->tokens) {
    made->grants.push_back(std::make_shared<const Grants>(token.scopes));
  }
  for (const TlsClient& client : made->clients) {
    made->grants.push_back(std::make_shared<const Grants>(client.scopes));
  }
  return made;
}

void Access::replaceTokens(std::vector<AccessToken> tokens, std::vector<TlsClient> clients) {
  known_ = makeKnown(std::move(tokens), std::move(clients), known()->worker_key);
}

void Access::replaceWorkerKey(std::string key) {
  const auto before = known();
  known_ = makeKnown(before->tokens, before->clients, std::move(key));
}

Result<Principal> Access::identify(std::string_view authorization) const {
  static const auto kEverything = std::make_shared<const Grants>(
      Grants{{Scope::kRead}, {Scope::kProduce}, {Scope::kWork}, {Scope::kAdmin}});
  const auto known = this->known();
  if (known->isOpen()) return Principal{"", kEverything};
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
  for (std::size_t i = 0; i < known->tokens.size(); ++i) {
    const AccessToken& one = known->tokens[i];
    if (!constantTimeEqual(hash, one.sha256)) continue;
    if (!one.expires_at || clock_.now() < *one.expires_at) {
      return Principal{one.name, known->grants[i], "", {}, one.expires_at};
    }
    return fail(ErrorCode::kUnauthorized, "the token expired at " + formatTime(*one.expires_at));
  }
  if (const auto pass = readWorkerToken(known->worker_key, token)) {
    return Principal{"worker:" + pass->worker,
                     std::make_shared<const Grants>(Grants{{Scope::kWork, pass->pool}}),
                     pass->worker, pass->registration};
  }
  return fail(ErrorCode::kUnauthorized, "the token is not known");
}

Result<Principal> Access::identifyCertificate(std::string_view common_name) const {
  const auto known = this->known();
  for (std::size_t i = 0; i < known->clients.size(); ++i) {
    const TlsClient& client = known->clients[i];
    if (client.subject != common_name) continue;
    return Principal{client.name, known->grants[known->tokens.size() + i]};
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
