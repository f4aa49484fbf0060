#include "controllers/caller.h"

#include <trantor/net/Certificate.h>

#include <algorithm>
#include <map>
#include <memory>

#include "app/tls/common_name.h"

namespace muster {
namespace {

// A certificate is read once for its connection, not for each request.
const std::string& commonNameOf(const trantor::CertificatePtr& certificate) {
  using KnownNames = std::map<std::weak_ptr<trantor::Certificate>, std::string, std::owner_less<>>;
  constexpr std::size_t kFew = 64;
  thread_local KnownNames known;
  thread_local std::size_t tidy_at = kFew;
  if (const auto found = known.find(certificate); found != known.end()) return found->second;
  if (known.size() >= tidy_at) {
    std::erase_if(known, [](const auto& entry) { return entry.first.expired(); });
    tidy_at = std::max(kFew, known.size() * 2);
  }
  return known.emplace(certificate, commonNameIn(certificate->pem())).first->second;
}

}  // namespace

Result<Principal> callerOf(const Request& request, const Access& access) {
  const std::string& authorization = request.header("authorization");
  if (authorization.empty() && access.takesCertificates()) {
    // There is one only if `tls_client_ca` signed it: the handshake refuses others.
    if (const auto& certificate = request.raw->peerCertificate()) {
      return access.identifyCertificate(commonNameOf(certificate));
    }
  }
  return access.identify(authorization);
}

}  // namespace muster
