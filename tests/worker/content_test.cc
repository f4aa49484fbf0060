// How contents are moved in pieces, with a service that is a function.
#include "app/client/content.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include "app/client/artifact_upload.h"
#include "app/client/sha256.h"
#include "app/worker/content_cache.h"
#include "app/worker/descriptor.h"
#include "models/base64.h"
#include "tests/support/temp_folder.h"

namespace muster::test {
namespace {

std::string headerIn(const HttpRequest& request, const std::string& name) {
  for (const auto& [key, value] : request.headers) {
    if (key == name) return value;
  }
  return "";
}

Refusal problem(int status, const std::string& code) { return {status, code, code, {}}; }

// Gives out one content, as the service does.
struct Source {
  std::string content;
  std::string etag = "\"sha256:" + Sha256().add(content).hex() + "\"";
  std::vector<std::string> ranges = {};                             // that were asked for
  std::function<std::optional<Refusal>(std::size_t)> refusal = {};  // of the n-th request

  AskService ask() {
    return [this](const HttpRequest& request) -> tl::expected<HttpAnswer, Refusal> {
      ranges.push_back(headerIn(request, "Range"));
      if (refusal) {
        if (auto refused = refusal(ranges.size())) return tl::unexpected(*refused);
      }
      std::size_t first = 0, last = 0;
      EXPECT_EQ(std::sscanf(ranges.back().c_str(), "bytes=%zu-%zu", &first, &last), 2);
      if (first >= content.size()) {
        return tl::unexpected(problem(416, "range_not_satisfiable"));
      }
      last = std::min(last, content.size() - 1);
      return HttpAnswer{
          206,
          {{"etag", etag},
           {"content-range", fmt::format("bytes {}-{}/{}", first, last, content.size())}},
          content.substr(first, last - first + 1)};
    };
  }
};

std::string someBytes(std::size_t size) {
  std::string bytes(size, '\0');
  std::uint32_t state = 1;
  for (char& c : bytes) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return bytes;
}

class ContentTest : public testing::Test {
 protected:
  tl::expected<Content, Refusal> fetch(Source& source, const std::string& sha256 = "") {
    const Descriptor file(::open((folder_ / "f").c_str(), O_RDWR | O_CREAT, 0600));
    return downloadInto(source.ask(), "/c", file.get(), sha256, [](auto, auto) { return true; });
  }

  TempFolder folder_;
};

TEST_F(ContentTest, comes_in_parts) {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, kContentPart, kContentPart + 1, 2 * kContentPart + 5}) {
    Source source{someBytes(size)};
    std::filesystem::remove(folder_ / "f");
    const auto content = fetch(source);
    ASSERT_TRUE(content) << content.error().code;
    EXPECT_EQ(content->size, size);
    EXPECT_EQ(readFile(folder_ / "f"), source.content);
    EXPECT_EQ(source.ranges.size(),
              std::max<std::size_t>(1, (size + kContentPart - 1) / kContentPart));
  }
}

TEST_F(ContentTest, goes_on_where_it_was_cut_off) {
  Source source{someBytes(kContentPart + 1000)};
  writeFile(folder_ / "f", source.content.substr(0, kContentPart));
  ASSERT_TRUE(fetch(source));
  EXPECT_EQ(readFile(folder_ / "f"), source.content);
  ASSERT_EQ(source.ranges.size(), 1U);
  EXPECT_TRUE(source.ranges[0].starts_with(fmt::format("bytes={}-", kContentPart - 1)));
  ASSERT_TRUE(fetch(source)) << "it is whole already";
  EXPECT_EQ(readFile(folder_ / "f"), source.content);
}

TEST_F(ContentTest, begins_anew_where_the_beginning_is_of_something_else) {
  Source source{someBytes(1000)};
  writeFile(folder_ / "f", "something else");
  ASSERT_TRUE(fetch(source));
  EXPECT_EQ(readFile(folder_ / "f"), source.content);
  writeFile(folder_ / "f", someBytes(5000));
  ASSERT_TRUE(fetch(source)) << "what was there is longer";
  EXPECT_EQ(readFile(folder_ / "f"), source.content);
}

TEST_F(ContentTest, that_has_not_its_sum_is_refused_and_not_kept) {
  Source source{someBytes(1000)};
  const auto content = fetch(source, std::string(64, '0'));
  ASSERT_FALSE(content);
  EXPECT_EQ(content.error().code, "checksum_mismatch");
  EXPECT_EQ(std::filesystem::file_size(folder_ / "f"), 0U);
  source.etag = "\"sha256:" + std::string(64, '1') + "\"";
  EXPECT_EQ(fetch(source).error().code, "checksum_mismatch");
}

TEST_F(ContentTest, that_changes_meanwhile_is_refused) {
  Source source{someBytes(kContentPart + 1)};
  source.refusal = [&source](std::size_t count) {
    if (count == 2) source.etag = "\"sha256:" + std::string(64, '2') + "\"";
    return std::optional<Refusal>();
  };
  EXPECT_EQ(fetch(source).error().code, "content_changed");
}

TEST_F(ContentTest, that_fails_in_the_middle_keeps_what_has_come) {
  Source source{someBytes(2 * kContentPart)};
  source.refusal = [](std::size_t count) {
    return count == 2 ? std::optional(problem(503, "draining")) : std::nullopt;
  };
  EXPECT_EQ(fetch(source).error().status, 503);
  EXPECT_EQ(std::filesystem::file_size(folder_ / "f"), kContentPart);
  source.refusal = {};
  ASSERT_TRUE(fetch(source));
  EXPECT_EQ(readFile(folder_ / "f"), source.content);
}

