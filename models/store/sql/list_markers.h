#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace muster {

// What a list of values is as a table, in the words of one database. `parameter` is like $1.
struct ListMarker {
  enum class Kind { kNumbers, kTexts, kRows };
  Kind kind;
  std::string_view parameter;
  int columns;  // of rows
};

// A statement with its markers rows, numbers and texts replaced (see Sql).
std::string withListMarkers(std::string_view sql,
                            const std::function<std::string(const ListMarker&)>& table);

}  // namespace muster
