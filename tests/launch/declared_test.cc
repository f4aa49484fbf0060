// What a template declares its workers can do decides for which jobs one is launched.
#include "tests/launch/launch_fixture.h"

namespace muster::test {
namespace {

class Declared : public LaunchFixture {
 protected:
  Declared()
      : LaunchFixture(
            "templates:\n"
            "  able: {builtin: echo, capabilities: [gpu], executors: [docker]}\n"
            "pools:\n"
            "  p: {template: able}\n"
            "  plain: {template: echo}\n") {}
};

constexpr const char* kAsking =
    R"("data":1,"placement":{"requires_capabilities":["gpu"],"requires_executors":["docker"]})";

TEST_F(Declared, a_job_is_run_by_a_worker_launched_for_it) {
  const Json::Value job = pool().push(kAsking);
  const auto done = http().get("/v1/jobs/" + job["id"].asString() + "?wait_seconds=30");
  EXPECT_EQ(done.json["status"], "done");
  ASSERT_EQ(workers().size(), 1U);
  EXPECT_EQ(workers()[0]["capabilities"][0], "gpu");
  EXPECT_EQ(workers()[0]["executor_types"][0], "docker");
}

TEST_F(Declared, for_what_is_not_declared_nobody_is_launched_and_a_check_says_why) {
  PoolClient plain(service().url(), "plain");
  plain.push(kAsking);
  const Json::Value decision = http().post("/v1/pools/plain/check").json;
  EXPECT_EQ(decision["launched"], 0);
  EXPECT_EQ(decision["binding_limit"], "no_demand");
  EXPECT_EQ(
      decision["unplaceable"][0]["reason"],
      R"(no worker has the executor "docker", and the template "echo" is not known to give it)");
  EXPECT_TRUE(plain.events("types=worker.starting").empty());
}

}  // namespace
}  // namespace muster::test
