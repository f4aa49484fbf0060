#include "models/operations/hosts.h"
#include "models/store/sql/hosts.h"
#include "tests/store/resource_fixture.h"

namespace muster::test {
namespace {

// Machines, and what is in their folders.
class HostTest : public ResourceTest {
 protected:
  HostTest() {
    rules.resources.max_disk_bytes = 1000;
    reopen();
    registerWorker(newWorker("w", "h"));
  }

  Resource keepOn(const std::string& id, std::optional<std::int64_t> bytes = 10,
                  const std::string& host = "h", const std::string& uri = "") {
    NewResource made = held(id, {Holder::Kind::kHost, host});
    made.size_bytes = bytes;
    made.uri = uri;
    made.ttl = Millis(std::chrono::hours(24));
    return act(RegisterResource{made}).value().resource;
  }
  static SyncHost page(const std::vector<Resource>& there, bool complete = true,
                       std::int64_t in_use = 0) {
    SyncHost op{.host = "h", .folder_id = "f1", .data_dir = "/d"};
    for (const Resource& resource : there) {
      op.resources.push_back({resource.uid, resource.size_bytes.value_or(1), ""});
    }
    op.complete = complete;
    op.disk_bytes_in_use = in_use;
    return op;
  }
  SyncHost::Reply sync(const SyncHost& op) {
    clock.advance(1s);
    return act(op).value();
  }
  Host host(const std::string& name = "h") { return look(FindHost{name}).value(); }
  HostState stateOf(const std::string& name = "h") {
    return read([&](Store& s) { return Hosts(s.session).stateOf(name); });
  }
  // "active", or "lost host_lost": the state, with the reason.
  std::string seen(const Resource& resource) {
    const Resource found = find(resource.uid);
    return std::string(name(found.state)) + (found.reason.empty() ? "" : " " + found.reason);
  }
  void endWorker(const std::string& id = "w") {
    const auto change = with<WorkerChange>([](auto& c) { c.status = "terminated"; });
    write([&](Store& s) { return s.workers().change(WorkerId(id), change); }).value();
  }
  TendHolders::Reply tend() { return act(TendHolders{}).value(); }
};
MUSTER_ON_EVERY_BACKEND(HostTest);

TEST_P(HostTest, a_host_that_goes_away_has_a_grace_before_what_it_holds_is_lost) {
  const Resource r = keepOn("r");
  tend();
  const auto before = lastEvent();
  EXPECT_EQ(host().state, HostState::kUp);
  EXPECT_EQ(host().resources, 1);
  endWorker();
  EXPECT_EQ(stateOf(), HostState::kAway);
  EXPECT_EQ(seen(r), "active") << "nobody has looked yet";
  tend();
  EXPECT_EQ(seen(r), "stale");
  clock.advance(3599s);
  tend();
  EXPECT_EQ(seen(r), "stale");
  clock.advance(1s);
  EXPECT_EQ(stateOf(), HostState::kLost);
  tend();
  EXPECT_EQ(seen(r), "lost host_lost");
  EXPECT_EQ(host().state, HostState::kLost);
  EXPECT_EQ(eventTypesAfter(before), (Names{"worker.terminated", "host.away", "resource.stale",
                                            "host.lost", "resource.lost"}));
  EXPECT_EQ(tend().changed, 0);
}

TEST_P(HostTest, a_host_that_comes_back_in_time_has_what_it_had) {
  const Resource r = keepOn("r");
  endWorker();
  tend();
  clock.advance(30min);
  registerWorker(newWorker("w2", "h"));
  EXPECT_EQ(stateOf(), HostState::kUp);
  const auto before = lastEvent();
  tend();
  EXPECT_EQ(seen(r), "active");
  EXPECT_EQ(eventTypesAfter(before), Names{"resource.recovered"});
  endWorker("w2");
  tend();
  clock.advance(40min);
  tend();
  EXPECT_EQ(seen(r), "stale") << "the grace begins anew";
}

TEST_P(HostTest, a_sync_and_a_node_count_as_signs_of_life) {
  endWorker();
  EXPECT_EQ(stateOf(), HostState::kLost) << "nothing is known of it";
  sync(page({}));
  EXPECT_EQ(stateOf(), HostState::kUp);
  const Resource r = keepOn("r");
  clock.advance(300s);
  EXPECT_EQ(stateOf(), HostState::kUp);
  clock.advance(1s);
  EXPECT_EQ(stateOf(), HostState::kAway);
  tend();
  EXPECT_EQ(seen(r), "stale");
  write([](Store& s) {
    s.cluster().join(with<Node>([](Node& n) { n.id = "n", n.host = "h"; }), "i");
  });
  EXPECT_EQ(stateOf(), HostState::kUp);
  tend();
  EXPECT_EQ(seen(r), "active");
}

TEST_P(HostTest, the_host_of_the_only_node_is_up) {
  rules.host = "ours";
  reopen();
  const Resource r = keepOn("r", 10, "ours");
  clock.advance(24h);
  tend();
  EXPECT_EQ(host("ours").state, HostState::kUp);
  EXPECT_EQ(host("ours").last_seen, clock.now());
  EXPECT_EQ(seen(r), "active");
}

TEST_P(HostTest, what_has_a_copy_outlives_its_host) {
  const Resource in_cloud = keepOn("in-cloud", 10, "h", "s3://b/k"), stored = keepOn("stored");
  upload("stored", sum('a'), 10).value();
  const Resource only_there = keepOn("only-there");
  endWorker();
  tend();
  EXPECT_EQ(seen(stored), "stale");
  clock.advance(1h);
  const auto before = lastEvent();
  tend();
  EXPECT_EQ(find("stored").holder, (Holder{Holder::Kind::kStore, ""}));
  EXPECT_EQ(seen(stored), "active");
  EXPECT_EQ(find("in-cloud").holder, (Holder{Holder::Kind::kExternal, ""}));
  EXPECT_TRUE(find("in-cloud").host.empty());
  EXPECT_EQ(seen(only_there), "lost host_lost");
  EXPECT_EQ(eventTypesAfter(before),
            (Names{"host.lost", "resource.recovered", "resource.recovered", "resource.lost"}));
}

TEST_P(HostTest, a_sync_names_what_is_to_be_deleted_and_what_nobody_knows) {
  const Resource kept = keepOn("kept"), going = keepOn("going"), gone = keepOn("gone");
  const Resource elsewhere = keep("elsewhere");
  act(DeleteResource{"going"}).value();
  act(DeleteResource{.name = "gone", .force = true, .by = {.is_admin = true}}).value();
  Resource stray;
  stray.uid = "u~nobody";
  const auto reply = sync(page({kept, going, gone, elsewhere, stray}));
  Names evict = {going.uid, gone.uid};
  EXPECT_EQ(reply.evict, evict);
  EXPECT_EQ(reply.unknown, (Names{elsewhere.uid, "u~nobody"}));
  EXPECT_EQ(seen(going), "evicting deleted");
  EXPECT_EQ(sync(page({kept})).evict, Names());
  EXPECT_EQ(seen(going), "evicted deleted");
  EXPECT_EQ(seen(kept), "active");
}

TEST_P(HostTest, what_a_sync_does_not_name_any_more_is_gone) {
  const Resource a = keepOn("a"), b = keepOn("b");
  sync(page({a, b}));
  const Resource fresh = keepOn("fresh");
  sync(page({a}));
  EXPECT_EQ(seen(a), "active");
  EXPECT_EQ(seen(b), "lost not_held");
  EXPECT_EQ(seen(fresh), "active") << "it may be on its way into the folder";
  clock.advance(1h);
  sync(page({a}));
  EXPECT_EQ(seen(fresh), "lost not_held");
  EXPECT_EQ(seen(a), "active");
}

TEST_P(HostTest, a_sync_of_several_pages_is_judged_at_the_last) {
  const Resource a = keepOn("a"), b = keepOn("b"), c = keepOn("c");
  sync(page({a, b, c}));
  sync(page({a}, false));
  EXPECT_EQ(seen(b), "active");
  EXPECT_EQ(seen(c), "active");
  sync(page({b}));
  EXPECT_EQ(seen(a), "active");
  EXPECT_EQ(seen(b), "active");
  EXPECT_EQ(seen(c), "lost not_held");
}

TEST_P(HostTest, what_is_used_is_not_to_be_deleted_yet) {
  const Resource r = keepOn("r");
  const auto lease = act(LeaseResource{.name = "r"}).value();
  act(DeleteResource{"r"}).value();
  EXPECT_EQ(sync(page({r})).evict, Names());
  act(ReleaseResource{"r", lease.lease_id}).value();
  EXPECT_EQ(sync(page({r})).evict, Names{r.uid});
}

TEST_P(HostTest, another_folder_is_refused_while_the_host_is_up) {
  const Resource r = keepOn("r");
  sync(page({r}));
  SyncHost other = page({});
  other.folder_id = "f2";
  const auto refused = act(other);
  EXPECT_EQ(codeOf(refused), ErrorCode::kHostConflict);
  EXPECT_NE(refused.error().detail.find("f1"), std::string::npos);
  EXPECT_EQ(seen(r), "active");
  endWorker();
  clock.advance(301s);
  sync(other);
  EXPECT_EQ(host().folder_id, "f2");
  EXPECT_EQ(seen(r), "lost not_held");
}

TEST_P(HostTest, above_the_high_watermark_the_longest_unused_go) {
  const Resource old = keepOn("old", 300);
  clock.advance(1s);
  const Resource leased = keepOn("leased", 300), newer = keepOn("newer", 300);
  act(LeaseResource{.name = "leased", .ttl = Seconds(900)}).value();
  EXPECT_EQ(sync(page({old, leased, newer}, true, 900)).evict, Names());
  EXPECT_EQ(sync(page({old, leased, newer}, true, 901)).evict, Names{old.uid});
  EXPECT_EQ(seen(old), "evicting pressure");
  EXPECT_EQ(sync(page({old, leased, newer}, true, 901)).evict, Names{old.uid});
  SyncHost small = page({old, leased, newer}, true, 900);
  small.disk_limit_bytes = 500;
  EXPECT_EQ(sync(small).evict, (Names{old.uid, newer.uid})) << "the lower limit counts";
  EXPECT_EQ(seen(leased), "active");
}

TEST_P(HostTest, a_host_over_its_disk_limit_is_known) {
  const auto is_over = [this] {
    return read([](Store& s) { return Hosts(s.session).isOverDiskLimit("h"); });
  };
  EXPECT_FALSE(is_over());
  sync(page({}, true, 1000));
  EXPECT_FALSE(is_over());
  sync(page({}, true, 1001));
  EXPECT_TRUE(is_over());
  SyncHost small = page({}, true, 500);
  small.disk_limit_bytes = 499;
  sync(small);
  EXPECT_TRUE(is_over());
}

TEST_P(HostTest, a_sync_tells_the_size_of_what_had_none) {
  const Resource r = keepOn("r", std::nullopt);
  SyncHost op = page({});
  op.resources.push_back({r.uid, 77, ""});
  sync(op);
  EXPECT_EQ(find("r").size_bytes, 77);
  op.resources[0].size_bytes = 99;
  sync(op);
  EXPECT_EQ(find("r").size_bytes, 77) << "what was said first counts";
}

TEST_P(HostTest, a_stale_resource_that_a_sync_names_is_there_again) {
  const Resource r = keepOn("r");
  endWorker();
  tend();
  EXPECT_EQ(seen(r), "stale");
  sync(page({r}));
  EXPECT_EQ(seen(r), "active");
}

TEST_P(HostTest, a_worker_tells_of_its_own_host_only) {
  registerWorker(newWorker("other", "g"));
  SyncHost op = page({});
  op.by.worker = "other";
  EXPECT_EQ(codeOf(act(op)), ErrorCode::kForbidden);
  op.by.worker = "w";
  EXPECT_TRUE(act(op));
}

TEST_P(HostTest, a_host_that_is_given_up_loses_all_it_holds) {
  const Resource r = keepOn("r");
  sync(page({r}));
  const auto before = lastEvent();
  EXPECT_TRUE(act(ForgetHost{"h"}));
  EXPECT_EQ(seen(r), "lost host_lost");
  EXPECT_EQ(codeOf(look(FindHost{"h"})), ErrorCode::kNotFound);
  EXPECT_EQ(eventTypesAfter(before), (Names{"host.lost", "resource.lost"}));
  EXPECT_EQ(codeOf(act(ForgetHost{"h"})), ErrorCode::kNotFound);
  SyncHost anew = page({r});
  anew.folder_id = "f2";
  EXPECT_EQ(sync(anew).unknown, Names{r.uid}) << "and may come with another folder";
}

TEST_P(HostTest, a_host_with_much_is_given_up_step_by_step) {
  write([](Store& store) {
    for (int i = 0; i < 1500; ++i) {
      run(RegisterResource{held("r" + std::to_string(i), {Holder::Kind::kHost, "h"})}, store)
          .value();
    }
  });
  EXPECT_TRUE(act(ForgetHost{"h"}));
  EXPECT_EQ(codeOf(look(FindHost{"h"})), ErrorCode::kNotFound);
  const Resource fresh = keepOn("fresh");
  EXPECT_EQ(host().resources, 501);
  EXPECT_EQ(tend().changed, 500);
  EXPECT_EQ(host().resources, 1);
  EXPECT_EQ(seen(fresh), "active") << "it was not there when the host was given up";
}

TEST_P(HostTest, hosts_are_listed_by_name) {
  registerWorker(newWorker("v", "g"));
  keepOn("a"), keepOn("b"), keepOn("c", 10, "g");
  sync(page({}));
  const auto first = look(ListHosts{"", 1}).value();
  ASSERT_EQ(first.hosts.size(), 1U);
  EXPECT_EQ(first.hosts[0].name, "g");
  EXPECT_EQ(first.next_cursor, "g");
  const auto second = look(ListHosts{first.next_cursor, 1}).value();
  ASSERT_EQ(second.hosts.size(), 1U);
  EXPECT_EQ(second.hosts[0].name, "h");
  EXPECT_EQ(second.hosts[0].resources, 2);
  EXPECT_EQ(second.hosts[0].data_dir, "/d");
  EXPECT_TRUE(second.next_cursor.empty());
}

TEST_P(HostTest, a_host_that_holds_nothing_is_forgotten_in_the_end) {
  sync(page({}));
  endWorker();
  const Resource r = keepOn("r");
  const auto remove = [this] { return act(RemoveOldHosts{clock.now() - 1h}).value(); };
  clock.advance(2h);
  EXPECT_EQ(remove(), 0);
  EXPECT_TRUE(act(ForgetHost{"h"}));
  tend();
  sync(page({}));
  clock.advance(2h);
  EXPECT_EQ(remove(), 1);
  EXPECT_EQ(codeOf(look(FindHost{"h"})), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace muster::test
