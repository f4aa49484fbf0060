#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/host.h"
#include "models/policy/host_state.h"
#include "models/store/sql/held_resources.h"
#include "models/store/sql/session.h"

namespace muster {

// The machines on which something is kept. Whether one is up is worked out when somebody asks, from
// its workers, its nodes and its last sync; what is written of it is what a duty found.
class Hosts {
 public:
  explicit Hosts(Session& session) : s_(session) {}

  struct Row {
    Host host;  // `state` as it is now
    std::string holder;
    HostState noted = HostState::kUp;
    HostSigns signs;
    std::optional<Time> sync_began_at;
    std::int64_t lost_to = 0;
    bool forgotten = false;
  };
  // Also of one that is forgotten, while it has something left.
  std::optional<Row> row(std::string_view name);
  std::optional<Host> find(std::string_view name);
  // By name, behind `cursor`.
  std::vector<Host> list(std::string_view cursor, int limit);
  // Also of one without a row: up where a worker or a node is on it, else lost.
  HostState stateOf(std::string_view name);
  // It says that its folder has more than it may: nobody is launched on it.
  bool isOverDiskLimit(std::string_view name);
  // Of its folder; empty: it has none.
  std::string dataDir(std::string_view name);

  // Exclusive, like what follows. False: there is no such host.
  bool forget(std::string_view name);
  // For hosts that hold something and are silent or gone; false: something is left.
  bool tend(HeldResources& held);
  std::int64_t removeOld(Time before, int limit);

 private:
  void tendOne(const Row& row, bool has_active, bool has_stale, HeldResources& held);
  void emit(std::string_view type, const Row& row);
  Row read(const SqlRows& row) const;
  std::int64_t lastHeldBy(const std::string& holder);

  Session& s_;
};

}  // namespace muster
