#include "models/store/postgres/postgres_storage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

namespace muster {
namespace {

constexpr std::size_t kPostgresMaxBatch = 500;
constexpr int kPostgresReaders = 2;
constexpr int kLookEachMs = 1000;  // for events of others that nobody told of
constexpr int kGatherMs = 10;      // after some: where others are busy there will be more
constexpr auto kOthersAreBusy = std::chrono::milliseconds(50);  // since they were last heard of
constexpr int kGatheringSteps = 10;
constexpr auto kGatheringStep = std::chrono::microseconds(300);

constexpr Sql kLastEvent{"SELECT last_event FROM store_clock"};
constexpr Sql kForeign{"SELECT " MUSTER_EVENT_COLUMNS
                       " FROM events "
                       "WHERE seq > $1 AND seq <= $2 AND origin <> $3 ORDER BY seq LIMIT $4"};
constexpr std::int64_t kForeignAtOnce = 1000;

// Held by the session while it looks at the schema and changes it. Arbitrary, like the others.
constexpr const char* kLockSchema = "SELECT pg_advisory_lock(7815279120119)";
constexpr const char* kUnlockSchema = "SELECT pg_advisory_unlock(7815279120119)";

std::int64_t randomOrigin() {
  std::int64_t origin = 0;
  Random().bytes(reinterpret_cast<std::uint8_t*>(&origin), sizeof origin);
  return origin;
}

// Where other services write too, transactions are in each other's way, and few large ones do more
// than many small ones. Most of those who were answered ask for the next thing at once, so the next
// batch waits for three quarters of what it could be, but not for long.
void gather(WorkQueue<WaitingUnit>& queue, std::size_t answered) {
  const std::size_t enough = (queue.size() + answered) * 3 / 4;
  for (int step = 0; step < kGatheringSteps && queue.size() < enough; ++step) {
    std::this_thread::sleep_for(kGatheringStep);
  }
}

enum class Pending { kShow, kApply, kApplyIfEmpty };

tl::expected<MigrationPlan, std::string> migrate(const PostgresPlace& place, Time now,
                                                 Pending pending) {
  try {
    PostgresConnection db(place, PostgresAccess::kReadWrite, Durability::kFull);
    if (place.bouncer) {
      auto plan = planMigrations(db, kPostgresMigrations);
      if (!plan || plan->pending.empty() || pending == Pending::kShow) return plan;
      return tl::unexpected(std::string(
          "the schema cannot be changed through PgBouncer; run 'muster migrate --store URL' with "
          "the address of the server itself"));
    }
    db.script("SET statement_timeout = 0");
    if (pending != Pending::kShow) db.script(kLockSchema);
    auto plan = planMigrations(db, kPostgresMigrations);
    if (!plan || pending == Pending::kShow) return plan;
    if (pending == Pending::kApplyIfEmpty && !plan->applied.empty() && !plan->pending.empty()) {
      return tl::unexpected(
          fmt::format("the database lacks {}. Other services may be at work with it, so nothing "
                      "was changed: run 'muster migrate --store URL' first",
                      fmt::join(plan->pending, ", ")));
    }
    applyMigrations(db, kPostgresMigrations, *plan, now);
    db.script(kUnlockSchema);
    return plan;
  } catch (const StoreError& error) {
    return tl::unexpected(error.what());
  }
}

}  // namespace

tl::expected<MigrationPlan, std::string> migratePostgres(const std::string& url, Time now,
                                                         bool dry_run) {
  const auto place = postgresPlace(url);
  if (!place) return tl::unexpected(place.error());
  return migrate(*place, now, dry_run ? Pending::kShow : Pending::kApply);
}

tl::expected<std::unique_ptr<Storage>, std::string> openPostgresStorage(
    const StorageOptions& options, const Clock& clock) {
  const auto place = postgresPlace(options.url);
  if (!place) return tl::unexpected(place.error());
  if (auto plan = migrate(*place, clock.now(), Pending::kApplyIfEmpty); !plan) {
    return tl::unexpected(plan.error());
  }
  return std::make_unique<PostgresStorage>(*place, options, clock);
}

PostgresStorage::PostgresStorage(PostgresPlace place, StorageOptions options, const Clock& clock)
    : shared_{std::move(place), std::move(options), clock, randomOrigin()},
      stopping_(::eventfd(0, EFD_CLOEXEC)) {
  threads_.emplace_back([this] { writeLoop(alone_, Isolation::kAlone); });
  threads_.emplace_back([this] { writeLoop(shared_units_, Isolation::kShared); });
  for (int i = 0; i < kPostgresReaders; ++i) threads_.emplace_back([this] { readLoop(); });
  if (shared_.options.on_foreign_commit) threads_.emplace_back([this] { listenLoop(); });
}

PostgresStorage::~PostgresStorage() {
  stop();
  ::close(stopping_);
}

void PostgresStorage::note(Unit unit, Done done) {
  write(std::move(unit), std::move(done), nullptr, Isolation::kAlone, {});
}

void PostgresStorage::write(Unit unit, Done done, Executor* on, Isolation isolation, Wish wish) {
  WaitingUnit item{std::move(unit), std::move(done), on};
  item.wish = std::move(wish);
  enqueueUnit(isolation == Isolation::kAlone ? alone_ : shared_units_, std::move(item));
}

void PostgresStorage::read(Unit unit, Done done, Executor* on) {
  enqueueUnit(reads_, {std::move(unit), std::move(done), on});
}

void PostgresStorage::stop() {
  alone_.close();
  shared_units_.close();
  reads_.close();
  ::eventfd_write(stopping_, 1);
  threads_.clear();  // joins
}

Storage::Commits PostgresStorage::commits() {
  const std::lock_guard lock(commits_mutex_);
  return std::exchange(commits_, {});
}

void PostgresStorage::writeLoop(WorkQueue<WaitingUnit>& queue, Isolation isolation) {
  PostgresLink link(shared_, PostgresAccess::kReadWrite);
  for (;;) {
    auto units = queue.take(kPostgresMaxBatch);
    if (units.empty()) return;
    const auto began = shared_.clock.monotonic();
    const auto events = link.write(units, isolation);
    {
      const std::lock_guard lock(commits_mutex_);
      commits_.count += 1;
      commits_.units += static_cast<std::int64_t>(units.size());
      commits_.seconds += std::chrono::duration<double>(shared_.clock.monotonic() - began).count();
    }
    const std::size_t answered = units.size();
    answerUnits(std::move(units));
    if (!events.empty() && shared_.options.on_commit) {
      const std::lock_guard lock(listener_mutex_);
      shared_.options.on_commit(events);
    }
    const bool others_write = shared_.clock.monotonic() - others_wrote_.load() < kOthersAreBusy;
    if (isolation == Isolation::kShared && others_write) gather(queue, answered);
  }
}

void PostgresStorage::readLoop() {
  PostgresLink link(shared_, PostgresAccess::kReadOnly);
  for (;;) {
    auto units = reads_.take(1);
    if (units.empty()) return;
    link.read(units.front());
    answerUnits(std::move(units));
  }
}

bool PostgresStorage::stopsWithin(int milliseconds) const {
  pollfd stopping{stopping_, POLLIN, 0};
  return ::poll(&stopping, 1, milliseconds) > 0;
}

void PostgresStorage::listenLoop() {
  PostgresLink link(shared_, PostgresAccess::kReadOnly);
  const PostgresConnection* listening = nullptr;
  std::optional<std::int64_t> seen;
  for (;;) {
    int socket = -1;
    try {
      PostgresConnection& db = link.connection();
      if (listening != &db) {
        if (!shared_.place.bouncer) db.listen();
        listening = &db;
        // Once: after a lost connection what was missed is made up for.
        if (!seen) {
          db.begin(Isolation::kShared, 1);
          auto rows = db.query(kLastEvent);
          if (rows.next()) seen = rows->integer(0);
          db.commit();
        }
        hear(db, *seen);
      }
      socket = shared_.place.bouncer ? -1 : db.socket();
    } catch (const StoreError&) {  // the database is away: whoever asks for something is told
      link.disconnect();
      listening = nullptr;
    }
    pollfd waiting[] = {{stopping_, POLLIN, 0}, {socket, POLLIN, 0}};
    const int ready = ::poll(waiting, 2, kLookEachMs);
    if ((waiting[0].revents & POLLIN) != 0) return;
    if (listening == nullptr) continue;
    try {
      PostgresConnection& db = link.connection();
      if (ready > 0) {
        std::vector<int> ours;
        {
          const std::lock_guard lock(shared_.mutex);
          ours = shared_.backends;
        }
        if (!db.heardOthers(ours)) continue;
      }
      if (hear(db, *seen) && stopsWithin(kGatherMs)) return;
    } catch (const StoreError&) {
      link.disconnect();
      listening = nullptr;
    }
  }
}

bool PostgresStorage::hear(PostgresConnection& db, std::int64_t& seen) {
  bool heard = false;
  for (bool more = true; more;) {
    std::vector<Event> events;
    db.begin(Isolation::kShared, 1);
    {
      auto clock = db.query(kLastEvent);
      clock.next();
      const std::int64_t last = clock->integer(0);
      auto rows = db.query(kForeign, seen, last, shared_.origin, kForeignAtOnce);
      while (rows.next()) events.push_back(Events::readRow(*rows));
      more = events.size() == kForeignAtOnce;
      seen = more ? events.back().seq : last;
    }
    db.commit();
    if (events.empty()) break;
    heard = true;
    others_wrote_ = shared_.clock.monotonic();
    const std::lock_guard lock(listener_mutex_);
    shared_.options.on_foreign_commit(events);
  }
  return heard;
}

}  // namespace muster
