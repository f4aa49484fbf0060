#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/settings.h"
#include "controllers/worker_pass.h"
#include "models/clock.h"
#include "models/policy/grants.h"
#include "models/result.h"

namespace muster {

// On whose behalf a request is made.
struct Principal {
  std::string name;                      // "" when no tokens are configured
  std::shared_ptr<const Grants> grants;  // null: none
  // Set: a worker's own token. It may only act as this worker, since this registration.
  std::string worker = {};
  std::optional<std::int64_t> registration = {};
  std::optional<Time> expires_at = {};

  bool mayIn(Scope scope, std::string_view pool) const {
    return grants && permitsIn(*grants, scope, pool);
  }
  bool mayEverywhere(Scope scope) const { return grants && permitsEverywhere(*grants, scope); }
  bool maySomewhere(Scope scope) const { return grants && permitsSomewhere(*grants, scope); }
  // kForbidden when the request names another worker than its token is for.
  Status mayActAs(std::string_view worker_id) const;
};

// Decides who may come in. Thread-safe; what a request was let in with stays valid for it when
// tokens are replaced meanwhile.
class Access {
 public:
  // `worker_key` signs the tokens of workers. `advertised_url` is where we say that we are reached.
  Access(const Settings& settings, std::string worker_key, std::string_view advertised_url,
         const Clock& clock);

  // 401 for a missing, wrong or expired token. `authorization` is the header as it was sent.
  Result<Principal> identify(std::string_view authorization) const;

  // 401 when no entry of tls_clients has this common name. The certificate was verified.
  Result<Principal> identifyCertificate(std::string_view common_name) const;
  // False: certificates mean nothing.
  bool takesCertificates() const { return !known()->clients.empty(); }

  // False: everybody who reaches the service may do everything.
  bool hasTokens() const { return !known()->isOpen(); }
  // Those of the configuration, without what could be used.
  std::vector<AccessToken> tokens() const { return known()->tokens; }

  void replaceTokens(std::vector<AccessToken> tokens, std::vector<TlsClient> clients);
  // Ends all tokens of workers that another key has signed.
  void replaceWorkerKey(std::string key);

  // 421 and 403: a page in a browser must not reach the service through a foreign name or origin.
  Status checkHost(std::string_view host) const;
  Status checkOrigin(std::string_view origin, std::string_view host) const;
  bool isAllowedOrigin(std::string_view origin) const;

  // Lets its bearer act as this worker and nobody else.
  std::string tokenFor(const WorkerPass& pass) const {
    return workerToken(known()->worker_key, pass);
  }

 private:
  struct Known {
    std::vector<AccessToken> tokens;
    std::vector<TlsClient> clients;
    std::vector<std::shared_ptr<const Grants>> grants;  // of each token, then of each client
    std::string worker_key;

    bool isOpen() const { return tokens.empty() && clients.empty(); }
  };
  std::shared_ptr<const Known> known() const { return known_.load(); }
  static std::shared_ptr<const Known> makeKnown(std::vector<AccessToken> tokens,
                                                std::vector<TlsClient> clients, std::string key);

  std::atomic<std::shared_ptr<const Known>> known_;
  std::vector<std::string> hosts_;
  std::vector<std::string> origins_;
  bool loopback_only_;
  const Clock& clock_;
};

}  // namespace muster
