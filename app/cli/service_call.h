#pragma once

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/commands.h"
#include "app/client/json_fields.h"

namespace muster {

// What the service said yes to.
struct Reply {
  JsonAnswer json;          // null for an answer without a body
  std::optional<Time> now;  // the service's clock, for "12s ago"
};

// Sends the request. When the service refuses or cannot be reached, `terminal.err` says why and
// the error is the exit code.
tl::expected<Reply, int> call(ApiClient& api, Terminal& terminal, const HttpRequest& request);

// As many pages of a list as `limit` needs.
struct Listing {
  std::deque<JsonAnswer> pages;
  std::vector<JsonValue> items;
  std::optional<Time> now;
  bool has_more = false;
};

using QueryParameters = std::vector<std::pair<std::string, std::string>>;

tl::expected<Listing, int> list(ApiClient& api, Terminal& terminal, const std::string& path,
                                const QueryParameters& parameters, std::size_t limit);

// The items as one JSON document, for scripts.
void printItems(Terminal& terminal, const Listing& listing);

// Says that the list went on.
void noteMore(Terminal& terminal, const Listing& listing);

// "12s ago" where the service's clock is known, else the time itself; "" when absent.
std::string ago(JsonValue value, std::string_view name, const std::optional<Time>& now);

// "2026-03-01T12:00:00.000Z (12s ago)"
std::string timeAndAgo(JsonValue value, std::string_view name, const std::optional<Time>& now);

}  // namespace muster
