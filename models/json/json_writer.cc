#include "models/json/json_writer.h"

#include <array>
#include <charconv>
#include <cmath>

#include "models/json/utf8.h"

namespace muster {
namespace {

// Characters that stand in a string as they are, without a look at what follows.
constexpr std::array<bool, 256> kWrittenAsIs = [] {
  std::array<bool, 256> plain{};
  for (unsigned c = 0x20; c < 0x7f; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

void appendEscaped(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  constexpr std::string_view kHex = "0123456789abcdef";
  out += "\\u00";
  out += kHex[static_cast<unsigned char>(c) >> 4];
  out += kHex[static_cast<unsigned char>(c) & 15];
}

void appendQuoted(std::string& out, std::string_view text) {
  out += '"';
  std::size_t from = 0;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = kWrittenAsIs[byte] ? 1 : byte < 0x80 ? 0 : utf8Length(text, i);
    if (length > 0) {
      i += length;
      continue;
    }
    out.append(text, from, i - from);
    if (byte < 0x80) {
      appendEscaped(out, text[i]);
    } else {
      out += kReplacement;
    }
    from = ++i;
  }
  out.append(text, from);
  out += '"';
}

}  // namespace

void JsonWriter::separate() {
  if (!first_) out_ += ',';
  first_ = false;
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  out_ += bracket;
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  out_ += bracket;
  first_ = false;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  appendQuoted(out_, name);
  out_ += ':';
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  appendQuoted(out_, text);
  return *this;
}

JsonWriter& JsonWriter::value(bool flag) { return raw(flag ? "true" : "false"); }

JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return raw("null");
  std::array<char, 32> text{};
  const auto [end, fault] = std::to_chars(text.data(), text.data() + text.size(), number);
  return raw(std::string_view(text.data(), static_cast<std::size_t>(end - text.data())));
}

JsonWriter& JsonWriter::value(Time time) { return value(std::string_view(formatTime(time))); }

JsonWriter& JsonWriter::integer(std::int64_t number) {
  std::array<char, 24> text{};
  const auto [end, fault] = std::to_chars(text.data(), text.data() + text.size(), number);
  return raw(std::string_view(text.data(), static_cast<std::size_t>(end - text.data())));
}

JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  out_ += json;
  return *this;
}

}  // namespace muster
