#include "models/policy/unplaceable.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace muster {
namespace {

using Names = std::vector<std::string>;

bool contains(const Names& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// `the node "a"`, `the nodes "a", "b"`; a long list is cut.
std::string named(std::string_view noun, std::string_view nouns, const Names& names) {
  constexpr std::size_t kMostNames = 5;
  std::string text = fmt::format("the {}", names.size() == 1 ? noun : nouns);
  for (std::size_t i = 0; i < std::min(names.size(), kMostNames); ++i) {
    text += fmt::format("{} \"{}\"", i == 0 ? "" : ",", names[i]);
  }
  if (names.size() > kMostNames) text += fmt::format(" and {} more", names.size() - kMostNames);
  return text;
}

bool mayRunOn(const Placement& placement, const std::string& node) {
  return !contains(placement.forbidden_nodes, node) &&
         (!placement.allowed_nodes || contains(*placement.allowed_nodes, node));
}

template <class Fits>
bool anybody(const PlacementSupply& supply, const Fits& fits) {
  return std::any_of(supply.workers.begin(), supply.workers.end(), fits) ||
         (supply.launchable && fits(*supply.launchable));
}

// Those of the names that nobody has.
Names lacking(const Names& wanted, Names WorkerTraits::*had, const PlacementSupply& supply) {
  Names missing;
  for (const std::string& name : wanted) {
    if (!anybody(supply, [&](const auto& worker) { return contains(worker.*had, name); })) {
      missing.push_back(name);
    }
  }
  return missing;
}

// Why none is launched: there is no template, or else `because`.
std::string notLaunched(const PlacementSupply& supply, const std::string& because) {
  if (supply.launchable) return because;
  if (supply.template_name.empty()) return ", and the pool has no template to launch one from";
  return fmt::format(", and the pool's template \"{}\" is not configured here",
                     supply.template_name);
}

std::string nodesAreWrong(const Placement& placement, const PlacementSupply& supply) {
  const std::string here = supply.launchable.value_or(WorkerTraits{}).node;
  if (!placement.allowed_nodes) {
    const bool alone = supply.workers.empty();
    return (alone ? "there is no worker" : "all workers are on forbidden nodes") +
           notLaunched(supply, fmt::format(", and this service launches on \"{}\", which is "
                                           "forbidden{}",
                                           here, alone ? "" : " too"));
  }
  Names possible;
  for (const std::string& node : *placement.allowed_nodes) {
    if (mayRunOn(placement, node)) possible.push_back(node);
  }
  if (placement.allowed_nodes->empty()) return "allowed_nodes is empty, so no node may run it";
  if (possible.empty()) return "every node in allowed_nodes is forbidden, so no node may run it";
  return fmt::format("only {} may run it: {} worker", named("node", "nodes", possible),
                     possible.size() == 1 ? "it has no" : "none of them has a") +
         notLaunched(supply, fmt::format(", and this service launches on \"{}\"", here));
}

std::string nobodyHas(std::string_view noun, std::string_view nouns, const Names& missing,
                      const PlacementSupply& supply) {
  return fmt::format("no worker has {}", named(noun, nouns, missing)) +
         notLaunched(supply,
                     fmt::format(", and the template \"{}\" is not known to give {}",
                                 supply.template_name, missing.size() == 1 ? "it" : "them"));
}

// Each part of it is met by somebody.
std::string nobodyHasAll(const Placement& placement, const PlacementSupply& supply) {
  Names parts;
  if (placement.allowed_nodes) parts.emplace_back("an allowed node");
  if (!placement.allowed_nodes && !placement.forbidden_nodes.empty()) {
    parts.emplace_back("a node that is not forbidden");
  }
  if (!placement.executors.empty()) {
    parts.push_back(named("executor", "executors", placement.executors));
  }
  if (!placement.capabilities.empty()) {
    parts.push_back(named("capability", "capabilities", placement.capabilities));
  }
  if (!placement.region.empty()) parts.push_back(named("region", "", {placement.region}));
  return fmt::format("no single worker has all it asks for ({})", fmt::join(parts, "; ")) +
         notLaunched(supply, ", nor would one that this service launches");
}

std::string reasonHere(const Placement& placement, const PlacementSupply& supply) {
  if (placement.unreadable) return "its placement cannot be read; push it again";
  const bool names_nodes = placement.allowed_nodes || !placement.forbidden_nodes.empty();
  if (names_nodes &&
      !anybody(supply, [&](const auto& worker) { return mayRunOn(placement, worker.node); })) {
    return nodesAreWrong(placement, supply);
  }
  if (const Names missing = lacking(placement.executors, &WorkerTraits::executors, supply);
      !missing.empty()) {
    return nobodyHas("executor", "executors", missing, supply);
  }
  if (const Names missing = lacking(placement.capabilities, &WorkerTraits::capabilities, supply);
      !missing.empty()) {
    return nobodyHas("capability", "capabilities", missing, supply);
  }
  const std::string& region = placement.region;
  if (!region.empty() &&
      !anybody(supply, [&](const auto& worker) { return worker.region == region; })) {
    return fmt::format("no worker is in the region \"{}\"", region) +
           notLaunched(supply, fmt::format(", and this service launches in \"{}\"",
                                           supply.launchable.value_or(WorkerTraits{}).region));
  }
  return nobodyHasAll(placement, supply);
}

// Where another service might launch one. Its region is not known, so it is given the benefit of
// the doubt.
Names nodesThatMight(const Placement& placement, const PlacementSupply& supply) {
  Names nodes;
  if (supply.template_name.empty()) return nodes;
  WorkerTraits launched = supply.launchable.value_or(WorkerTraits{});
  launched.region = placement.region;
  for (const std::string& node : supply.other_nodes) {
    launched.node = node;
    if (!placementObstacle(placement, launched, 0)) nodes.push_back(node);
  }
  return nodes;
}

}  // namespace

bool isPlaceable(const Placement& placement, const PlacementSupply& supply) {
  const bool asks_nothing = !placement.unreadable && placement.executors.empty() &&
                            placement.capabilities.empty() && !placement.allowed_nodes &&
                            placement.forbidden_nodes.empty() && placement.region.empty();
  return asks_nothing || anybody(supply, [&](const auto& worker) {
           return !placementObstacle(placement, worker, 0);
         });
}

std::string whyUnplaceable(const Placement& placement, const PlacementSupply& supply) {
  std::string why = reasonHere(placement, supply);
  const Names might = nodesThatMight(placement, supply);
  if (!might.empty()) {
    why += fmt::format("; {} may be able to launch one", named("service on", "services on", might));
  }
  return why;
}

std::string nobodyRunsOn(const std::string& host, const std::string& what) {
  return fmt::format("{} is on host {}, where nobody runs", what, host);
}

std::string unplaceableText(std::int64_t count, const std::vector<UnplaceableJobs>& largest) {
  if (count == 0) return {};
  std::string text = fmt::format("{} job{} cannot be placed", count, count == 1 ? "" : "s");
  if (largest.empty()) return text;
  const auto& [part, placement, reason] = largest.front();
  text += part == count ? ": " : fmt::format(", {} of them because ", part);
  return text + reason;
}

}  // namespace muster
