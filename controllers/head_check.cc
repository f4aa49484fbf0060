#include "controllers/head_check.h"

#include <fmt/format.h>

namespace muster {

Status HeadCheck::checkBodySize(std::size_t bytes) const {
  if (bytes <= max_body_bytes_) return {};
  return fail(ErrorCode::kBodyTooLarge,
              fmt::format("the body has {} bytes; the limit is {} (max_body_bytes)", bytes,
                          max_body_bytes_));
}

// In the order of Gateway::admit().
Result<CallerKind> HeadCheck::check(const RequestHead& head) const {
  const std::string_view host = head.header("host");
  if (auto ok = access_.checkHost(host); !ok) return tl::unexpected(ok.error());
  if (auto ok = access_.checkOrigin(head.header("origin"), host); !ok) {
    return tl::unexpected(ok.error());
  }
  if (auto ok = checkBodySize(head.body_size); !ok) return tl::unexpected(ok.error());
  const Router::Match match = router_.find(head.method, head.path());
  if (auto ok = match.check(head.method, head.path()); !ok) return tl::unexpected(ok.error());
  if (match.route == nullptr || !match.route->scope) return CallerKind::kUnknown;
  const std::string_view authorization = head.header("authorization");
  // The certificate of the connection may do in its place: the gateway sees it.
  if (authorization.empty() && access_.takesCertificates()) return CallerKind::kUnknown;
  const auto principal = access_.identify(authorization);
  if (!principal) return tl::unexpected(principal.error());
  const Scope scope = *match.route->scope;
  const bool may = match.route->handler.any_scope || principal->maySomewhere(scope);
  if (!may) return missingScope(scope);
  return CallerKind::kKnown;
}

}  // namespace muster
