// Bytes of resources, up and down.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "tests/support/raw_connection.h"
#include "tests/support/resource_client.h"
#include "tests/support/service_fixture.h"
#include "tests/support/tokens.h"

namespace muster::test {
namespace {

class Content : public ServiceFixture {
 protected:
  std::string id(const std::string& suffix = "a") { return name(suffix); }
  Json::Value begin(const std::string& more = {}, const std::string& suffix = "a") {
    return resources_.create(R"("resource_id":")" + id(suffix) + R"(","type":"file")" +
                             (more.empty() ? "" : "," + more));
  }

  ResourceClient resources_{http_};
};

TEST_F(Content, is_what_was_sent) {
  const std::string bytes = noise(300'000);
  const Json::Value stored = resources_.createStored(id(), bytes, R"("mime":"image/png")");
  EXPECT_EQ(stored["size_bytes"], 300'000);
  EXPECT_EQ(stored["sha256"], sha256Hex(bytes));
  EXPECT_EQ(stored["stored"], true);
  EXPECT_FALSE(stored.isMember("upload_offset"));
  const Reply reply = resources_.content(id());
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, bytes);
  EXPECT_EQ(reply.header("content-type"), "image/png");
  EXPECT_EQ(reply.header("content-length"), "300000");
  EXPECT_EQ(reply.header("etag"), "\"sha256:" + sha256Hex(bytes) + '"');
  EXPECT_EQ(reply.header("repr-digest"), digestOf(bytes)[0].second);
  EXPECT_EQ(reply.header("accept-ranges"), "bytes");
}

TEST_F(Content, of_strangers_is_never_shown_as_a_page) {
  for (const std::string mime : {"text/html", "application/json", "image/svg+xml"}) {
    const std::string called = id(std::to_string(mime.size()));
    resources_.createStored(called, "<script>1</script>", R"("mime":")" + mime + '"');
    const Reply reply = resources_.content(called);
    EXPECT_EQ(reply.header("content-type"), mime);
    EXPECT_EQ(reply.header("content-disposition"), "attachment");
    EXPECT_EQ(reply.header("x-content-type-options"), "nosniff");
    EXPECT_EQ(reply.header("content-security-policy"), "sandbox");
    EXPECT_EQ(reply.header("cache-control"), "no-store");
  }
  resources_.createStored(id("plain"), "x");
  EXPECT_EQ(resources_.content(id("plain")).header("content-type"), "application/octet-stream");
}

TEST_F(Content, may_be_empty) {
  EXPECT_EQ(resources_.createStored(id(), "")["size_bytes"], 0);
  const Reply reply = resources_.content(id());
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "");
  EXPECT_EQ(reply.header("content-length"), "0");
}

TEST_F(Content, is_given_in_part) {
  struct Row {
    std::string range;
    int status;
    std::string body;
    std::string content_range;
  };
  const std::string bytes = "0123456789";
  const std::vector<Row> rows = {
      {"bytes=0-", 206, bytes, "bytes 0-9/10"},
      {"bytes=2-4", 206, "234", "bytes 2-4/10"},
      {"bytes=-3", 206, "789", "bytes 7-9/10"},
      {"bytes=8-99", 206, "89", "bytes 8-9/10"},
      {"bytes=0-1,4-5", 200, bytes, ""},
      {"bytes=4-2", 200, bytes, ""},
      {"items=0-1", 200, bytes, ""},
  };
  resources_.createStored(id(), bytes);
  for (const Row& row : rows) {
    const Reply reply = resources_.content(id(), {{"Range", row.range}});
    EXPECT_EQ(reply.status, row.status) << row.range;
    EXPECT_EQ(reply.body, row.body) << row.range;
    EXPECT_EQ(reply.header("content-range"), row.content_range) << row.range;
  }
  for (const std::string range : {"bytes=10-", "bytes=-0", "bytes=99-100"}) {
    const Reply reply = resources_.content(id(), {{"Range", range}});
    EXPECT_TRUE(isProblem(reply, 416, "range_not_satisfiable")) << range;
    EXPECT_EQ(reply.header("content-range"), "bytes */10") << range;
  }
}

TEST_F(Content, of_a_large_file_is_given_in_part_too) {
  const std::string bytes = noise(3'000'000);
  resources_.createStored(id(), bytes);
  const Reply reply = resources_.content(id(), {{"Range", "bytes=1000000-2999998"}});
  EXPECT_EQ(reply.status, 206);
  EXPECT_EQ(reply.header("content-length"), "1999999");
  EXPECT_TRUE(reply.body == bytes.substr(1'000'000, 1'999'999));
  EXPECT_EQ(http_.get("/healthz").status, 200) << "the connection is still in step";
}

TEST_F(Content, that_is_known_already_is_not_sent_again) {
  resources_.createStored(id(), "abc");
  const std::string tag = resources_.content(id()).header("etag");
  const Reply known = resources_.content(id(), {{"If-None-Match", "\"x\", " + tag}});
  EXPECT_EQ(known.status, 304) << known;
  EXPECT_EQ(known.body, "");
  EXPECT_EQ(known.header("etag"), tag);
  EXPECT_EQ(resources_.content(id(), {{"If-None-Match", "\"x\""}}).status, 200);
  EXPECT_EQ(resources_.content(id(), {{"Range", "bytes=1-1"}, {"If-Range", tag}}).body, "b");
  const Reply changed = resources_.content(id(), {{"Range", "bytes=1-1"}, {"If-Range", "\"x\""}});
  EXPECT_EQ(changed.status, 200);
  EXPECT_EQ(changed.body, "abc");
}

TEST_F(Content, is_described_by_head) {
  const std::string bytes = noise(500'000);
  resources_.createStored(id(), bytes);
  const Reply head = http_.send({"HEAD", contentPath(id())});
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.body, "");
  EXPECT_EQ(head.header("content-length"), "500000");
  EXPECT_EQ(head.header("etag"), "\"sha256:" + sha256Hex(bytes) + '"');
  EXPECT_TRUE(resources_.content(id()).body == bytes) << "the connection is still in step";
}

TEST_F(Content, comes_in_parts) {
  begin(R"("size_bytes":10)");
  const Reply first = resources_.patch(id(), 0, "01234", digestOf("01234"));
  EXPECT_EQ(first.status, 200) << first;
  EXPECT_EQ(first.json["upload_offset"], 5);
  EXPECT_EQ(first.json["state"], "uploading");
  const Reply early = resources_.content(id());
  EXPECT_TRUE(isProblem(early, 409, "not_stored"));
  EXPECT_EQ(early.json["holder"], "store");
  EXPECT_EQ(early.json["state"], "uploading");
  const Reply last = resources_.patch(id(), 5, "56789");
  EXPECT_EQ(last.json["state"], "active") << last;
  EXPECT_EQ(resources_.content(id()).body, "0123456789");
}

TEST_F(Content, of_unknown_length_is_complete_when_that_is_said) {
  begin();
  EXPECT_EQ(resources_.patch(id(), 0, "01234").json["state"], "uploading");
  EXPECT_EQ(resources_.patch(id(), 5, "56", {{"Upload-Complete", "?0"}}).json["upload_offset"], 7);
  EXPECT_EQ(resources_.patch(id(), 7, "", {{"Upload-Complete", "?1"}}).json["size_bytes"], 7);
  EXPECT_EQ(resources_.content(id()).body, "0123456");
}

TEST_F(Content, goes_on_where_it_is_and_nowhere_else) {
  begin(R"("size_bytes":10)");
  resources_.patch(id(), 0, "01234");
  for (const int offset : {0, 4, 6}) {
    const Reply reply = resources_.patch(id(), offset, "x");
    EXPECT_TRUE(isProblem(reply, 409, "wrong_offset")) << offset;
    EXPECT_EQ(reply.json["upload_offset"], 5);
  }
  EXPECT_EQ(resources_.get(id()).json["upload_offset"], 5);
  EXPECT_TRUE(isProblem(resources_.patch(id(), 5, "567890"), 422, "validation_failed"))
      << "more than was announced";
  EXPECT_EQ(resources_.patch(id(), 5, "56789").json["state"], "active");
}

TEST_F(Content, needs_headers_that_can_be_read) {
  begin();
  const auto patch = [&](Headers headers) {
    return http_.patch(contentPath(id()), "x", std::move(headers));
  };
  EXPECT_TRUE(isProblem(patch({}), 400, "invalid_header"));
  EXPECT_TRUE(isProblem(patch({{"Upload-Offset", "-1"}}), 400, "invalid_header"));
  EXPECT_TRUE(isProblem(patch({{"Upload-Offset", "1x"}}), 400, "invalid_header"));
  EXPECT_TRUE(isProblem(patch({{"Upload-Offset", "0"}, {"Upload-Complete", "yes"}}), 400,
                        "invalid_header"));
  EXPECT_TRUE(isProblem(patch({{"Upload-Offset", "0"}, {"Content-Digest", "sha-256=:x:"}}), 400,
                        "invalid_header"));
  EXPECT_EQ(patch({{"Upload-Offset", "0"}, {"Content-Digest", "md5=:x:"}}).status, 200)
      << "other sums are passed over";
}

TEST_F(Content, with_another_sum_than_was_said_is_refused) {
  const std::string bytes = "of " + id();  // that nobody else has stored
  const std::string first = bytes.substr(0, 2), rest = bytes.substr(2);
  begin(R"("size_bytes":)" + std::to_string(bytes.size()) + R"(,"sha256":")" + sha256Hex(bytes) +
        '"');
  const Reply part = resources_.patch(id(), 0, first, digestOf("xy"));
  EXPECT_TRUE(isProblem(part, 422, "validation_failed"));
  EXPECT_EQ(part.json["errors"][0]["code"], "checksum_mismatch");
  EXPECT_EQ(resources_.get(id()).json["upload_offset"], 0);
  EXPECT_EQ(resources_.patch(id(), 0, first, digestOf(first)).json["upload_offset"], 2);
  const Reply whole = resources_.patch(id(), 2, std::string(rest.size(), 'X'));
  EXPECT_TRUE(isProblem(whole, 422, "validation_failed"));
  EXPECT_EQ(whole.json["errors"][0]["code"], "checksum_mismatch");
  EXPECT_EQ(resources_.get(id()).json["upload_offset"], 0) << "it begins anew";
  EXPECT_EQ(resources_.put(id(), bytes).json["state"], "active");
}

TEST_F(Content, that_is_complete_may_be_sent_again_and_not_changed) {
  begin(R"("size_bytes":6)");
  resources_.patch(id(), 0, "abc");
  resources_.patch(id(), 3, "def");
  EXPECT_EQ(resources_.patch(id(), 3, "def").json["state"], "active")
      << "of a client that did not hear the answer";
  EXPECT_EQ(resources_.put(id(), "abcdef").status, 200);
  EXPECT_TRUE(isProblem(resources_.patch(id(), 3, "xyz"), 409, "content_exists"));
  EXPECT_TRUE(isProblem(resources_.put(id(), "abcxyz"), 409, "content_exists"));
  EXPECT_TRUE(isProblem(resources_.put(id(), "abc"), 409, "content_exists"));
  EXPECT_EQ(resources_.content(id()).body, "abcdef");
}

TEST_F(Content, of_several_may_be_the_same_bytes) {
  resources_.createStored(id("a"), "same of " + id());
  resources_.createStored(id("b"), "same of " + id());
  EXPECT_EQ(resources_.remove(id("a")).json["state"], "evicted");
  EXPECT_EQ(resources_.content(id("b")).body, "same of " + id());
}

TEST_F(Content, of_the_same_bytes_need_not_be_sent) {
  const std::string bytes = "known of " + id();
  resources_.createStored(id("a"), bytes);
  const Json::Value known = begin(
      R"("size_bytes":)" + std::to_string(bytes.size()) + R"(,"sha256":")" + sha256Hex(bytes) + '"',
      "b");
  EXPECT_EQ(known["state"], "active");
  EXPECT_EQ(resources_.content(id("b")).body, bytes);
}

