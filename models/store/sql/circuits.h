#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "models/policy/circuit.h"
#include "models/pool.h"
#include "models/store/sql/session.h"

namespace muster {

// The circuit breakers of the pools. There is a row for a pool only while the last of its jobs have
// failed, and a session that writes keeps those rows: a pool that does well costs no statement, and
// one whose `circuit.failures` is 0 never does.
class Circuits {
 public:
  explicit Circuits(Session& session) : s_(session) {}

  // As it stands, for anybody who looks.
  CircuitRecord find(const Pool& pool);

  // The rest is for units that write.

  // When the pool's next probe may go, while none is under way; absent too when it is closed.
  std::optional<Time> nextProbe(const Pool& pool);
  // How many jobs may be given out now; absent: no bound. If it is one, then it is for this
  // transaction, and is to be told with probes().
  std::optional<std::int64_t> allows(const Pool& pool);
  void probes(const Pool& pool, const JobId& job);
  // Why nothing is given out, for people.
  std::string obstacle(const Pool& pool);

  // A try of the job failed: what that means, if it means anything. Nothing is changed yet, so that
  // the job's own event comes first.
  std::optional<CircuitVerdict> judge(const Pool& pool, const JobId& job,
                                      std::string_view error_class, std::string_view error);
  void failed(const PoolId& pool, CircuitVerdict verdict);
  // A try ended otherwise.
  void succeeded(const PoolId& pool);
  void gaveBack(const PoolId& pool, const JobId& job);

  // Closes it and forgets what failed.
  void reset(const PoolId& pool, std::string_view reason);
  void removeOf(const PoolId& pool);

 private:
  static CircuitRules rulesOf(const Pool& pool);
  static bool isOn(const Pool& pool) { return *pool.settings.circuit_failures > 0; }
  // As this session last saw it.
  const CircuitRecord& known(const PoolId& pool);
  // As it is, and nobody else changes it until the transaction ends.
  const CircuitRecord& hold(const PoolId& pool);
  Session::KnownCircuit& entry(const PoolId& pool);
  void save(const PoolId& pool, CircuitRecord record);
  void tellOpened(const PoolId& pool, const CircuitRecord& record, bool again);
  void tellClosed(const PoolId& pool, const CircuitRecord& before, std::string_view reason);

  Session& s_;
};

}  // namespace muster