TEST_F(ContentTest, is_fetched_into_the_cache_once) {
  Source source{someBytes(1000)};
  const std::string sum = Sha256().add(source.content).hex();
  const CacheWait wait{[] { return false; }, [] {}};
  writeFile(folder_ / (sum + ".part"), source.content.substr(0, 600));
  for (int i = 0; i < 2; ++i) {
    const auto cached = fetchIntoCache(source.ask(), "/c", folder_.path().string(), sum, wait);
    ASSERT_TRUE(cached);
    EXPECT_EQ(*cached, (folder_ / sum).string());
    EXPECT_EQ(readFile(*cached), source.content);
  }
  EXPECT_EQ(source.ranges.size(), 1U);
  EXPECT_FALSE(std::filesystem::exists(folder_ / (sum + ".part")));
  EXPECT_EQ(static_cast<unsigned>(std::filesystem::status(folder_ / sum).permissions()) & 0222, 0U);
}

TEST_F(ContentTest, that_another_worker_fetches_is_waited_for) {
  Source source{someBytes(1000)};
  const std::string sum = Sha256().add(source.content).hex();
  Descriptor other(::open((folder_ / (sum + ".part")).c_str(), O_RDWR | O_CREAT, 0600));
  ASSERT_EQ(::flock(other.get(), LOCK_EX), 0);
  int pauses = 0;
  const auto finish = [&] {
    ++pauses;
    writeFile(folder_ / sum, source.content);
    std::filesystem::remove(folder_ / (sum + ".part"));
    other.close();
  };
  ASSERT_TRUE(fetchIntoCache(source.ask(), "/c", folder_.path().string(), sum,
                             {[] { return false; }, finish}));
  EXPECT_EQ(pauses, 1);
  EXPECT_TRUE(source.ranges.empty());
}

TEST_F(ContentTest, is_not_fetched_any_more_when_told_to_stop) {
  Source source{someBytes(3 * kContentPart)};
  const std::string sum = Sha256().add(source.content).hex();
  const auto stopped = fetchIntoCache(source.ask(), "/c", folder_.path().string(), sum,
                                      {[&source] { return !source.ranges.empty(); }, [] {}});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, "stopped");
  EXPECT_EQ(source.ranges.size(), 1U);
  EXPECT_EQ(std::filesystem::file_size(folder_ / (sum + ".part")), kContentPart);
}

// Takes one artifact, as the service does.
struct Sink {
  std::string content;
  bool active = false;
  std::vector<std::string> calls = {};
  // Loses the answer to the n-th part: the part is taken, and refused when it comes again.
  std::size_t loses = 0;

  AskService ask() {
    return [this](const HttpRequest& request) -> tl::expected<HttpAnswer, Refusal> {
      calls.push_back(request.method);
      if (request.method == "POST") return HttpAnswer{201, {}, R"({"uid":"u~1"})"};
      if (request.method == "GET") return HttpAnswer{200, {}, shown()};
      EXPECT_EQ(headerIn(request, "Content-Digest"),
                "sha-256=:" + encodeBase64(Sha256().add(*request.body).digest()) + ":");
      EXPECT_LE(request.body->size(), kContentPart);
      if (request.method == "PUT") {
        content = *request.body;
        active = true;
        return HttpAnswer{201, {}, shown()};
      }
      if (active || headerIn(request, "Upload-Offset") != std::to_string(content.size())) {
        return tl::unexpected(problem(409, active ? "content_exists" : "wrong_offset"));
      }
      content += *request.body;
      active = headerIn(request, "Upload-Complete") == "?1";
      if (loses > 0 && --loses == 0) return tl::unexpected(problem(409, "wrong_offset"));
      return HttpAnswer{200, {}, shown()};
    };
  }
  std::string shown() const {
    return active
               ? fmt::format(R"({{"uid":"u~1","state":"active","size_bytes":{}}})", content.size())
               : fmt::format(R"({{"uid":"u~1","state":"uploading","upload_offset":{}}})",
                             content.size());
  }
};

bool upload(Sink& sink, const std::string& bytes) {
  ArtifactUpload sending(sink.ask(), {.job = "j", .lease_token = "t", .name = "a/b"});
  for (std::size_t at = 0; at < bytes.size(); at += 65'536) {
    if (!sending.add(std::string_view(bytes).substr(at, 65'536))) return false;
  }
  return sending.finish().has_value();
}

TEST(ArtifactUpload, is_one_request_if_it_is_small_and_parts_if_not) {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{5}, kContentPart, kContentPart + 1, 2 * kContentPart}) {
    Sink sink;
    const std::string bytes = someBytes(size);
    ASSERT_TRUE(upload(sink, bytes)) << size;
    EXPECT_EQ(sink.content, bytes);
    EXPECT_TRUE(sink.active);
    EXPECT_EQ(sink.calls.size(), size <= kContentPart ? 1U : 3U) << size;
  }
}

TEST(ArtifactUpload, does_not_send_a_part_twice_whose_answer_was_lost) {
  for (const std::size_t loses : {1UL, 2UL, 3UL}) {
    Sink sink;
    sink.loses = loses;
    const std::string bytes = someBytes(2 * kContentPart + 7);
    ASSERT_TRUE(upload(sink, bytes)) << loses;
    EXPECT_EQ(sink.content, bytes);
  }
}

}  // namespace
}  // namespace muster::test
