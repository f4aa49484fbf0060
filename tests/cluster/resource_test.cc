// Bytes of resources on several nodes, each with a folder of its own, or all with one.
#include "tests/cluster/cluster_fixture.h"
#include "tests/support/blob_folder.h"
#include "tests/support/resource_client.h"

namespace muster::test {
namespace {

class ClusterResources : public ClusterFixture {
 protected:
  Service& startWith(const std::string& id, const std::filesystem::path& blobs,
                     const std::string& settings = {}) {
    return start(id, "blob_dir: " + blobs.string() + "\n" + settings);
  }
  ResourceClient resources(const std::string& id) { return ResourceClient(at(id)); }

  const TempFolder folder_;
};

TEST_F(ClusterResources, are_read_at_another_node_by_a_signed_address) {
  startWith("a", folder_ / "a");
  startWith("b", folder_ / "b");
  const std::string bytes = noise(200'000);
  resources("a").createStored("file", bytes);
  EXPECT_EQ(resources("a").content("file").status, 200);
  const Reply sent_on = resources("b").content("file");
  ASSERT_EQ(sent_on.status, 307) << sent_on;
  const std::string address = sent_on.header("location");
  ASSERT_TRUE(address.starts_with(node("a").url() + "/v1/resources/")) << address;
  const std::string path = address.substr(node("a").url().size());
  EXPECT_TRUE(at("a").get(path).body == bytes);
  const Reply part = at("a").get(path, {{"Range", "bytes=10-19"}});
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, bytes.substr(10, 10));
  std::string changed = path;
  changed.back() = changed.back() == '0' ? '1' : '0';
  EXPECT_TRUE(isProblem(at("a").get(changed), 403, "bad_signature"));
  EXPECT_EQ(resources("b").get("file").json["sha256"], resources("a").get("file").json["sha256"]);
}

TEST_F(ClusterResources, of_a_node_that_has_stopped_are_unavailable_until_it_is_back) {
  startWith("a", folder_ / "a");
  startWith("b", folder_ / "b");
  resources("a").createStored("file", "bytes");
  EXPECT_EQ(node("a").stop(), 0) << node("a").log();
  EXPECT_TRUE(becomes([&] { return resources("b").content("file").status == 503; }));
  const Reply away = resources("b").content("file");
  EXPECT_TRUE(isProblem(away, 503, "place_unavailable"));
  EXPECT_TRUE(away.hasHeader("retry-after"));
  EXPECT_EQ(resources("b").get("file").json["state"], "active") << "it is not lost";
  node("a").start();
  at("a").reconnect();
  EXPECT_TRUE(becomes([&] { return resources("b").content("file").status == 307; }));
}

TEST_F(ClusterResources, go_with_their_folder_to_another_node) {
  startWith("a", folder_ / "a");
  resources("a").createStored("file", "bytes");
  EXPECT_EQ(node("a").stop(), 0) << node("a").log();
  std::filesystem::rename(folder_ / "a", folder_ / "moved");
  startWith("b", folder_ / "moved");
  EXPECT_TRUE(becomes([&] { return resources("b").content("file").body == "bytes"; }));
}

TEST_F(ClusterResources, are_uploaded_to_the_end_where_their_upload_began) {
  startWith("a", folder_ / "a");
  startWith("b", folder_ / "b");
  resources("a").create(R"("resource_id":"file","type":"file","size_bytes":6)");
  ASSERT_EQ(resources("a").patch("file", 0, "abc").status, 200);
  EXPECT_EQ(resources("b").get("file").json["upload_offset"], 3);
  const Reply elsewhere = resources("b").patch("file", 3, "def");
  EXPECT_TRUE(isProblem(elsewhere, 503, "place_unavailable"));
  EXPECT_EQ(elsewhere.json["leader_url"], node("a").url()) << "it says where";
  EXPECT_EQ(resources("a").patch("file", 3, "def").json["state"], "active");
  // What is registered at one node may be uploaded at the other, as long as nothing has come.
  resources("a").create(R"("resource_id":"other","type":"file","size_bytes":3)");
  EXPECT_EQ(resources("b").patch("other", 0, "xyz").json["state"], "active");
  EXPECT_EQ(resources("b").content("other").body, "xyz");
  EXPECT_EQ(resources("a").content("other").status, 307);
}

TEST_F(ClusterResources, in_a_folder_that_nodes_share_are_the_same_at_each) {
  const std::string settings = "blob_grace_seconds: 0\nresource_gc_interval_seconds: 1\n";
  const BlobFolder folder(folder_ / "shared");
  startWith("a", folder.path(), settings);
  startWith("b", folder.path(), settings);
  const std::string bytes = noise(100'000);
  resources("a").createStored("a", bytes);
  resources("b").createStored("b", bytes);
  EXPECT_TRUE(resources("b").content("a").body == bytes);
  EXPECT_TRUE(resources("a").content("b").body == bytes);
  resources("a").create(R"("resource_id":"half","type":"file","size_bytes":6)");
  ASSERT_EQ(resources("a").patch("half", 0, "abc").status, 200);
  EXPECT_EQ(resources("b").patch("half", 3, "def").json["state"], "active");
  resources("b").create(R"("resource_id":"open","type":"file","size_bytes":6)");
  ASSERT_EQ(resources("b").patch("open", 0, "abc").status, 200);

  EXPECT_EQ(resources("b").remove("a").status, 200);
  resources("a").createStored("gone", noise(50'000, 2));
  EXPECT_EQ(resources("a").remove("gone").status, 200);
  expectNoStrays(at("a"), folder);
  expectNoStrays(at("b"), folder);
  EXPECT_EQ(folder.blobs().size(), 2U);
  for (const std::string id : {"a", "b"}) {
    expectAllReadable(at(id));
    EXPECT_TRUE(resources(id).content("b").body == bytes) << "the bytes stay: " << id;
  }
  EXPECT_EQ(resources("a").patch("open", 3, "def").json["state"], "active") << "so does an upload";
}

}  // namespace
}  // namespace muster::test
