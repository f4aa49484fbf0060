// The commands that look after workers, against a service that launches them.
#include "tests/launch/command_fixture.h"

namespace muster::test {
namespace {

class Commands : public CommandFixture {
 protected:
  Commands()
      : CommandFixture(
            "templates:\n"
            "  wait: {run: [sh, -c, 'while [ ! -e go ]; do sleep 0.02; done; cat']}\n"
            "  loud: {worker: [sh, -c, 'head -c 70000 /dev/zero | tr \"\\000\" x; echo END; "
            "exit 1']}\n"
            "pools:\n"
            "  p: {template: wait, scaling: {max_workers: 2}}\n"
            "  nothing: {}\n") {}
};

TEST_F(Commands, check_says_why_and_marks_the_limit) {
  pool().pushMany(5);
  ASSERT_TRUE(becomes([&] { return pool().stats()["busy_workers"] == 2; }));
  const auto check = muster({"check", "--pool", "p"});
  EXPECT_EQ(check.exit_code, 0) << check;
  EXPECT_EQ(lines(check.out).at(0),
            "3 runnable jobs, 0 slots free, 0 starting: 3 workers needed, max_workers allows 0");
  EXPECT_TRUE(check.says("max_workers        2  ← binds")) << check;
  EXPECT_EQ(check.err, "");
  allow("go");
}

TEST_F(Commands, check_explains_without_launching) {
  http().post(pool().path("/pause"));
  pool().pushMany(3);
  const auto look = muster({"check", "--pool", "p", "--explain", "--max-workers", "1"});
  EXPECT_EQ(look.exit_code, 0) << look;
  EXPECT_TRUE(look.says("the pool is paused\n")) << look;
  EXPECT_EQ(look.err, "only a look: nothing was launched\n");
  EXPECT_TRUE(workers().empty());
}

TEST_F(Commands, jobs_that_cannot_be_placed_are_shown_with_the_reason) {
  for (int i = 0; i < 2; ++i) {
    pool().push(R"("data":1,"placement":{"requires_capabilities":["gpu"]})");
  }
  const std::string why =
      R"(no worker has the capability "gpu", and the template "wait" is not known to give it)";
  const auto look = muster({"check", "--pool", "p", "--explain"});
  EXPECT_EQ(look.exit_code, 0) << look;
  EXPECT_EQ(
      lines(look.out).at(0),
      "0 runnable jobs, 0 slots free, 0 starting: nobody is needed; 2 jobs cannot be placed: " +
          why);
  EXPECT_TRUE(look.says("          2  " + why + R"(  {"requires_capabilities":["gpu"]})")) << look;
  EXPECT_TRUE(muster({"pools", "stats", "p"}).says("unplaceable             2\n"));
  EXPECT_TRUE(muster({"top", "--once"}).says("UNPLACEABLE"));
  EXPECT_TRUE(muster({"top", "-o", "json"}).says(R"("unplaceable":2)"));
  pool().registerWorker("gpu-box", R"("capabilities":["gpu"])");
  EXPECT_FALSE(muster({"check", "--pool", "p", "--explain"}).says("cannot be placed"));
  EXPECT_FALSE(muster({"top", "--once"}).says("UNPLACEABLE"));
}

TEST_F(Commands, check_without_a_pool_takes_those_with_a_template) {
  const auto all = muster({"check", "-o", "json"});
  EXPECT_EQ(all.exit_code, 0) << all;
  EXPECT_TRUE(all.says(R"("pool_id":"p")")) << all;
  EXPECT_FALSE(all.says(R"("pool_id":"nothing")")) << all;
  EXPECT_EQ(muster({"check", "--pool", "nowhere"}).exit_code, 1);
}

TEST_F(Commands, scale_sets_a_target_and_shows_it) {
  pool().configure(R"("template":"echo","worker_mode":"loop")");
  EXPECT_TRUE(muster({"scale", "--pool", "p"}).says("queue"));
  const auto set = muster({"scale", "--pool", "p", "--target-workers", "2"});
  EXPECT_EQ(set.exit_code, 0) << set;
  EXPECT_TRUE(set.says("target_workers   2\n")) << set;
  ASSERT_TRUE(becomes([&] { return pool().stats()["idle_workers"] == 2; }));
  EXPECT_TRUE(muster({"scale", "--pool", "p"}).says("current_workers  2\n"));
  EXPECT_EQ(muster({"scale", "--pool", "p", "--target-workers", "0"}).exit_code, 0);
  EXPECT_TRUE(nobodyLeft());
}

TEST_F(Commands, reap_names_the_silent_before_and_when_it_takes_them) {
  PoolClient quiet(service().url(), "quiet");
  quiet.configure(R"("heartbeat_interval_seconds":1000,"stale_threshold_seconds":2000)");
  quiet.registerWorker("silent");
  const std::vector<std::string> reap = {"reap", "--pool", "quiet", "--stale-threshold-seconds",
                                         "0.001"};
  auto dry = reap;
  dry.emplace_back("--dry-run");
  ASSERT_TRUE(becomes([&] { return muster(dry).out == "silent\n"; }));
  EXPECT_EQ(muster(dry).err, "would reap 1 workers, 0 jobs go back\n");
  EXPECT_EQ(quiet.worker("silent")["status"], "active");
  const auto done = muster(reap);
  EXPECT_EQ(done.out, "silent\n") << done;
  EXPECT_EQ(quiet.worker("silent")["status"], "lost");
}

TEST_F(Commands, pools_set_gives_a_setting_its_default_again) {
  EXPECT_EQ(muster({"pools", "set", "mine", "max_workers=3", "template=echo"}).exit_code, 0);
  EXPECT_EQ(http().get("/v1/pools/mine").json["scaling"]["max_workers"], 3);
  const auto unset =
      muster({"pools", "set", "mine", "template=", "scaling.max_workers=", "slots=2"});
  EXPECT_EQ(unset.exit_code, 0) << unset;
  const Json::Value now = http().get("/v1/pools/mine").json;
  EXPECT_EQ(now["scaling"]["max_workers"], 10);
  EXPECT_FALSE(now.isMember("template"));
  EXPECT_EQ(now["slots"], 2);
}

TEST_F(Commands, push_makes_copies_in_batches) {
  http().post(pool().path("/pause"));
  const auto push = muster({"push", "p", "--data", R"({"a": 1})", "--count", "3"});
  EXPECT_EQ(push.exit_code, 0) << push;
  EXPECT_EQ(lines(push.out).size(), 3U);
  EXPECT_EQ(push.err, "pushed 3 jobs to p\n");
  EXPECT_EQ(pool().stats()["queue_depth"], 3);
  EXPECT_EQ(muster({"push", "p", "--data", "1", "--count", "2001"}).exit_code, 0);
  EXPECT_EQ(pool().stats()["queue_depth"], 2004);
}

TEST_F(Commands, push_waits_for_all_copies) {
  allow("go");
  const auto push =
      muster({"push", "p", "--data", "7", "--count", "3", "--wait", "60"}, 2 * kPatience);
  EXPECT_EQ(push.exit_code, 0) << push;
  EXPECT_EQ(push.out, "7\n7\n7\n");
}

TEST_F(Commands, decisions_come_newest_first) {
  pool().push();
  ASSERT_TRUE(becomes([&] { return pool().stats()["busy_workers"] == 1; }));
  http().post(pool().path("/pause"));
  muster({"check", "--pool", "p"});
  const auto decisions = muster({"decisions", "--pool", "p"});
  EXPECT_EQ(decisions.exit_code, 0) << decisions;
  const auto rows = lines(decisions.out);
  ASSERT_GE(rows.size(), 3U) << decisions;
  EXPECT_NE(rows[1].find("paused"), std::string::npos) << decisions;
  EXPECT_NE(decisions.out.find("launching 1"), std::string::npos) << decisions;
  EXPECT_EQ(lines(muster({"decisions", "--pool", "p", "--limit", "1"}).out).size(), 2U);
  allow("go");
}

TEST_F(Commands, the_output_of_a_worker_is_printed_and_its_cut_told) {
  pool().configure(
      R"("template":"loud","launch_backoff_base_seconds":300,"scaling":{"max_workers":1})");
  pool().push();
  ASSERT_TRUE(becomes([&] { return !eventsOf("worker.exited").empty(); }));
  const auto output = muster({"workers", "output", workers().front()["worker_id"].asString()});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  EXPECT_TRUE(output.out.ends_with("xEND\n"));
  EXPECT_EQ(output.err, "only the last 65536 bytes were kept\n");
  EXPECT_EQ(muster({"workers", "output", "nobody"}).exit_code, 1);
}

TEST_F(Commands, top_prints_a_snapshot_where_there_is_no_terminal) {
  const Json::Value job = pool().push();
  ASSERT_TRUE(becomes([&] { return pool().stats()["busy_workers"] == 1; }));
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"top", "--once"}, std::vector<std::string>{"top"}}) {
    const auto top = muster(args);
    EXPECT_EQ(top.exit_code, 0) << top;
    const auto rows = lines(top.out);
    ASSERT_EQ(rows.size(), 8U) << top;
    EXPECT_NE(rows[0].find("pools 2, workers 1"), std::string::npos) << top;
    EXPECT_TRUE(rows[3].starts_with("nothing ")) << top;
    EXPECT_TRUE(rows[4].starts_with("p ")) << top;
    EXPECT_NE(rows[7].find("  busy  "), std::string::npos) << top;
    EXPECT_TRUE(rows[7].ends_with(job["id"].asString())) << top;
    EXPECT_EQ(top.out.find('\x1b'), std::string::npos) << top;
  }
  EXPECT_FALSE(muster({"top", "--once", "--pool", "p"}).says("nothing"));
  EXPECT_TRUE(muster({"top", "--once", "-o", "json"}).says(R"("busy_workers":1)"));
  EXPECT_EQ(muster({"top", "--once", "--pool", "nowhere"}).exit_code, 1);
  allow("go");
}

TEST_F(Commands, a_worker_is_stopped_after_its_job) {
  pool().push();
  ASSERT_TRUE(becomes([&] { return pool().stats()["busy_workers"] == 1; }));
  const auto stop = muster({"workers", "stop", workers().front()["worker_id"].asString()});
  EXPECT_EQ(stop.exit_code, 0) << stop;
  EXPECT_TRUE(stop.says("  terminating, ends after its job\n")) << stop;
  allow("go");
  EXPECT_TRUE(allDone(1));
}

}  // namespace
}  // namespace muster::test
