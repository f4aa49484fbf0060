#include "tests/store/resource_fixture.h"

namespace muster::test {
namespace {

const Holder kElsewhere{Holder::Kind::kExternal, ""};

class ResourceRecordTest : public ResourceTest {};

TEST_P(ResourceRecordTest, a_resource_begins_as_an_upload) {
  const auto before = lastEvent();
  const auto made = act(RegisterResource{stored("a/b", 10)}).value();
  EXPECT_TRUE(made.is_new);
  const Resource shown = find("a/b");
  EXPECT_EQ(shown.uid, made.resource.uid);
  EXPECT_TRUE(shown.uid.starts_with(kUidPrefix));
  EXPECT_EQ(shown.state, ResourceState::kUploading);
  EXPECT_EQ(shown.upload_offset, 0);
  EXPECT_FALSE(shown.stored);
  EXPECT_EQ(shown.expires_at, std::nullopt);
  EXPECT_EQ(find(shown.uid).id, "a/b");
  EXPECT_EQ(eventTypesAfter(before), Names({"resource.created"}));
}

TEST_P(ResourceRecordTest, a_record_of_something_elsewhere_is_active_at_once) {
  const Resource made = act(RegisterResource{held("model", kElsewhere)}).value().resource;
  EXPECT_EQ(made.state, ResourceState::kActive);
  EXPECT_EQ(made.expires_at, clock.now() + 3600s);
  EXPECT_EQ(find("model").uri, "s3://b/model");
}

TEST_P(ResourceRecordTest, without_an_id_the_uid_is_the_id) {
  const Resource made = act(RegisterResource{stored("")}).value().resource;
  EXPECT_EQ(made.id, made.uid);
  EXPECT_EQ(find(made.uid).uid, made.uid);
}

TEST_P(ResourceRecordTest, the_same_registration_again_is_the_same_resource) {
  const auto first = act(RegisterResource{stored("r", 10)}).value();
  const auto again = act(RegisterResource{stored("r", 10)}).value();
  EXPECT_FALSE(again.is_new);
  EXPECT_EQ(again.resource.uid, first.resource.uid);
  EXPECT_EQ(codeOf(act(RegisterResource{stored("r", 11)})), ErrorCode::kResourceExists);
}

TEST_P(ResourceRecordTest, an_id_is_free_again_when_its_resource_is_gone) {
  const Resource first = keep("r");
  act(DeleteResource{"r"}).value();
  EXPECT_EQ(find("r").uid, first.uid);
  const auto second = act(RegisterResource{stored("r")}).value();
  EXPECT_TRUE(second.is_new);
  EXPECT_EQ(find("r").uid, second.resource.uid);
  EXPECT_EQ(find(first.uid).state, ResourceState::kEvicted);
}

TEST_P(ResourceRecordTest, an_id_is_free_again_when_its_resource_is_over) {
  const Resource first = act(RegisterResource{held("r", kElsewhere)}).value().resource;
  clock.advance(3600s);
  const auto second = act(RegisterResource{held("r", kElsewhere)}).value();
  EXPECT_TRUE(second.is_new);
  EXPECT_EQ(find(first.uid).reason, "expired");
}

TEST_P(ResourceRecordTest, an_end_that_was_named_becomes_a_time_to_live) {
  NewResource given = held("r", kElsewhere);
  given.expires_at = clock.now() + 60s;
  const Resource made = act(RegisterResource{given}).value().resource;
  EXPECT_EQ(made.ttl, Millis(60s));
  EXPECT_EQ(made.expires_at, clock.now() + 60s);
  given.id = "s";
  given.expires_at = clock.now();
  const auto refused = act(RegisterResource{given});
  EXPECT_EQ(codeOf(refused), ErrorCode::kInvalid);
  EXPECT_EQ(refused.error().fields.at(0).pointer, "/expires_at");
  given.expires_at = clock.now() + std::chrono::hours(24 * 366);
  EXPECT_EQ(codeOf(act(RegisterResource{given})), ErrorCode::kInvalid);
}

TEST_P(ResourceRecordTest, bytes_that_the_tenant_has_are_not_uploaded_again) {
  keep("a", sum('a'), 10, "t");
  const auto same = act(RegisterResource{stored("b", 10, sum('a'), "t")}).value().resource;
  EXPECT_EQ(same.state, ResourceState::kActive);
  EXPECT_TRUE(same.stored);
  const auto others = act(RegisterResource{stored("c", 10, sum('a'), "u")}).value().resource;
  EXPECT_EQ(others.state, ResourceState::kUploading) << "of another tenant";
  blobs.blobs.clear();
  const auto gone = act(RegisterResource{stored("d", 10, sum('a'), "t")}).value().resource;
  EXPECT_EQ(gone.state, ResourceState::kUploading) << "the file is not there";
  blobs.blobs.insert(sum('a'));
}

TEST_P(ResourceRecordTest, what_is_not_there_is_not_found) {
  EXPECT_EQ(codeOf(look(FindResource{"r"})), ErrorCode::kNotFound);
  EXPECT_EQ(codeOf(look(FindResource{"u~r"})), ErrorCode::kNotFound);
  EXPECT_EQ(codeOf(act(DeleteResource{"r"})), ErrorCode::kNotFound);
  EXPECT_EQ(codeOf(act(LeaseResource{"r"})), ErrorCode::kNotFound);
  EXPECT_EQ(codeOf(act(ReleaseResource{"r", "l"})), ErrorCode::kNotFound);
  EXPECT_EQ(codeOf(act(TouchResource{"r"})), ErrorCode::kNotFound);
  EXPECT_EQ(codeOf(look(FindContent{"r"})), ErrorCode::kNotFound);
}

TEST_P(ResourceRecordTest, a_list_has_the_newest_first_in_pages) {
  for (const char* id : {"a", "b", "c", "d"}) act(RegisterResource{stored(id)}).value();
  act(DeleteResource{"c"}).value();
  Names seen;
  std::string cursor;
  do {
    const auto page = look(ListResources{.cursor = cursor, .limit = 2}).value();
    EXPECT_LE(page.resources.size(), 2U);
    for (const Resource& resource : page.resources) seen.push_back(resource.id);
    cursor = page.next_cursor;
  } while (!cursor.empty());
  EXPECT_EQ(seen, Names({"d", "b", "a"}));
}

TEST_P(ResourceRecordTest, a_list_is_of_what_its_filters_name) {
  NewResource a = stored("a", 1, "", "t"), b = held("b", kElsewhere), c = stored("c");
  a.scope = b.scope = "s";
  b.type = "session";
  for (const NewResource& each : {a, b, c}) act(RegisterResource{each}).value();
  act(DeleteResource{"c"}).value();
  const auto ids = [&](const ListResources& op) {
    Names found;
    const auto page = look(op).value();
    for (const Resource& resource : page.resources) found.push_back(resource.id);
    return found;
  };
  EXPECT_EQ(ids({.resource_id = "a"}), Names({"a"}));
  EXPECT_EQ(ids({.scope = "s"}), Names({"b", "a"}));
  EXPECT_EQ(ids({.scope = "s", .type = "session"}), Names({"b"}));
  EXPECT_EQ(ids({.holder = "external"}), Names({"b"}));
  EXPECT_EQ(ids({.holder = "store"}), Names({"a"}));
  EXPECT_EQ(ids({.tenant = "t"}), Names({"a"}));
  EXPECT_EQ(ids({.job = "j"}), Names());
  EXPECT_EQ(ids({.state = ResourceState::kEvicted}), Names({"c"}));
  EXPECT_EQ(ids({.scope = "s", .state = ResourceState::kUploading}), Names({"a"}));
}

TEST_P(ResourceRecordTest, deleting_lets_the_bytes_stay_for_others) {
  keep("a", sum('a')), keep("b", sum('a'));
  const Resource gone = act(DeleteResource{"a"}).value();
  EXPECT_EQ(gone.state, ResourceState::kEvicted);
  EXPECT_EQ(gone.reason, "deleted");
  EXPECT_TRUE(find("b").stored);
  EXPECT_EQ(act(DeleteResource{"a"}).value().reason, "deleted") << "as it is";
  EXPECT_EQ(codeOf(act(DeleteResource{.name = "b", .force = true})), ErrorCode::kForbidden);
}

MUSTER_ON_EVERY_BACKEND(ResourceRecordTest);

}  // namespace
}  // namespace muster::test
