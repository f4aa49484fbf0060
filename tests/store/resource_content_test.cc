#include "tests/store/resource_fixture.h"

namespace muster::test {
namespace {

class ResourceContentTest : public ResourceTest {
 protected:
  Result<Resource> part(const std::string& uid, std::int64_t at, std::int64_t bytes) {
    const auto begun = act(BeginPart{uid, at, bytes});
    if (!begun) return begun;
    blobs.uploads.insert(uid);
    return share([&](Store& store) { return run(AdvanceUpload{uid, at, at + bytes}, store); });
  }
};

TEST_P(ResourceContentTest, an_upload_in_parts_ends_as_an_active_resource) {
  const std::string uid = act(RegisterResource{stored("r", 30, "", "t")}).value().resource.uid;
  EXPECT_EQ(usage("t"), 30) << "open uploads count with their declared size";
  EXPECT_EQ(part(uid, 0, 10).value().upload_offset, 10);
  EXPECT_EQ(part(uid, 10, 10).value().upload_offset, 20);
  EXPECT_EQ(find("r").place, "place-1");
  ASSERT_TRUE(act(BeginPart{uid, 20, 10}));
  const Resource done = act(FinishUpload{uid, 30, sum('a')}).value();
  EXPECT_EQ(done.state, ResourceState::kActive);
  EXPECT_TRUE(done.stored);
  EXPECT_EQ(done.sha256, sum('a'));
  EXPECT_EQ(done.upload_offset, std::nullopt);
  EXPECT_EQ(done.expires_at, clock.now() + 3600s);
  EXPECT_TRUE(blobs.has(sum('a')));
  EXPECT_EQ(usage("t"), 30);
  const auto content = look(FindContent{"r"}).value();
  EXPECT_TRUE(content.is_here);
  EXPECT_EQ(content.node_url, "");
}

TEST_P(ResourceContentTest, the_same_end_of_an_upload_again_has_the_same_answer) {
  const Resource done = keep("r", sum('a'), 10);
  EXPECT_EQ(act(FinishUpload{done.uid, 10, sum('a')}).value().version, done.version);
  EXPECT_EQ(codeOf(act(FinishUpload{done.uid, 10, sum('b')})), ErrorCode::kContentExists);
  EXPECT_EQ(codeOf(act(BeginPart{"r", {}, 10})), ErrorCode::kContentExists);
}

TEST_P(ResourceContentTest, a_part_at_another_offset_changes_nothing) {
  const std::string uid = act(RegisterResource{stored("r")}).value().resource.uid;
  ASSERT_TRUE(part(uid, 0, 10));
  const auto wrong = act(BeginPart{uid, 5, 10});
  EXPECT_EQ(codeOf(wrong), ErrorCode::kWrongOffset);
  EXPECT_EQ(memberOf(wrong.error(), "upload_offset"), "10");
  EXPECT_EQ(codeOf(act(AdvanceUpload{uid, 0, 10})), ErrorCode::kWrongOffset);
  EXPECT_EQ(find("r").upload_offset, 10);
}

TEST_P(ResourceContentTest, the_whole_content_begins_an_upload_anew) {
  const std::string uid = act(RegisterResource{stored("r", {}, "", "t")}).value().resource.uid;
  ASSERT_TRUE(part(uid, 0, 10));
  EXPECT_EQ(usage("t"), 10) << "without a declared size what came counts";
  EXPECT_EQ(act(BeginPart{uid, {}, 4}).value().upload_offset, 0);
  EXPECT_EQ(usage("t"), 0);
  EXPECT_EQ(act(FinishUpload{uid, 4, sum('a')}).value().size_bytes, 4);
  EXPECT_EQ(usage("t"), 4);
}

TEST_P(ResourceContentTest, content_that_was_not_announced_begins_anew) {
  const std::string uid = act(RegisterResource{stored("r", 10, sum('a'))}).value().resource.uid;
  EXPECT_EQ(codeOf(act(BeginPart{uid, 0, 11})), ErrorCode::kInvalid) << "too long";
  ASSERT_TRUE(part(uid, 0, 10));
  const auto wrong = act(FinishUpload{uid, 10, sum('b')});
  EXPECT_EQ(codeOf(wrong), ErrorCode::kInvalid);
  EXPECT_EQ(wrong.error().fields.at(0).code, "checksum_mismatch");
  EXPECT_EQ(find("r").upload_offset, 0);
  EXPECT_EQ(find("r").state, ResourceState::kUploading);
  const auto short_one = act(FinishUpload{uid, 9, sum('a')});
  EXPECT_EQ(short_one.error().fields.at(0).code, "wrong_size");
  EXPECT_EQ(upload("r", sum('a'), 10).value().state, ResourceState::kActive);
}

TEST_P(ResourceContentTest, an_upload_without_its_file_is_never_active) {
  const std::string uid = act(RegisterResource{stored("r")}).value().resource.uid;
  ASSERT_TRUE(part(uid, 0, 10));
  blobs.uploads.clear();
  EXPECT_EQ(codeOf(act(FinishUpload{uid, 10, sum('a')})), ErrorCode::kStoreBusy);
  EXPECT_EQ(find("r").state, ResourceState::kUploading);
  EXPECT_EQ(find("r").upload_offset, 0);
}

TEST_P(ResourceContentTest, an_upload_stays_in_the_place_where_it_began) {
  const std::string uid = act(RegisterResource{stored("r")}).value().resource.uid;
  ASSERT_TRUE(part(uid, 0, 10));
  blobs.id = "place-2";
  EXPECT_EQ(codeOf(act(BeginPart{uid, 10, 10})), ErrorCode::kElsewhere);
  EXPECT_EQ(codeOf(act(FinishUpload{uid, 10, sum('a')})), ErrorCode::kElsewhere);
  blobs.id = "place-1";
  EXPECT_TRUE(part(uid, 10, 10));
}

TEST_P(ResourceContentTest, bytes_in_another_place_are_not_here) {
  keep("r");
  blobs.id = "place-2";
  const auto found = look(FindContent{"r"}).value();
  EXPECT_FALSE(found.is_here);
  EXPECT_EQ(found.node_url, "") << "no node that is healthy has it";
  blobs.id = "place-1";
}

TEST_P(ResourceContentTest, the_node_that_has_the_place_is_named) {
  const auto node = with<Node>([](Node& n) { n.id = "n", n.url = "http://n", n.host = "h"; });
  write([&](Store& store) { store.cluster().join(node, "i"); });
  keep("r");
  ASSERT_TRUE(act(AnnouncePlace{"n", "http://n"}));
  blobs.id = "place-2";
  EXPECT_EQ(look(FindContent{"r"}).value().node_url, "http://n");
  write([&](Store& store) { store.cluster().leave("n", "i"); });
  EXPECT_EQ(look(FindContent{"r"}).value().node_url, "");
  blobs.id = "place-1";
}

TEST_P(ResourceContentTest, what_has_no_bytes_says_who_holds_it) {
  const Holder elsewhere{Holder::Kind::kExternal, ""};
  act(RegisterResource{held("e", elsewhere)}).value();
  act(RegisterResource{stored("u")}).value();
  EXPECT_EQ(codeOf(act(BeginPart{"e", {}, 1})), ErrorCode::kNotStored);
  const auto content = look(FindContent{"e"});
  EXPECT_EQ(codeOf(content), ErrorCode::kNotStored);
  EXPECT_EQ(memberOf(content.error(), "holder"), "\"external\"");
  EXPECT_EQ(memberOf(look(FindContent{"u"}).error(), "state"), "\"uploading\"");
}

TEST_P(ResourceContentTest, what_is_gone_says_why) {
  keep("r");
  act(DeleteResource{"r"}).value();
  const auto content = look(FindContent{"r"});
  EXPECT_EQ(codeOf(content), ErrorCode::kResourceGone);
  EXPECT_EQ(memberOf(content.error(), "state"), "\"evicted\"");
  EXPECT_EQ(memberOf(content.error(), "reason"), "\"deleted\"");
  EXPECT_EQ(codeOf(act(BeginPart{"r", {}, 1})), ErrorCode::kResourceGone);
}

TEST_P(ResourceContentTest, uploads_that_nobody_waits_for_are_named) {
  const std::string open = act(RegisterResource{stored("a")}).value().resource.uid;
  const std::string done = keep("b").uid;
  EXPECT_EQ(look(FindStrayUploads{{open, done, "u~never"}}).value(), Names({done, "u~never"}));
  EXPECT_EQ(look(FindStrayUploads{}).value(), Names());
}

MUSTER_ON_EVERY_BACKEND(ResourceContentTest);

}  // namespace
}  // namespace muster::test
