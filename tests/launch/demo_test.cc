// The client's verification plan, told by `muster demo` against a service that launches workers.
#include "tests/launch/command_fixture.h"

namespace muster::test {
namespace {

constexpr auto kLongEnough = 5 * kPatience;

class Demo : public CommandFixture {
 protected:
  Demo() : CommandFixture("") {}

  static std::size_t count(const std::string& text, const std::string& mark) {
    std::size_t found = 0;
    for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) ++found;
    return found;
  }
};

TEST_F(Demo, everything_is_as_expected_and_the_pool_is_gone_afterwards) {
  const auto demo = muster({"demo"}, kLongEnough);
  EXPECT_EQ(demo.exit_code, 0) << demo;
  EXPECT_EQ(count(demo.out, "✗"), 0U) << demo;
  EXPECT_EQ(count(demo.out, "✓"), 20U) << demo;
  EXPECT_TRUE(demo.says("10/10 done")) << demo;
  EXPECT_TRUE(demo.says("left succeeded, right succeeded")) << demo;
  EXPECT_TRUE(demo.says("All 20 as expected.\n")) << demo;
  EXPECT_EQ(demo.err, "");
  EXPECT_EQ(http().get("/v1/pools").json["items"].size(), 0U);
  EXPECT_EQ(http().get("/v1/flows").json["items"].size(), 0U);
}

TEST_F(Demo, json_is_for_scripts_and_the_pool_can_be_kept) {
  const auto demo = muster({"demo", "--keep", "-o", "json"}, kLongEnough);
  EXPECT_EQ(demo.exit_code, 0) << demo;
  EXPECT_EQ(lines(demo.out).size(), 1U) << demo;
  EXPECT_TRUE(demo.says(R"("ok":true)")) << demo;
  const auto pools = http().get("/v1/pools").json["items"];
  ASSERT_EQ(pools.size(), 1U);
  EXPECT_TRUE(pools[0]["pool_id"].asString().starts_with("demo-"));
}

TEST_F(Demo, an_absent_service_is_told_as_anywhere) {
  const auto demo = muster({"demo", "--url", "http://127.0.0.1:1"});
  EXPECT_EQ(demo.exit_code, 3) << demo;
  EXPECT_TRUE(demo.err.starts_with("cannot reach the service at http://127.0.0.1:1")) << demo;
  EXPECT_EQ(demo.out, "");
}

}  // namespace
}  // namespace muster::test
