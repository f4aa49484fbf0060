#include "app/cli/service_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "app/cli/problem_text.h"
#include "app/cli/relative_time.h"
#include "app/cli/table.h"

namespace muster {
namespace {

constexpr std::size_t kLargestPage = 200;

}  // namespace

tl::expected<Reply, int> call(ApiClient& api, Terminal& terminal, const HttpRequest& request) {
  auto answer = api.send(request);
  if (!answer) {
    terminal.err << unreachableText(api.url(), answer.error());
    return tl::unexpected(kExitUnreachable);
  }
  if (!answer->ok()) {
    terminal.err << problemText(*answer);
    return tl::unexpected(kExitFailed);
  }
  auto json = JsonAnswer::parse(answer->body.empty() ? "null" : std::move(answer->body));
  if (!json) {
    terminal.err << fmt::format("the answer from {} is not JSON; is this a Muster service?\n",
                                api.url());
    return tl::unexpected(kExitFailed);
  }
  return Reply{*std::move(json), answer->date()};
}

tl::expected<Listing, int> list(ApiClient& api, Terminal& terminal, const std::string& path,
                                const QueryParameters& parameters, std::size_t limit) {
  Listing listing;
  std::string cursor;
  do {
    QueryParameters page = parameters;
    page.emplace_back("limit",
                      std::to_string(std::min(kLargestPage, limit - listing.items.size())));
    page.emplace_back("cursor", cursor);
    auto reply = call(api, terminal, {.path = path + apiQuery(page)});
    if (!reply) return tl::unexpected(reply.error());
    listing.now = reply->now;
    const JsonValue root = listing.pages.emplace_back(std::move(reply->json)).root();
    for (const auto& item : itemsOf(root, "items")) listing.items.push_back(item);
    cursor = textOf(root, "next_cursor");
  } while (!cursor.empty() && listing.items.size() < limit);
  listing.has_more = !cursor.empty();
  return listing;
}

void printItems(Terminal& terminal, const Listing& listing) {
  terminal.out << "{\"items\":[";
  bool first = true;
  for (const auto& item : listing.items) {
    terminal.out << (first ? "" : ",\n") << item.raw();
    first = false;
  }
  terminal.out << "]}\n";
}

void noteMore(Terminal& terminal, const Listing& listing) {
  if (!listing.has_more) return;
  terminal.err << fmt::format("the first {}; --limit shows more\n", listing.items.size());
}

std::string ago(JsonValue value, std::string_view name, const std::optional<Time>& now) {
  const auto time = timeOf(value, name);
  if (!time || !now) return textOf(value, name);
  return relativeTime(*time, *now);
}

std::string timeAndAgo(JsonValue value, std::string_view name, const std::optional<Time>& now) {
  std::string text = textOf(value, name);
  const auto time = timeOf(value, name);
  if (!time || !now) return text;
  return fmt::format("{} ({})", text, relativeTime(*time, *now));
}

}  // namespace muster
