// What launched workers leave behind when the service has to look after it, as in a container.
#include "tests/launch/launch_fixture.h"

namespace muster::test {
namespace {

TEST(Orphans, are_reaped_and_exit_codes_of_workers_are_still_known) {
  constexpr int kWorkers = 3;
  // Each worker leaves ten processes that end after it, out of its group and its parent's care.
  Service service({.settings =
                       "launch_rate: 1000\n"
                       "templates:\n"
                       "  messy: {worker: [sh, -c, 'for i in 1 2 3 4 5 6 7 8 9 10; do "
                       "setsid sh -c \"while kill -0 $$; do sleep 0.02; done; echo x >> left\" & "
                       "done 2>/dev/null; exit 3']}\n"
                       "pools:\n"
                       "  p: {template: messy, launch_backoff_base_seconds: 0, "
                       "launch_suspend_after: 3, scaling: {max_workers: 1}}\n",
                   .ticker = true,
                   .adopts_orphans = true});
  PoolClient pool(service.url(), "p");
  pool.push();
  const auto ended = [&pool] { return pool.events("types=worker.exited"); };
  ASSERT_TRUE(eventually(kPatience, [&] { return ended().size() == kWorkers; })) << service.log();
  for (const auto& event : ended()) EXPECT_EQ(event["details"]["exit_code"], 3) << event;
  const auto left = [&service] { return readFile(service.folder() / "left").size(); };
  ASSERT_TRUE(eventually(kPatience, [&] { return left() == kWorkers * 10 * 2; })) << left();
  EXPECT_TRUE(eventually(kPatience, [&] { return zombiesOf(service.pid()) == 0; }));
}

}  // namespace
}  // namespace muster::test
