#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/support/eventually.h"
#include "tests/support/pool_client.h"
#include "tests/support/postgres_server.h"
#include "tests/support/problem.h"
#include "tests/support/service.h"

namespace muster::test {

// Real nodes on a database of their own.
class ClusterFixture : public testing::Test {
 protected:
  ~ClusterFixture() override;

  // Starts a node with these lines of muster.yml. Whoever leads goes on to lead, however long it
  // stands still: a lease, and the time between two tries for it, are longer than any test.
  Service& start(const std::string& id, const std::string& settings = {});
  // The same with a lease of 5 seconds, for tests that wait until it is over. A leader that stands
  // still for so long rightly loses the lead: nothing else may depend on who leads.
  Service& startShortLived(const std::string& id, const std::string& settings = {});
  Service& node(const std::string& id) { return *nodes_.at(id); }
  Http& at(const std::string& id);
  PoolClient& pool(const std::string& id);  // the pool `p`, spoken to at that node

  Json::Value cluster(const std::string& id) { return at(id).get("/v1/cluster").json; }
  // Waits until some node leads, and all that are named know it, itself too: the store has it
  // before the node has its answer. The node's id.
  std::string leader(const std::vector<std::string>& ids);
  bool leads(const std::string& id);  // as it says itself
  Json::Int64 epoch(const std::string& id) { return cluster(id)["leader"]["epoch"].asInt64(); }
  std::vector<Json::Value> events(const std::string& id, const std::string& type);
  bool becomes(const std::function<bool()>& condition) { return eventually(kPatience, condition); }
  // Lets the node live on without its settings being looked at again.
  const std::string& databaseUrl() const { return url_; }
  PostgresDatabase& database() { return database_; }

 private:
  Service& startNode(const std::string& id, const std::string& settings);
  std::set<pid_t> liveWorkers(const std::string& by);  // launched, by whichever node

  PostgresDatabase database_;
  const std::string url_ = database_.url();
  std::map<std::string, std::unique_ptr<Service>> nodes_;
  std::map<std::string, std::unique_ptr<PoolClient>> pools_;
};

}  // namespace muster::test
