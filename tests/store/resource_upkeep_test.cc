#include "tests/store/resource_fixture.h"

namespace muster::test {
namespace {

// What a place keeps, and what it lets go.
class ResourceUpkeepTest : public ResourceTest {
 protected:
  void withRules(const std::function<void(ResourceRules&)>& change) {
    change(rules.resources);
    reopen();
    announce();
  }
  TendPlace::Reply tend(const Names& strays = {}) { return act(TendPlace{strays}).value(); }
};

TEST_P(ResourceUpkeepTest, an_upload_without_parts_is_given_up) {
  const std::string uid = act(RegisterResource{stored("r", 10, "", "t")}).value().resource.uid;
  clock.advance(3000s);
  ASSERT_TRUE(act(BeginPart{uid, 0, 5}));
  ASSERT_TRUE(act(AdvanceUpload{uid, 0, 5}));
  clock.advance(3599s);
  EXPECT_EQ(act(ExpireResources{}).value(), 0) << "since its last part";
  clock.advance(1s);
  EXPECT_EQ(act(ExpireResources{}).value(), 1);
  EXPECT_EQ(find("r").state, ResourceState::kEvicted);
  EXPECT_EQ(find("r").reason, "upload_expired");
  EXPECT_EQ(usage("t"), 0);
  EXPECT_EQ(look(FindStrayUploads{{uid}}).value(), Names({uid}));
}

TEST_P(ResourceUpkeepTest, a_copy_that_is_not_completed_leaves_what_the_host_has) {
  registerWorker(newWorker("w", "h"));
  NewResource given = held("r", {Holder::Kind::kHost, "h"});
  given.size_bytes = 10;
  given.tenant = "t";
  const std::string uid = act(RegisterResource{given}).value().resource.uid;
  EXPECT_EQ(usage("t"), 0) << "the service has nothing of it";
  ASSERT_TRUE(act(BeginPart{uid, 0, 5}));
  EXPECT_EQ(usage("t"), 10);
  act(TouchResource{uid, Millis(std::chrono::hours(9))}).value();
  clock.advance(3600s);
  EXPECT_EQ(act(ExpireResources{}).value(), 1);
  const Resource left = find("r");
  EXPECT_EQ(left.state, ResourceState::kActive);
  EXPECT_EQ(left.upload_offset, std::nullopt);
  EXPECT_EQ(usage("t"), 0);
  EXPECT_EQ(upload("r", sum('a'), 10).value().state, ResourceState::kActive);
  EXPECT_TRUE(find("r").stored);
  EXPECT_EQ(usage("t"), 10);
}

TEST_P(ResourceUpkeepTest, bytes_without_a_user_go_after_the_grace) {
  keep("a"), keep("b");
  act(DeleteResource{"a"}).value();
  clock.advance(600s);
  EXPECT_EQ(tend().removed, 0) << "one has them yet";
  act(DeleteResource{"b"}).value();
  clock.advance(599s);
  EXPECT_EQ(tend().removed, 0);
  clock.advance(1s);
  EXPECT_EQ(tend().removed, 1);
  EXPECT_FALSE(blobs.has(sum('a')));
  EXPECT_EQ(look(CountResources{}).value().blob_bytes, 0);
}

TEST_P(ResourceUpkeepTest, bytes_that_come_again_within_the_grace_stay) {
  keep("a");
  act(DeleteResource{"a"}).value();
  clock.advance(599s);
  keep("b");
  clock.advance(600s);
  EXPECT_EQ(tend().removed, 0);
  EXPECT_TRUE(blobs.has(sum('a')));
}

TEST_P(ResourceUpkeepTest, a_file_that_cannot_be_removed_is_in_nobodys_way) {
  keep("a", sum('a')), act(DeleteResource{"a"}).value();
  clock.advance(600s);
  blobs.can_remove = false;
  EXPECT_EQ(tend().removed, 0);
  EXPECT_EQ(find("a").state, ResourceState::kEvicted);
  blobs.can_remove = true;
  EXPECT_EQ(tend().removed, 0) << "it is tried again after the grace";
  clock.advance(600s);
  EXPECT_EQ(tend().removed, 1);
}

TEST_P(ResourceUpkeepTest, bytes_whose_last_use_may_be_undone_by_a_crash_stay) {
  withRules([](ResourceRules& r) { r.blob_grace = Millis(0); });
  keep("a", sum('a'));
  clock.advance(1s);
  const Time before = act(TendPlace{}).value().at;
  act(DeleteResource{"a"}).value();
  const auto too_early = act(TendPlace{.settled = before}).value();
  EXPECT_EQ(too_early.removed, 0);
  EXPECT_TRUE(too_early.more) << "with the next step";
  EXPECT_TRUE(blobs.has(sum('a')));
  clock.advance(1ms);
  const Time after = act(TendPlace{.settled = before}).value().at;
  EXPECT_EQ(act(TendPlace{.settled = after}).value().removed, 1);
  EXPECT_FALSE(blobs.has(sum('a')));
}

TEST_P(ResourceUpkeepTest, files_without_a_row_are_removed_like_others) {
  keep("a", sum('a'));
  blobs.blobs.insert(sum('f'));
  EXPECT_EQ(tend({sum('a'), sum('f')}).removed, 1);
  EXPECT_TRUE(blobs.has(sum('a')));
  EXPECT_FALSE(blobs.has(sum('f')));
}

TEST_P(ResourceUpkeepTest, a_file_without_a_row_is_used_if_its_bytes_come) {
  blobs.blobs.insert(sum('f'));
  blobs.can_remove = false;
  tend({sum('f')});
  blobs.can_remove = true;
  keep("a", sum('f'), 10);
  EXPECT_EQ(look(CountResources{}).value().blob_bytes, 10);
  clock.advance(900s);
  EXPECT_EQ(tend({sum('f')}).removed, 0);
}

TEST_P(ResourceUpkeepTest, above_the_high_watermark_the_longest_unused_go) {
  withRules([](ResourceRules& r) { r.max_disk_bytes = 100; });
  for (const char c : {'a', 'b', 'c', 'd'}) {
    keep(std::string(1, c), sum(c), 22);
    clock.advance(1s);
  }
  EXPECT_EQ(tend().evicted, 0) << "88 of 100";
  act(TouchResource{"a"}).value();
  const auto lease = act(LeaseResource{"b"}).value();
  keep("e", sum('e'), 3);
  EXPECT_EQ(tend().evicted, 1) << "91 of 100, until 80 are left";
  EXPECT_EQ(find("c").reason, "pressure");
  for (const char* id : {"a", "b", "d", "e"}) EXPECT_TRUE(find(id).stored) << id;
  EXPECT_EQ(tend().evicted, 0);
  act(ReleaseResource{"b", lease.lease_id}).value();
}

TEST_P(ResourceUpkeepTest, what_is_shared_frees_nothing_until_its_last_user_goes) {
  withRules([](ResourceRules& r) { r.max_disk_bytes = 100; });
  keep("a", sum('a'), 46), clock.advance(1s);
  keep("b", sum('a'), 46), clock.advance(1s);
  keep("c", sum('c'), 46), clock.advance(1s);
  EXPECT_EQ(tend().evicted, 2);
  EXPECT_EQ(find("a").state, ResourceState::kEvicted);
  EXPECT_EQ(find("b").state, ResourceState::kEvicted);
  EXPECT_TRUE(find("c").stored);
}

TEST_P(ResourceUpkeepTest, while_the_place_is_too_full_the_grace_is_not_waited_for) {
  withRules([](ResourceRules& r) { r.max_disk_bytes = 100; });
  keep("a", sum('a'), 60), clock.advance(1s);
  keep("b", sum('b'), 60);
  EXPECT_EQ(find("a").reason, "pressure") << "to make room";
  EXPECT_EQ(tend().removed, 1);
  EXPECT_FALSE(blobs.has(sum('a')));
  act(DeleteResource{"b"}).value();
  EXPECT_EQ(tend().removed, 0) << "60 of 100";
}

TEST_P(ResourceUpkeepTest, an_upload_that_does_not_fit_is_refused) {
  withRules([](ResourceRules& r) { r.max_disk_bytes = 100; });
  keep("a", sum('a'), 60);
  const auto lease = act(LeaseResource{"a"}).value();
  act(RegisterResource{stored("b", 50)}).value();
  const auto full = act(BeginPart{"b", 0, 10});
  EXPECT_EQ(codeOf(full), ErrorCode::kStoreFull) << "with the size that it will have";
  EXPECT_TRUE(full.error().retry_after);
  act(RegisterResource{stored("c")}).value();
  EXPECT_TRUE(act(BeginPart{"c", 0, 40}));
  EXPECT_TRUE(act(AdvanceUpload{find("c").uid, 0, 40}));
  EXPECT_EQ(codeOf(act(BeginPart{"c", 40, 1})), ErrorCode::kStoreFull);
  EXPECT_EQ(codeOf(act(RegisterResource{stored("d", 101)})), ErrorCode::kStoreFull);
  act(ReleaseResource{"a", lease.lease_id}).value();
  EXPECT_TRUE(act(BeginPart{"b", 0, 10})) << "what is idle makes room";
  EXPECT_EQ(find("a").reason, "pressure");
}

TEST_P(ResourceUpkeepTest, a_tenant_has_so_much_stored_and_no_more) {
  withRules([](ResourceRules& r) { r.tenant_max_disk_bytes = 100; });
  act(RegisterResource{stored("a", 60, "", "t")}).value();
  const auto later = act(RegisterResource{stored("b", 41, "", "t")});
  EXPECT_EQ(codeOf(later), ErrorCode::kQuotaExceeded);
  EXPECT_TRUE(later.error().retry_after);
  EXPECT_EQ(codeOf(act(RegisterResource{stored("b", 101, "", "t")})), ErrorCode::kQuotaTooSmall);
  EXPECT_TRUE(act(RegisterResource{stored("b", 41, "", "u")})) << "of another tenant";
  EXPECT_TRUE(act(RegisterResource{stored("n", 410)})) << "of none";
  act(RegisterResource{stored("c", {}, "", "t")}).value();
  EXPECT_TRUE(act(BeginPart{"c", 0, 40}));
  EXPECT_EQ(codeOf(act(BeginPart{"c", 0, 41})), ErrorCode::kQuotaExceeded);
  EXPECT_EQ(codeOf(act(BeginPart{"c", 0, 101})), ErrorCode::kQuotaTooSmall);
  act(DeleteResource{"a"}).value();
  EXPECT_TRUE(act(BeginPart{"c", 0, 41}));
}

TEST_P(ResourceUpkeepTest, a_place_that_is_announced_counts_what_is_in_it) {
  keep("a", sum('a'), 10), keep("b", sum('b'), 5);
  act(DeleteResource{"b"}).value();
  constexpr static Sql kForgetPlaces{"DELETE FROM places WHERE place_id <> ''"};
  write([](Store& store) { store.session.db.post(kForgetPlaces); });
  announce();
  EXPECT_EQ(look(CountResources{}).value().blob_bytes, 15);
  clock.advance(600s);
  tend();
  EXPECT_EQ(look(CountResources{}).value().blob_bytes, 10);
}

TEST_P(ResourceUpkeepTest, resources_are_counted_by_holder_and_state) {
  keep("a", sum('a'), 10), keep("b", sum('b'), 5);
  act(RegisterResource{stored("c", 7)}).value();
  act(RegisterResource{held("d", {Holder::Kind::kExternal, ""})}).value();
  const auto lease = act(LeaseResource{"b"}).value();
  act(DeleteResource{"b"}).value();
  const auto counted = look(CountResources{}).value();
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> figures;
  for (const auto& entry : counted.counts) {
    if (entry.count == 0) continue;
    figures[entry.holder + " " + std::string(name(entry.state))] = {entry.count, entry.bytes};
  }
  using Figures = decltype(figures);
  EXPECT_EQ(figures, (Figures{{"store active", {1, 10}},
                              {"store evicting", {1, 5}},
                              {"store uploading", {1, 7}},
                              {"external active", {1, 0}}}));
  EXPECT_EQ(counted.blob_bytes, 15);
  EXPECT_EQ(counted.uploads_open, 1);
}

MUSTER_ON_EVERY_BACKEND(ResourceUpkeepTest);

}  // namespace
}  // namespace muster::test
