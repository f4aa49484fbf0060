#include "models/operations/tokens.h"

#include "models/store/store.h"

namespace muster {
namespace {

constexpr std::string_view kWorkerKey = "worker_tokens";
constexpr std::string_view kAddressKey = "signed_addresses";
constexpr Sql kReplaceSecret{"UPDATE meta SET value = $2 WHERE name = $1"};
constexpr Sql kCountAlive{"SELECT count(*) FROM workers WHERE ended_at IS NULL"};

}  // namespace

Result<std::string> run(const ReadWorkerKey&, Store& store) {
  return store.secret(std::string(kWorkerKey));
}

Result<std::string> run(const ReadAddressKey&, Store& store) {
  return store.secret(std::string(kAddressKey));
}

Result<RotateWorkerKey::Reply> run(const RotateWorkerKey&, Store& store) {
  Session& session = store.session;
  RotateWorkerKey::Reply reply;
  store.secret(std::string(kWorkerKey));  // so that there is one to replace
  reply.key = session.random.token() + session.random.token();
  session.db.execute(kReplaceSecret, kWorkerKey, reply.key);
  {
    auto rows = session.db.query(kCountAlive);
    if (rows.next()) reply.workers = rows->integer(0);
  }
  Event event;
  event.type = event_type::kWorkerTokensRotated;
  session.emit(std::move(event));
  return reply;
}

}  // namespace muster
