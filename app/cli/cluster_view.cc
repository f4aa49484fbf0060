#include "app/cli/cluster_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/relative_time.h"
#include "app/cli/service_call.h"

namespace muster {
namespace {

std::string leadOf(JsonValue leader, const std::optional<Time>& now) {
  std::string text = "← epoch " + textOf(leader, "epoch");
  const auto until = timeOf(leader, "expires_at");
  if (until && now) {
    text += fmt::format(", {} left", durationText(std::max(*until - *now, Millis(0))));
  }
  return text;
}

Tint tintOf(std::string_view status) {
  if (status == "healthy") return Tint::kGood;
  return status == "stale" ? Tint::kBusy : Tint::kBad;
}

}  // namespace

Table clusterTable(JsonValue cluster, const std::optional<Time>& now) {
  Table table({{.title = "NODE", .can_shrink = true},
               {.title = "ROLE"},
               {.title = "STATUS"},
               {.title = "URL", .can_shrink = true},
               {.title = "HEARTBEAT"},
               {.title = "LEADER"}});
  const auto leader = member(cluster, "leader");
  for (const auto& node : itemsOf(cluster, "nodes")) {
    const std::string id = textOf(node, "node_id"), status = textOf(node, "status");
    const bool leads = leader && textOf(*leader, "node_id") == id;
    table.add({id, textOf(node, "role"), Cell(status, tintOf(status)), textOf(node, "url"),
               ago(node, "heartbeat_at", now), leads ? leadOf(*leader, now) : ""});
  }
  return table;
}

}  // namespace muster
