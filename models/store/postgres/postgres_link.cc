#include "models/store/postgres/postgres_link.h"

#include <algorithm>

namespace muster {
namespace {

constexpr auto kBetweenTries = std::chrono::milliseconds(200);  // to connect
constexpr int kRunsTogether = 2;                                // the second on a new connection
constexpr int kRunsAlone = 6;
constexpr std::int64_t kWriters = 32;  // rows of counters per lane
// A plan is kept with its statement, and one that was made for a few jobs may walk all of a table
// that has become large since.
constexpr auto kPlansLast = std::chrono::seconds(10);

Foresight foresightOf(std::span<const WaitingUnit> units) {
  std::vector<Wish> wishes;
  for (const WaitingUnit& unit : units) wishes.push_back(unit.wish);
  return Foresight(std::move(wishes));
}

}  // namespace

PostgresLink::PostgresLink(PostgresShared& shared, PostgresAccess access)
    : shared_(shared), access_(access) {}

PostgresLink::~PostgresLink() { disconnect(); }

void PostgresLink::disconnect() {
  if (!connection_) return;
  {
    const std::lock_guard lock(shared_.mutex);
    std::erase(shared_.backends, connection_->backend());
  }
  store_.reset();
  connection_.reset();
}

PostgresConnection& PostgresLink::connection() {
  if (connection_ && connection_->alive()) return *connection_;
  disconnect();
  const auto now = shared_.clock.monotonic();
  if (failed_at_ && now - *failed_at_ < kBetweenTries) {
    throw StoreError(StoreError::Kind::kLost, "PostgreSQL cannot be reached");
  }
  failed_at_ = now;
  connection_ =
      std::make_unique<PostgresConnection>(shared_.place, access_, shared_.options.durability);
  failed_at_.reset();
  planned_at_ = now;
  store_ = std::make_unique<Store>(*connection_, shared_.options.rules);
  store_->session.origin = shared_.origin;
  store_->session.writer = connection_->backend() % kWriters;
  if (access_ == PostgresAccess::kReadWrite) {
    const std::lock_guard lock(shared_.mutex);
    shared_.backends.push_back(connection_->backend());
  }
  return *connection_;
}

PostgresConnection::Begun PostgresLink::begin(Isolation isolation, std::size_t units) {
  const auto now = shared_.clock.monotonic();
  if (now - planned_at_ >= kPlansLast) {
    planned_at_ = now;
    connection_->replan();
  }
  return connection_->begin(isolation, units);
}

Time PostgresLink::now(const PostgresConnection::Begun& begun) const {
  return shared_.options.own_clock ? shared_.clock.now() : begun.now;
}

PostgresLink::Outcome PostgresLink::runOnce(std::span<WaitingUnit> units, Isolation isolation,
                                            std::vector<Event>& committed) {
  Outcome outcome;
  bool committing = false, connected = false;
  outcome.status = attempt([&] {
    try {
      auto& db = connection();
      connected = true;
      const auto begun = begin(isolation, units.size());
      Session& session = store_->session;
      session.begin(now(begun), begun.versions);
      session.ahead = foresightOf(units);
      for (WaitingUnit& unit : units) unit.unit(*store_);
      store_->finish();
      auto events = session.takeEvents();
      if (!events.empty()) db.notify();
      committing = true;
      db.commit();
      std::move(events.begin(), events.end(), std::back_inserter(committed));
    } catch (const StoreError& error) {
      const bool lost = error.kind == StoreError::Kind::kLost;
      outcome.again =
          error.kind == StoreError::Kind::kConflict || (lost && connected && !committing);
      throw;
    }
  });
  if (outcome.status) {
    store_->session.committed();
  } else if (connected) {
    connection_->rollback();
    store_->session.forget();
  }
  return outcome;
}

PostgresLink::Outcome PostgresLink::run(std::span<WaitingUnit> units, Isolation isolation, int runs,
                                        std::vector<Event>& committed) {
  Outcome outcome;
  do {
    outcome = runOnce(units, isolation, committed);
  } while (!outcome.status && outcome.again && --runs > 0);
  return outcome;
}

std::vector<Event> PostgresLink::write(std::span<WaitingUnit> units, Isolation isolation) {
  std::vector<Event> committed;
  if (units.size() > 1) {
    const auto together = runOnce(units, isolation, committed);
    if (together.status) return committed;
    if (connection_ == nullptr || (!connection_->alive() && !together.again)) {
      for (WaitingUnit& unit : units) unit.status = together.status;
      return committed;
    }
  }
  for (WaitingUnit& unit : units) {
    unit.status = run({&unit, 1}, isolation, kRunsAlone, committed).status;
  }
  return committed;
}

void PostgresLink::read(WaitingUnit& unit) {
  const auto once = [&] {
    connection();
    const auto begun = begin(Isolation::kShared, 1);
    store_->session.begin(now(begun), begun.versions);
    unit.unit(*store_);
    connection_->commit();
  };
  for (int runs = 0; runs < kRunsTogether; ++runs) {
    unit.status = attempt(once);
    if (unit.status || !connection_) return;
    connection_->rollback();
    store_->session.forget();
    if (connection_->alive()) return;
  }
}

}  // namespace muster
