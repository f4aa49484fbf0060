#include "app/cli/table.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace muster {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kNarrowest = 8;

std::string_view escapeOf(Tint tint) {
  switch (tint) {
    case Tint::kGood:
      return "\x1b[32m";
    case Tint::kBad:
      return "\x1b[31m";
    case Tint::kBusy:
      return "\x1b[33m";
    case Tint::kFaint:
      return "\x1b[2m";
    case Tint::kNone:
      return "";
  }
  return "";
}

bool isContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// C0, DEL, and the C1 range, which in UTF-8 is C2 80 to C2 9F.
std::string withoutControls(std::string_view text, bool keep_lines) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool is_line = keep_lines && (text[i] == '\n' || text[i] == '\t');
    if (byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0) {
      out += '?';
      ++i;
    } else if ((byte < 0x20 || byte == 0x7F) && !is_line) {
      out += text[i] == '\n' || text[i] == '\t' ? ' ' : '?';
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::string space(width - std::min(width, displayWidth(text)), ' ');
  return right ? space + text : text + space;
}

}  // namespace

std::string tinted(std::string text, Tint tint, bool color) {
  if (!color || tint == Tint::kNone) return text;
  return std::string(escapeOf(tint)) + text + "\x1b[0m";
}

Tint tintOfStatus(std::string_view status) {
  if (status == "done" || status == "active" || status == "ok" || status == "succeeded") {
    return Tint::kGood;
  }
  if (status == "poisoned" || status == "lost" || status == "failed") return Tint::kBad;
  if (status == "claimed" || status == "starting" || status == "paused" || status == "cancelling") {
    return Tint::kBusy;
  }
  if (status == "cancelled" || status == "terminated" || status == "blocked") return Tint::kFaint;
  return Tint::kNone;
}

std::string printable(std::string_view text) { return withoutControls(text, false); }

std::string printableLines(std::string_view text) { return withoutControls(text, true); }

std::size_t displayWidth(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !isContinuation(c); }));
}

std::string fitted(std::string_view text, std::size_t width) {
  if (displayWidth(text) <= width) return std::string(text);
  if (width == 0) return "";
  std::size_t end = 0;
  for (std::size_t places = 0; end < text.size(); ++end) {
    if (!isContinuation(text[end]) && ++places == width) break;
  }
  return std::string(text.substr(0, end)) + "…";
}

std::vector<std::size_t> Table::widths(std::size_t limit) const {
  std::vector<std::size_t> widths;
  for (const auto& column : columns_) widths.push_back(displayWidth(column.title));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], displayWidth(printable(row[i].text)));
    }
  }
  std::size_t total = std::accumulate(widths.begin(), widths.end(), kGap * (widths.size() - 1));
  for (std::size_t i = columns_.size(); limit > 0 && total > limit && i-- > 0;) {
    if (!columns_[i].can_shrink || widths[i] <= kNarrowest) continue;
    const std::size_t cut = std::min(total - limit, widths[i] - kNarrowest);
    widths[i] -= cut;
    total -= cut;
  }
  return widths;
}

std::string Table::render(std::size_t width, bool color) const {
  const auto places = widths(width);
  std::string out;
  const auto addLine = [this, &places, &out, color](const std::vector<Cell>& cells) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const bool is_last = i + 1 == cells.size();
      const std::string text = fitted(printable(cells[i].text), places[i]);
      const bool right = columns_[i].is_number;
      line +=
          tinted(is_last && !right ? text : padded(text, places[i], right), cells[i].tint, color);
      if (!is_last) line += std::string(kGap, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  std::vector<Cell> titles;
  for (const auto& column : columns_) titles.emplace_back(column.title, Tint::kFaint);
  addLine(titles);
  for (const auto& row : rows_) addLine(row);
  return out;
}

std::string renderPairs(const std::vector<std::pair<std::string, Cell>>& pairs, bool color) {
  std::size_t width = 0;
  for (const auto& [name, cell] : pairs) width = std::max(width, displayWidth(name));
  std::string out;
  for (const auto& [name, cell] : pairs) {
    out += tinted(padded(name, width, false), Tint::kFaint, color) + std::string(kGap, ' ') +
           tinted(printable(cell.text), cell.tint, color) + "\n";
  }
  return out;
}

}  // namespace muster
