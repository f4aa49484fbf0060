#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

enum class Tint { kNone, kGood, kBad, kBusy, kFaint };

// The tint that goes with the status of a job, flow, worker or pool.
Tint tintOfStatus(std::string_view status);

// The text in its colour, where colours may be used.
std::string tinted(std::string text, Tint tint, bool color);

struct Cell {
  std::string text;
  Tint tint = Tint::kNone;

  Cell(std::string value, Tint with = Tint::kNone) : text(std::move(value)), tint(with) {}
  Cell(const char* value) : text(value) {}
};

struct Column {
  std::string title;
  bool is_number = false;   // right-aligned
  bool can_shrink = false;  // cut first when the table is wider than the terminal
};

// Rows for people: columns aligned, never wider than the terminal if columns that can shrink
// allow it.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<Cell> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }

  // `width` 0 means no limit.
  std::string render(std::size_t width, bool color) const;

 private:
  std::vector<std::size_t> widths(std::size_t limit) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// Pairs of a name and a value, one a line, values aligned.
std::string renderPairs(const std::vector<std::pair<std::string, Cell>>& pairs, bool color);

// `text` without characters that steer a terminal: what a job says must not repaint the screen.
std::string printable(std::string_view text);

// The same, but lines stay lines.
std::string printableLines(std::string_view text);

// Places on the screen, counting every code point as one.
std::size_t displayWidth(std::string_view text);

// At most `width` places, the last one an ellipsis when something was cut off.
std::string fitted(std::string_view text, std::size_t width);

}  // namespace muster
