#include "app/cli/new_job_json.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

FlowAddCommand addOf(const std::string& name, const std::string& pool) {
  FlowAddCommand add;
  add.name = name;
  add.pool = pool;
  return add;
}

TEST(NewFlowJob, has_a_name_a_pool_and_its_edges) {
  FlowAddCommand add = addOf("merge", "cpu");
  add.after = {"left", "right"};
  add.after_failure = {"x"};
  add.after_any = {"y"};
  add.may_fail = true;
  add.priority = 3;
  EXPECT_EQ(newFlowJobJson(add, " {\"n\": 1}\n").value(),
            R"({"name":"merge","pool_id":"cpu","data":{"n": 1},"priority":3,)"
            R"("after":["left","right"],"after_failure":["x"],"after_any":["y"],"may_fail":true})");
  EXPECT_EQ(newFlowJobJson(addOf("a", "p"), "1").value(), R"({"name":"a","pool_id":"p","data":1})");
  EXPECT_FALSE(newFlowJobJson(add, "nonsense"));
}

// A repeated fan-out adds nothing only if the names stay what they are.
TEST(NewFlowJob, without_a_name_it_is_called_by_pool_and_data) {
  const std::string name = flowJobName("cpu", R"({"part":7})");
  EXPECT_EQ(name, "7a4ff17c9a13b8cc88c9b5abce414ff5");
  EXPECT_EQ(newFlowJobJson(addOf("", "cpu"), " {\"part\":7}\n").value(),
            R"({"name":")" + name + R"(","pool_id":"cpu","data":{"part":7}})");
  EXPECT_NE(flowJobName("cpu", "8"), flowJobName("cpu", "7"));
  EXPECT_NE(flowJobName("net", "7"), flowJobName("cpu", "7"));
  EXPECT_NE(flowJobName("a", "b"), flowJobName("ab", ""));
}

}  // namespace
}  // namespace muster
