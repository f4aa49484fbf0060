#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/settings.h"
#include "models/result.h"

namespace muster {

// On whose behalf a request is made.
struct Principal {
  std::string name;  // "" when no tokens are configured
  std::vector<Scope> scopes;
  std::string worker;  // set: may only act as this worker

  bool may(Scope scope) const;
  // kForbidden when the request names another worker than its token is for.
  Status mayActAs(std::string_view worker_id) const;
};

// Decides who may come in. Immutable after construction, so safe from every thread.
class Access {
 public:
  // `secret` signs the tokens of workers. `advertised_url` is where we say that we are reached.
  Access(const Settings& settings, std::string secret, std::string_view advertised_url);

  // 401 for a missing or wrong token. `authorization` is the header as it was sent.
  Result<Principal> identify(std::string_view authorization) const;

  // 401 when no entry of tls_clients has this common name. The certificate was verified.
  Result<Principal> identifyCertificate(std::string_view common_name) const;
  // False: certificates mean nothing.
  bool takesCertificates() const { return !tls_clients_.empty(); }

  // False: everybody who reaches the service may do everything.
  bool hasTokens() const { return !tokens_.empty() || takesCertificates(); }

  // 421 and 403: a page in a browser must not reach the service through a foreign name or origin.
  Status checkHost(std::string_view host) const;
  Status checkOrigin(std::string_view origin, std::string_view host) const;
  bool isAllowedOrigin(std::string_view origin) const;

  // A token that lets its bearer act as this worker and nobody else.
  std::string workerToken(const std::string& worker_id) const;

 private:
  std::optional<std::string> workerOf(std::string_view token) const;

  std::vector<AccessToken> tokens_;
  std::vector<TlsClient> tls_clients_;
  std::vector<std::string> hosts_;
  std::vector<std::string> origins_;
  bool loopback_only_;
  std::string secret_;
};

}  // namespace muster
