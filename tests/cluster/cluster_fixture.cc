#include "tests/cluster/cluster_fixture.h"

#include <signal.h>

#include <iostream>

namespace muster::test {

ClusterFixture::~ClusterFixture() {
  for (auto& [id, node] : nodes_) {
    if (HasFailure()) std::cerr << "log of " << id << ":\n" << node->log() << "\n";
    if (!node->running()) continue;
    ::kill(node->pid(), SIGCONT);
    EXPECT_EQ(node->stop(), 0) << node->log();
  }
}

Service& ClusterFixture::start(const std::string& id, const std::string& settings) {
  return startNode(id,
                   "leader_lease_seconds: 3\nleader_renew_seconds: 1\nnode_heartbeat_seconds: 1\n"
                   "node_stale_seconds: 3\nnode_dead_seconds: 5\n" +
                       settings);
}

Service& ClusterFixture::startPatient(const std::string& id, const std::string& settings) {
  return startNode(id, settings);
}

Service& ClusterFixture::startNode(const std::string& id, const std::string& settings) {
  auto& node = nodes_[id];
  node = std::make_unique<Service>(ServiceOptions{
      .store = url_, .settings = "node_id: " + id + "\n" + settings, .ticker = true});
  pools_[id] = std::make_unique<PoolClient>(node->url(), "p");
  return *node;
}

Http& ClusterFixture::at(const std::string& id) { return pool(id).http(); }

PoolClient& ClusterFixture::pool(const std::string& id) { return *pools_.at(id); }

std::string ClusterFixture::leader(const std::vector<std::string>& ids) {
  std::string found;
  const bool agreed = becomes([&] {
    found.clear();
    for (const std::string& id : ids) {
      const std::string said = cluster(id)["leader"]["node_id"].asString();
      if (said.empty() || (!found.empty() && said != found)) return false;
      found = said;
    }
    return std::find(ids.begin(), ids.end(), found) != ids.end();
  });
  EXPECT_TRUE(agreed) << "nobody leads";
  return found;
}

bool ClusterFixture::leads(const std::string& id) { return cluster(id)["role"] == "leader"; }

std::vector<Json::Value> ClusterFixture::events(const std::string& id, const std::string& type) {
  return pool(id).events("types=" + type);
}

}  // namespace muster::test
