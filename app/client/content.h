#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "app/client/api_client.h"
#include "app/client/refusal.h"

namespace muster {

// What is moved at a time, both ways: memory does not grow with the size of a content.
constexpr std::size_t kContentPart = 4U << 20;

// One exchange with the service, as often tried as its owner thinks right. The answer is one of
// success.
using AskService = std::function<tl::expected<HttpAnswer, Refusal>(const HttpRequest&)>;
// One try. `api` outlives it.
AskService askOnce(ApiClient& api);

struct Content {
  std::uint64_t size = 0;
  std::string sha256;  // empty: the service did not say
};

// The content at `path`, from byte `from` on, in pieces. Refusals besides those of the service:
// `range_not_satisfiable` if it is shorter than `from`, `content_changed` if it became another one
// meanwhile, `stopped` if `take` answered false.
using TakeContent =
    std::function<bool(std::string_view piece, std::uint64_t before, std::uint64_t size)>;
tl::expected<Content, Refusal> download(const AskService& ask, const std::string& path,
                                        std::uint64_t from, const TakeContent& take);

// The content at `path` into an open file, which may hold its beginning already: only the rest is
// fetched then. The sum is checked: against `sha256`, or if that is empty, what the service says.
// `checksum_mismatch` leaves the file empty, `cannot_write` says why in its detail. `watch` is told
// what has come; false stops it.
using WatchTransfer = std::function<bool(std::uint64_t done, std::uint64_t size)>;
tl::expected<Content, Refusal> downloadInto(const AskService& ask, const std::string& path, int fd,
                                            const std::string& sha256, const WatchTransfer& watch);

}  // namespace muster
