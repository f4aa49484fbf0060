#include "tests/cluster/cluster_fixture.h"

#include <signal.h>

#include <iostream>

namespace muster::test {

ClusterFixture::~ClusterFixture() {
  std::set<pid_t> left;
  for (auto& [id, node] : nodes_) {
    if (HasFailure()) std::cerr << "log of " << id << ":\n" << node->log() << "\n";
    if (!node->running()) continue;
    ::kill(node->pid(), SIGCONT);
    left.merge(liveWorkers(id));
    EXPECT_EQ(node->stop(), 0) << node->log();
  }
  // Not before: a node would launch others for their jobs.
  for (const pid_t worker : left) ::kill(-worker, SIGKILL);
}

std::set<pid_t> ClusterFixture::liveWorkers(const std::string& by) {
  std::set<pid_t> pids;
  const Json::Value workers = at(by).get("/v1/workers?limit=200").json["items"];
  for (const Json::Value& worker : workers) {
    if (worker.isMember("exited_at") || !worker.isMember("launched_at")) continue;
    if (const int pid = worker["pid"].asInt(); pid > 1) pids.insert(pid);
  }
  return pids;
}

Service& ClusterFixture::start(const std::string& id, const std::string& settings) {
  return startNode(
      id,
      "leader_lease_seconds: 600\nleader_renew_seconds: 200\nnode_heartbeat_seconds: 1\n"
      "node_stale_seconds: 60\nnode_dead_seconds: 120\n" +
          settings);
}

Service& ClusterFixture::startShortLived(const std::string& id, const std::string& settings) {
  return startNode(id,
                   "leader_lease_seconds: 5\nleader_renew_seconds: 1\nnode_heartbeat_seconds: 1\n"
                   "node_stale_seconds: 5\nnode_dead_seconds: 7\n" +
                       settings);
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
    return std::find(ids.begin(), ids.end(), found) != ids.end() && leads(found);
  });
  EXPECT_TRUE(agreed) << "nobody leads";
  return found;
}

bool ClusterFixture::leads(const std::string& id) { return cluster(id)["role"] == "leader"; }

std::vector<Json::Value> ClusterFixture::events(const std::string& id, const std::string& type) {
  return pool(id).events("types=" + type);
}

}  // namespace muster::test
