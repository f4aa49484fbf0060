#include "models/resource.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "models/ids.h"

namespace muster {
namespace {

constexpr std::size_t kMostNameBytes = 256;
constexpr std::array<std::string_view, 6> kStates = {"uploading", "active",  "stale",
                                                     "evicting",  "evicted", "lost"};
constexpr std::array<std::string_view, 4> kHolders = {"store", "external", "host", "worker"};

}  // namespace

std::string_view name(ResourceState state) { return kStates[static_cast<std::size_t>(state)]; }

std::optional<ResourceState> parseResourceState(std::string_view text) {
  const auto found = std::find(kStates.begin(), kStates.end(), text);
  if (found == kStates.end()) return std::nullopt;
  return static_cast<ResourceState>(found - kStates.begin());
}

std::string_view name(Holder::Kind kind) { return kHolders[static_cast<std::size_t>(kind)]; }

std::string Holder::text() const {
  std::string text(muster::name(kind));
  if (kind == Kind::kHost || kind == Kind::kWorker) text += ':' + name;
  return text;
}

std::optional<Holder> parseHolder(std::string_view text) {
  if (text == "store") return Holder{};
  if (text == "external") return Holder{Holder::Kind::kExternal, ""};
  for (const auto kind : {Holder::Kind::kHost, Holder::Kind::kWorker}) {
    const std::string prefix = std::string(name(kind)) + ':';
    if (!text.starts_with(prefix)) continue;
    const auto rest = text.substr(prefix.size());
    const bool is_name =
        kind == Holder::Kind::kWorker ? isValidId(rest) : !rest.empty() && rest.size() <= 256;
    if (!is_name) return std::nullopt;
    return Holder{kind, std::string(rest)};
  }
  return std::nullopt;
}

bool isSlashedName(std::string_view text) {
  if (text.empty() || text.size() > kMostNameBytes) return false;
  const auto is_allowed = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("._~:/-").find(c) != std::string_view::npos;
  };
  if (!std::all_of(text.begin(), text.end(), is_allowed)) return false;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('/', at), text.size());
    const auto segment = text.substr(at, end - at);
    if (segment.empty() || segment == "." || segment == "..") return false;
    at = end + 1;
  }
  return true;
}

bool isResourceId(std::string_view text) {
  return isSlashedName(text) && !text.starts_with(kUidPrefix);
}

}  // namespace muster
