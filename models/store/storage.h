#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "models/clock.h"
#include "models/result.h"
#include "models/store/store.h"
#include "models/store/wish.h"

namespace muster {

// Where continuations run. post() may be called from any thread.
class Executor {
 public:
  using Task = std::function<void()>;
  virtual ~Executor() = default;
  virtual void post(std::vector<Task> tasks) = 0;
};

// How a unit that writes stands to others that write at the same time, on this node or another.
enum class Isolation {
  kAlone,   // there are none
  kShared,  // it runs beside others of its kind: what it reads before it changes it, it locks
};

// Runs units of work. A unit is a function over the Store inside a transaction; `done` is called
// exactly once, after what the unit changed or saw is durable or with the reason why it is not.
//
// A unit may be run again after a rollback that was not its own fault, so it must set, not add to,
// what it hands to its continuation. An exception out of a unit undoes that unit alone.
//
// All methods are thread-safe. `done` runs on `on`, or on a thread of the storage without it.
class Storage {
 public:
  using Unit = std::function<void(Store&)>;
  using Done = std::function<void(const Status&)>;
  using CommitListener = std::function<void(std::span<const Event>)>;

  virtual ~Storage() = default;
  virtual void write(Unit unit, Done done, Executor* on = nullptr,
                     Isolation isolation = Isolation::kAlone, Wish wish = {}) = 0;
  virtual void read(Unit unit, Done done, Executor* on = nullptr) = 0;
  // Writes what only the service itself builds on, alone: `done` comes with the commit, and the
  // disk has it before anybody hears of it or of what follows from it.
  virtual void note(Unit unit, Done done) = 0;

  // Finishes what was accepted, closes the store and refuses the rest with kDraining.
  virtual void stop() = 0;

  // Sums up the commits since the last call, for the metrics.
  struct Commits {
    std::int64_t count = 0;
    std::int64_t units = 0;
    double seconds = 0;
  };
  virtual Commits commits() = 0;

  // The same, waiting for the end. Never on an event loop.
  Status writeAndWait(const Unit& unit, Isolation isolation = Isolation::kAlone);
  Status readAndWait(const Unit& unit);
};

enum class Durability { kFull, kNormal };

struct StorageOptions {
  std::string url;  // sqlite:PATH, memory: or postgresql://…
  Durability durability = Durability::kFull;
  StoreRules rules;
  // Called after each commit that had events, on the storage's thread; must not block.
  Storage::CommitListener on_commit;
  // The same for what other services committed to the same database.
  Storage::CommitListener on_foreign_commit;
  // PostgreSQL has a clock for all its services; tests may want the one they give.
  bool own_clock = false;
  // Makes what was written to the file durable: 0, or -1 with errno. Tests put theirs here.
  std::function<int(int file)> flush;
};

// Opens the store and brings its schema up to date; that of a PostgreSQL database only when it is
// empty, since other services may be at work with it. The error says what is wrong and what to do.
tl::expected<std::unique_ptr<Storage>, std::string> openStorage(const StorageOptions& options,
                                                                const Clock& clock);

}  // namespace muster
