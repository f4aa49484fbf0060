#include "app/worker/tar_name.h"

#include <algorithm>

namespace muster {
namespace {

constexpr std::size_t kLongestTarPath = 4096;
constexpr std::size_t kLongestTarPart = 255;

// The part of `rest` before its first slash, which is taken off with it.
std::string_view takePart(std::string_view& rest) {
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const auto part = rest.substr(0, slash);
  rest.remove_prefix(std::min(slash + 1, rest.size()));
  return part;
}

}  // namespace

std::optional<std::string> tarPath(std::string_view name) {
  if (name.empty() || name.size() > kLongestTarPath || name.starts_with('/')) return std::nullopt;
  if (name.find('\0') != std::string_view::npos) return std::nullopt;
  std::string path;
  while (!name.empty()) {
    const auto part = takePart(name);
    if (part.empty() || part == ".") continue;
    if (part == ".." || part.size() > kLongestTarPart) return std::nullopt;
    if (!path.empty()) path += '/';
    path += part;
  }
  return path;
}

bool linkStaysInside(std::string_view path, std::string_view target) {
  if (target.empty() || target.size() > kLongestTarPath || target.starts_with('/')) return false;
  if (target.find('\0') != std::string_view::npos) return false;
  auto above = std::count(path.begin(), path.end(), '/');
  bool goes_down = false;
  while (!target.empty()) {
    const auto part = takePart(target);
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      goes_down = true;
    } else if (goes_down || above-- == 0) {
      return false;
    }
  }
  return true;
}

}  // namespace muster
