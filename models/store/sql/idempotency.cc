#include "models/store/sql/idempotency.h"

namespace muster {
namespace {

constexpr auto kKeep = std::chrono::hours(24);

constexpr Sql kFindAnswer{
    "SELECT body_hash, status, body, etag FROM idempotency WHERE principal = $1 AND method = $2 "
    "AND path = $3 AND key = $4 AND expires_at > $5"};
constexpr Sql kRememberAnswer{
    "INSERT INTO idempotency (principal, method, path, key, body_hash, status, body, etag, "
    "expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) "
    "ON CONFLICT (principal, method, path, key) DO UPDATE SET body_hash = excluded.body_hash, "
    "status = excluded.status, body = excluded.body, etag = excluded.etag, expires_at = "
    "excluded.expires_at WHERE idempotency.expires_at <= $10"};
constexpr Sql kRemoveExpired{
    "DELETE FROM idempotency WHERE (principal, method, path, key) IN "
    "(SELECT principal, method, path, key FROM idempotency WHERE expires_at <= $1 "
    "ORDER BY expires_at LIMIT $2)"};

}  // namespace

Result<std::optional<StoredAnswer>> Idempotency::find(const RequestKey& key) {
  auto rows = s_.db.query(kFindAnswer, key.principal, key.method, key.path, key.key, s_.now);
  if (!rows.next()) return std::optional<StoredAnswer>();
  if (rows->text(0) != key.body_hash) {
    return fail(ErrorCode::kIdempotencyMismatch,
                "this Idempotency-Key was sent before with another body; use a new key");
  }
  return std::optional(
      StoredAnswer{static_cast<int>(rows->integer(1)), rows->string(2), rows->string(3)});
}

void Idempotency::remember(const RequestKey& key, const StoredAnswer& answer) {
  // Two that look at once both find nothing: the slower one is undone and finds the other's answer.
  if (s_.db.execute(kRememberAnswer, key.principal, key.method, key.path, key.key, key.body_hash,
                    answer.status, answer.body, answer.etag, s_.now + kKeep, s_.now) == 0) {
    throw StoreError(StoreError::Kind::kConflict, "another request has the same Idempotency-Key");
  }
}

std::int64_t Idempotency::removeExpired(int limit) {
  return s_.db.execute(kRemoveExpired, s_.now, limit);
}

}  // namespace muster
