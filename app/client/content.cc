#include "app/client/content.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "app/client/sha256.h"

namespace muster {
namespace {

constexpr Millis kPartTimeout = Seconds(120);

std::string headerOf(const HttpAnswer& answer, const char* name) {
  const auto found = answer.headers.find(name);
  return found == answer.headers.end() ? "" : found->second;
}

// "sha256:HEX" in quotes.
std::string sumIn(std::string_view etag) {
  constexpr std::string_view kBegin = "\"sha256:";
  if (!etag.starts_with(kBegin) || !etag.ends_with('"')) return "";
  etag = etag.substr(kBegin.size(), etag.size() - kBegin.size() - 1);
  return isSha256Hex(etag) ? std::string(etag) : "";
}

// "bytes 0-99/1000" that begins at `from`: the size of all. Nothing when it is another piece.
std::optional<std::uint64_t> sizeIn(std::string_view range, std::uint64_t from, std::size_t count) {
  if (count == 0) return std::nullopt;
  const std::string begin = fmt::format("bytes {}-{}/", from, from + count - 1);
  if (!range.starts_with(begin)) return std::nullopt;
  range.remove_prefix(begin.size());
  std::uint64_t size = 0;
  const auto [end, fault] = std::from_chars(range.data(), range.data() + range.size(), size);
  if (fault != std::errc() || end != range.data() + range.size()) return std::nullopt;
  return size < from + count ? std::nullopt : std::optional(size);
}

Refusal own(const char* code, std::string detail) { return {422, code, std::move(detail), {}}; }

Refusal cannotUse(const char* what) {
  return own("cannot_write", fmt::format("{}: {}", what, std::strerror(errno)));
}

}  // namespace

AskService askOnce(ApiClient& api) {
  return [&api](const HttpRequest& request) -> tl::expected<HttpAnswer, Refusal> {
    auto answer = api.send(request);
    if (!answer) return tl::unexpected(Refusal{0, "unreachable", answer.error().what, {}});
    if (!answer->ok()) return tl::unexpected(refusalOf(*answer));
    return *std::move(answer);
  };
}

tl::expected<Content, Refusal> download(const AskService& ask, const std::string& path,
                                        std::uint64_t from, const TakeContent& take) {
  Content content;
  std::string etag;
  // Begins with the last byte that is known, so that there is one to ask for.
  std::uint64_t at = from > 0 ? from - 1 : 0, skipped = from - at;
  bool is_first = true;
  do {
    auto part = ask({.path = path,
                     .headers = {{"Range", fmt::format("bytes={}-{}", at, at + kContentPart - 1)}},
                     .timeout = kPartTimeout,
                     .most_body_bytes = kContentPart + 1});
    if (!part && part.error().status == 416 && is_first) {
      if (from == 0) return Content{0, Sha256().hex()};
      return tl::unexpected(own("range_not_satisfiable", "the content is shorter than that"));
    }
    if (!part) return tl::unexpected(part.error());
    const std::string& body = part->body;
    const bool is_whole = part->status == 200 && at == 0 && body.size() <= kContentPart;
    const auto size =
        is_whole ? body.size() : sizeIn(headerOf(*part, "content-range"), at, body.size());
    if (!size || (!is_first && size != content.size)) {
      return tl::unexpected(own("not_content", "the service does not give out content in pieces"));
    }
    if (is_first) etag = headerOf(*part, "etag");
    if (headerOf(*part, "etag") != etag) {
      return tl::unexpected(own("content_changed", "the content changed while it was fetched"));
    }
    content = {*size, sumIn(etag)};
    is_first = false;
    const auto fresh = std::string_view(body).substr(std::min<std::size_t>(skipped, body.size()));
    if (!fresh.empty() && !take(fresh, at + skipped, content.size)) {
      return tl::unexpected(own("stopped", "stopped"));
    }
    at += body.size();
    skipped = 0;
  } while (at < content.size);
  return content;
}

tl::expected<Content, Refusal> downloadInto(const AskService& ask, const std::string& path, int fd,
                                            const std::string& sha256, const WatchTransfer& watch) {
  while (true) {
    Sha256 sum;
    std::uint64_t from = 0;
    std::string room(std::size_t{1} << 16, '\0');
    while (true) {
      const ssize_t count = ::pread(fd, room.data(), room.size(), static_cast<off_t>(from));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return tl::unexpected(cannotUse("read"));
      if (count == 0) break;
      sum.add(std::string_view(room).substr(0, static_cast<std::size_t>(count)));
      from += static_cast<std::uint64_t>(count);
    }
    std::optional<Refusal> disk;
    auto content = download(
        ask, path, from, [&](std::string_view piece, std::uint64_t before, std::uint64_t size) {
          sum.add(piece);
          for (std::uint64_t at = before; !piece.empty();) {
            const ssize_t count = ::pwrite(fd, piece.data(), piece.size(), static_cast<off_t>(at));
            if (count < 0 && errno == EINTR) continue;
            if (count < 0) {
              disk = cannotUse("write");
              return false;
            }
            at += static_cast<std::uint64_t>(count);
            piece.remove_prefix(static_cast<std::size_t>(count));
            if (piece.empty()) return watch(at, size);
          }
          return true;
        });
    if (disk) return tl::unexpected(*disk);
    const bool beyond = !content && content.error().code == "range_not_satisfiable";
    if (!content && !(beyond && from > 0)) return tl::unexpected(content.error());
    if (content) {
      const std::string wanted = sha256.empty() ? content->sha256 : sha256;
      if (wanted.empty() || sum.hex() == wanted) return content;
    }
    if (::ftruncate(fd, 0) != 0) return tl::unexpected(cannotUse("truncate"));
    // What was there before may have been the beginning of something else.
    if (from == 0) {
      return tl::unexpected(own("checksum_mismatch", "what came has not the sum it should have"));
    }
  }
}

}  // namespace muster
