#include "models/store/store.h"

#include "models/store/sql/flow_settling.h"
#include "models/store/sql/pins.h"
#include "models/store/sql/resource_refs.h"

namespace muster {
namespace {

constexpr Sql kFindSecret{"SELECT value FROM meta WHERE name = $1"};
constexpr Sql kInsertSecret{"INSERT INTO meta (name, value) VALUES ($1, $2)"};

}  // namespace

void Store::settleEnded() {
  do {
    FlowSettling(session).settleEnded();
    Pins(session).settle();  // which may end jobs of flows
  } while (!session.ended.empty());
  ResourceRefs(session).settle();
}

void Store::finish() {
  settleEnded();
  session.flush();
}

std::string Store::secret(const std::string& name) {
  {
    auto rows = session.db.query(kFindSecret, name);
    if (rows.next()) return rows->string(0);
  }
  std::string made = session.random.token() + session.random.token();
  session.db.execute(kInsertSecret, name, made);
  return made;
}

}  // namespace muster
