#include "models/store/sql/list_markers.h"

#include <array>
#include <cstdlib>
#include <utility>

namespace muster {

std::string withListMarkers(std::string_view sql,
                            const std::function<std::string(const ListMarker&)>& table) {
  using Kind = ListMarker::Kind;
  constexpr std::array<std::pair<std::string_view, Kind>, 3> kMarkers = {
      {{"/*rows ", Kind::kRows}, {"/*numbers ", Kind::kNumbers}, {"/*texts ", Kind::kTexts}}};
  std::string text(sql);
  for (const auto& [marker, kind] : kMarkers) {
    for (std::size_t at; (at = text.find(marker)) != std::string::npos;) {
      const std::size_t begin = at + marker.size();
      const std::size_t end = text.find("*/", begin);
      const std::string inside = text.substr(begin, end - begin);
      const std::size_t space = inside.find(' ');
      const int columns = space == std::string::npos ? 1 : std::atoi(inside.c_str() + space + 1);
      text.replace(at, end + 2 - at,
                   table({kind, std::string_view(inside).substr(0, space), columns}));
    }
  }
  return text;
}

}  // namespace muster
