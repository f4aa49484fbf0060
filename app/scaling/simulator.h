#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "models/json/simulation_json.h"
#include "models/result.h"
#include "models/store/storage.h"

namespace muster {

// Replays what a pool has on record with other settings. It reads the record piece by piece, so
// nobody else waits long for the store, and works on a thread of its own, one simulation at a time.
// Thread-safe.
class Simulator {
 public:
  // What holds for the workers of every pool.
  struct Options {
    double launch_rate = 20;
    Millis idle_timeout = Seconds(30);
    std::int64_t worker_max_jobs = 0;
  };
  Simulator(Storage& storage, Options options);
  ~Simulator();

  // Called on the simulator's thread, once.
  using Done = std::function<void(Result<SimulationReport>)>;
  // False, and nothing else happens, when one is under way or it was stopped. kNotFound for an
  // unknown pool, kInvalid for settings that contradict each other and for a time without length.
  bool start(const PoolId& pool, const SimulationRequest& request, Done done);

  // Gives up what is under way, with kDraining, and waits for that.
  void stop();

 private:
  struct Order {
    PoolId pool;
    SimulationRequest request;
    Done done;
  };
  void loop(const std::stop_token& stop);
  Result<SimulationReport> run(const Order& order, const std::stop_token& stop);

  Storage& storage_;
  const Options options_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<Order> order_;  // to be begun; guarded by mutex_
  bool busy_ = false;           // guarded by mutex_
  std::jthread thread_;         // last: it uses the rest
};

}  // namespace muster
