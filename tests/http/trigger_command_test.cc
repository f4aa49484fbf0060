#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

// The `muster triggers` command against the real service.
class TriggerCommand : public ServiceFixture {
 protected:
  int run(std::vector<std::string> args) {
    args.insert(args.begin(), {musterBinary(), "triggers"});
    args.insert(args.end(), {"--url", service().url()});
    const TempFolder folder;
    ChildProcess muster({args, folder.path()});
    const int code = muster.wait().value_or(-1);
    out_ = muster.out();
    err_ = muster.err();
    return code;
  }
  std::string out_, err_;
};

TEST_F(TriggerCommand, lists_shows_and_fires) {
  ASSERT_EQ(http_
                .put("/v1/triggers/" + testName(),
                     R"({"type":"cron","schedule":"@daily","machine":"stale_worker_reaper"})")
                .status,
            201);
  EXPECT_EQ(run({}), 0) << err_;
  EXPECT_NE(out_.find(testName()), std::string::npos) << out_;
  EXPECT_NE(out_.find("/v1/hooks/work_added"), std::string::npos) << out_;
  EXPECT_EQ(run({"show", testName()}), 0) << err_;
  EXPECT_NE(out_.find("next_fire_at"), std::string::npos) << out_;
  EXPECT_EQ(run({"fire", testName(), "--pool", "p"}), 0) << err_;
  EXPECT_EQ(out_.size(), 27U) << "the id of the run" << out_;
  EXPECT_EQ(run({"-o", "json"}), 0);
  EXPECT_TRUE(out_.starts_with("{\"items\":[")) << out_;
  EXPECT_EQ(run({"show", "nobody"}), 1);
  EXPECT_NE(err_.find("there is no trigger"), std::string::npos) << err_;
}

}  // namespace
}  // namespace muster::test
