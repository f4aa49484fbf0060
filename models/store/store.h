#pragma once

#include "models/store/sql/circuits.h"
#include "models/store/sql/cluster.h"
#include "models/store/sql/decisions.h"
#include "models/store/sql/events.h"
#include "models/store/sql/idempotency.h"
#include "models/store/sql/jobs.h"
#include "models/store/sql/launches.h"
#include "models/store/sql/load.h"
#include "models/store/sql/pins.h"
#include "models/store/sql/pools.h"
#include "models/store/sql/scaling.h"
#include "models/store/sql/session.h"
#include "models/store/sql/triggers.h"
#include "models/store/sql/webhooks.h"
#include "models/store/sql/workers.h"

namespace muster {

// Everything Muster keeps, as it looks inside one transaction. Methods are synchronous and run on
// the thread of the connection; they throw StoreError when the database cannot be used.
class Store {
 public:
  Store(SqlConnection& connection, const StoreRules& rules) : session(connection, rules) {}

  Pools pools() { return Pools(session); }
  Jobs jobs() { return Jobs(session); }
  Workers workers() { return Workers(session); }
  Launches launches() { return Launches(session); }
  Scaling scaling() { return Scaling(session); }
  Circuits circuits() { return Circuits(session); }
  Pins pins() { return Pins(session); }
  Decisions decisions() { return Decisions(session); }
  Load load() { return Load(session); }
  Events events() { return Events(session); }
  Idempotency idempotency() { return Idempotency(session); }
  Triggers triggers() { return Triggers(session); }
  Webhooks webhooks() { return Webhooks(session); }
  Cluster cluster() { return Cluster(session); }
  // A secret of this store, made at random when it is first asked for.
  std::string secret(const std::string& name);
  // What is left to do at the end of a transaction: ended jobs of flows are settled, refs counted,
  // and what the session has gathered is written.
  void finish();
  // The first half, for a unit that builds on it.
  void settleEnded();
  Time now() const { return session.now; }
  const StoreRules& rules() const { return session.rules; }

  // For Storage, which begins and ends transactions.
  Session session;
};

}  // namespace muster