TEST_F(Content, elsewhere_takes_no_bytes) {
  begin(R"("holder":"external","uri":"https://example.com/a")");
  const Reply down = resources_.content(id());
  EXPECT_TRUE(isProblem(down, 409, "not_stored"));
  EXPECT_EQ(down.json["holder"], "external");
  EXPECT_TRUE(isProblem(resources_.put(id(), "abc"), 409, "not_stored"));
  EXPECT_TRUE(isProblem(resources_.put(id("absent"), "abc"), 404, "not_found"));
}

TEST_F(Content, is_answered_once_under_an_idempotency_key) {
  begin(R"("size_bytes":6)");
  const Headers key = {{"Idempotency-Key", id("key")}};
  EXPECT_EQ(resources_.patch(id(), 0, "abc", key).json["upload_offset"], 3);
  EXPECT_EQ(resources_.patch(id(), 0, "abc", key).json["upload_offset"], 3) << "the first answer";
  EXPECT_EQ(resources_.get(id()).json["upload_offset"], 3);
}

// The parts of each are one behind the other; which of them comes first is chance.
TEST_F(Content, of_two_clients_is_never_mixed) {
  begin(R"("size_bytes":200000)");
  const std::string url = service().url();
  const auto upload = [&](char letter) {
    Http http(url);
    ResourceClient client(http);
    for (int offset = 0; offset < 200'000;) {
      const Reply reply = client.patch(id(), offset, std::string(10'000, letter));
      if (reply.status == 200) {
        offset += 10'000;
      } else if (reply.code() == "wrong_offset") {
        offset = reply.json["upload_offset"].asInt();
      } else if (reply.code() != "store_busy") {
        EXPECT_EQ(reply.code(), "content_exists") << reply;
        return;
      }
    }
  };
  std::thread other([&] { upload('b'); });
  upload('a');
  other.join();
  const std::string body = resources_.content(id()).body;
  ASSERT_EQ(body.size(), 200'000U);
  for (std::size_t part = 0; part < 20; ++part) {
    const std::string piece = body.substr(part * 10'000, 10'000);
    EXPECT_EQ(piece.find_first_not_of(piece[0]), std::string::npos) << part;
  }
  EXPECT_EQ(sha256Hex(body), resources_.get(id()).json["sha256"]);
}

TEST_F(Content, larger_than_a_body_may_be_is_refused) {
  begin();
  const Reply reply = resources_.put(id(), std::string((8 << 20) + 1, 'x'));
  EXPECT_TRUE(isProblem(reply, 413, "body_too_large"));
  EXPECT_EQ(resources_.get(id()).json["upload_offset"], 0);
}

// --- With a service of its own.

std::int64_t residentBytes(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stoll(line.substr(6)) * 1024;
  }
  return 0;
}

std::string folderOf(const Service& service) {
  const bool is_postgres = service.store().starts_with("postgres");
  return (service.folder() / (is_postgres ? "data/blobs" : "blobs")).string();
}

TEST(ContentOfALargeFile, leaves_the_memory_of_the_service_as_it_is) {
  constexpr std::int64_t kPart = 4 << 20, kParts = 16;
  constexpr std::int64_t kMostGrowth = 24 << 20;
  Service service({.store = anyStore()});
  Http http(service.url());
  ResourceClient resources(http);
  resources.createStored("warm", noise(kPart));
  resources.content("warm");
  const std::string part = noise(kPart, 2);
  std::string whole;
  const std::int64_t before = residentBytes(service.pid());
  resources.create(R"("resource_id":"large","type":"file","size_bytes":)" +
                   std::to_string(kPart * kParts));
  for (std::int64_t i = 0; i < kParts; ++i) {
    ASSERT_EQ(resources.patch("large", i * kPart, part).status, 200);
    whole += part;
  }
  EXPECT_LT(residentBytes(service.pid()) - before, kMostGrowth) << "up";
  EXPECT_TRUE(resources.content("large").body == whole);
  EXPECT_LT(residentBytes(service.pid()) - before, kMostGrowth) << "down";
}

TEST(ContentAfterACrash, goes_on_where_the_last_answer_was) {
  Service service;
  Http http(service.url());
  ResourceClient resources(http);
  const std::string bytes = noise(900'000);
  resources.create(R"("resource_id":"a","type":"file","size_bytes":900000)");
  ASSERT_EQ(resources.patch("a", 0, bytes.substr(0, 300'000)).status, 200);
  {  // the second part is on its way
    RawConnection connection(service.port());
    connection.send(
        "PATCH /v1/resources/a/content HTTP/1.1\r\nHost: localhost\r\n"
        "Upload-Offset: 300000\r\nContent-Length: 300000\r\n\r\n" +
        bytes.substr(300'000, 100'000));
    service.kill9();
  }
  service.start();
  http.reconnect();
  const Json::Value found = resources.get("a").json;
  EXPECT_EQ(found["upload_offset"], 300'000);
  // What a part left that was written and not answered is cut off.
  std::ofstream(folderOf(service) + "/uploads/" + found["uid"].asString(), std::ios::app)
      << "never answered";
  ASSERT_EQ(resources.patch("a", 300'000, bytes.substr(300'000, 300'000)).status, 200);
  service.kill9();
  service.start();
  http.reconnect();
  const Reply last = resources.patch("a", 600'000, bytes.substr(600'000));
  EXPECT_EQ(last.json["sha256"], sha256Hex(bytes)) << last;
  EXPECT_TRUE(resources.content("a").body == bytes);
}

TEST(ContentOfALostUpload, begins_anew) {
  Service service;
  Http http(service.url());
  ResourceClient resources(http);
  const Json::Value made = resources.create(R"("resource_id":"a","type":"file","size_bytes":6)");
  resources.patch("a", 0, "abc");
  std::filesystem::remove(folderOf(service) + "/uploads/" + made["uid"].asString());
  const Reply lost = resources.patch("a", 3, "def");
  EXPECT_TRUE(isProblem(lost, 409, "wrong_offset"));
  EXPECT_EQ(lost.json["upload_offset"], 0);
  EXPECT_EQ(resources.put("a", "abcdef").json["state"], "active");
}

TEST(ContentThatIsLocked, is_refused_until_the_other_has_ended) {
  Service service;
  Http http(service.url());
  ResourceClient resources(http);
  const Json::Value made = resources.create(R"("resource_id":"a","type":"file","size_bytes":6)");
  resources.patch("a", 0, "abc");
  const std::string file = folderOf(service) + "/uploads/" + made["uid"].asString();
  const int other = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(other, LOCK_EX | LOCK_NB), 0);
  const Reply busy = resources.patch("a", 3, "def");
  EXPECT_TRUE(isProblem(busy, 503, "store_busy"));
  EXPECT_FALSE(busy.header("retry-after").empty());
  ::close(other);
  EXPECT_EQ(resources.patch("a", 3, "def").json["state"], "active");
}

TEST(ContentOnAFullDisk, is_refused_and_can_go_on) {
  Service service({.store = anyStore(), .settings = "resource_max_disk_bytes: 100000\n"});
  Http http(service.url());
  ResourceClient resources(http);
  const Json::Value kept = resources.createStored("kept", noise(50'000));
  resources.act("kept", "lease");
  resources.create(R"("resource_id":"large","type":"file")");
  const Reply full = resources.put("large", noise(60'000, 2));
  EXPECT_TRUE(isProblem(full, 503, "store_full"));
  EXPECT_FALSE(full.header("retry-after").empty());
  EXPECT_EQ(resources.content("kept").status, 200);
  EXPECT_EQ(resources.put("large", noise(10'000, 3)).json["state"], "active");
}

TEST(ContentWhoseFileIsGone, is_not_answered_as_if_it_were_there) {
  Service service;
  Http http(service.url());
  ResourceClient resources(http);
  const std::string sum = resources.createStored("a", "abc")["sha256"].asString();
  std::filesystem::remove(folderOf(service) + "/" + sum.substr(0, 2) + "/" + sum);
  EXPECT_TRUE(isProblem(resources.content("a"), 503, "place_unavailable"));
}

TEST(BlobFolder, that_cannot_be_used_keeps_the_service_from_starting) {
  try {
    Service service({.settings = "blob_dir: /dev/null/blobs\n"});
    FAIL() << "it started";
  } catch (const std::exception& refused) {
    EXPECT_NE(std::string(refused.what()).find("blob_dir"), std::string::npos) << refused.what();
  }
}

TEST(BlobFolder, is_tidied_of_what_nobody_knows) {
  Service service({.store = lastingStore(), .settings = "blob_grace_seconds: 0\n"});
  Http http(service.url());
  ResourceClient resources(http);
  const std::string sum = resources.createStored("a", "abc")["sha256"].asString();
  const std::string kept = folderOf(service) + "/" + sum.substr(0, 2) + "/" + sum;
  const std::string stray_sum = sha256Hex("stray");
  const std::string stray = folderOf(service) + "/" + stray_sum.substr(0, 2) + "/" + stray_sum;
  const std::string upload = folderOf(service) + "/uploads/u~stray";
  std::filesystem::create_directories(std::filesystem::path(stray).parent_path());
  const auto long_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(2);
  for (const std::string& file : {stray, upload}) writeFile(file, "stray");
  for (const std::string& file : {stray, upload, kept}) {
    std::filesystem::last_write_time(file, long_ago);
  }
  EXPECT_TRUE(eventually(kPatience, [&] {
    http.post("/v1/tick");
    return !std::filesystem::exists(stray) && !std::filesystem::exists(upload);
  }));
  EXPECT_EQ(resources.content("a").body, "abc");
  resources.remove("a");
  EXPECT_TRUE(eventually(kPatience, [&] {
    http.post("/v1/tick");
    return !std::filesystem::exists(kept);
  })) << "nobody uses the bytes any more";
}

}  // namespace
}  // namespace muster::test
