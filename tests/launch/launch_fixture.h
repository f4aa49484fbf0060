#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/support/service_fixture.h"

namespace muster::test {

// Tests in which the service launches workers: each has a service of its own, with the templates
// and pools it names. Templates run in the service's folder.
class LaunchFixture : public testing::Test {
 protected:
  // `settings` are lines of muster.yml beside those that make tests fast.
  explicit LaunchFixture(const std::string& settings);
  ~LaunchFixture() override;

  PoolClient& pool() { return pool_; }
  Http& http() { return pool_.http(); }
  Service& service() { return service_; }

  Json::Value check(const std::string& body = "");  // POST
  Json::Value explain();                            // GET
  std::vector<Json::Value> workers();               // of the pool, every status
  std::vector<Json::Value> eventsOf(const std::string& type);
  Json::Value settings() { return http().get(pool_.path()).json; }
  std::string outputOf(const std::string& worker);

  bool becomes(const std::function<bool()>& condition) { return eventually(kPatience, condition); }
  bool allDone(int jobs);
  bool nobodyLeft();  // no process of a worker is there any more
  bool appears(const std::string& file);
  std::string textOf(const std::string& file) { return readFile(service_.folder() / file); }
  void allow(const std::string& file) { writeFile(service_.folder() / file, ""); }

 private:
  Service service_;
  PoolClient pool_;
};

// Its processes that have ended and that nobody has waited for.
int zombiesOf(pid_t parent);
bool isRunning(pid_t pid);

}  // namespace muster::test
