#include "app/config/zone_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace muster {
namespace {

constexpr const char* kFolder = "/usr/share/zoneinfo/";

bool isZoneName(std::string_view name) {
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
           c == '_' || c == '+' || c == '-';
  });
  return plain && !name.empty() && name.front() != '/' && name.size() <= 64;
}

}  // namespace

std::shared_ptr<const TimeZone> findZone(const std::string& name) {
  if (name == "UTC") return TimeZone::utc();
  std::error_code ignored;
  const std::string path = kFolder + name;
  if (!isZoneName(name) || !std::filesystem::is_regular_file(path, ignored)) return nullptr;
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto zone = TimeZone::parse(bytes);
  return zone ? *zone : nullptr;
}

}  // namespace muster
