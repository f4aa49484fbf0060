#include "models/json/json_doc.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "models/json/utf8.h"

namespace muster {

using Kind = JsonValue::Kind;

namespace {

bool isSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
bool isDigit(char c) { return c >= '0' && c <= '9'; }

int hexDigit(char c) {
  if (isDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Characters of a string that need no look: everything printable in ASCII but quote and backslash.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (unsigned c = 0x20; c < 0x80; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

void appendUtf8(std::string& out, unsigned point) {
  const auto add = [&](unsigned byte) { out.push_back(static_cast<char>(byte)); };
  if (point < 0x80) {
    add(point);
  } else if (point < 0x800) {
    add(0xc0 | point >> 6);
    add(0x80 | (point & 0x3f));
  } else if (point < 0x10000) {
    add(0xe0 | point >> 12);
    add(0x80 | (point >> 6 & 0x3f));
    add(0x80 | (point & 0x3f));
  } else {
    add(0xf0 | point >> 18);
    add(0x80 | (point >> 12 & 0x3f));
    add(0x80 | (point >> 6 & 0x3f));
    add(0x80 | (point & 0x3f));
  }
}

unsigned hexEscape(std::string_view digits) {
  unsigned value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value = value << 4 | static_cast<unsigned>(hexDigit(digits[i]));
  return value;
}

// The text between the quotes, already known to be well-formed; nothing for NUL or half a pair.
std::optional<std::string> unescape(std::string_view body) {
  std::string out;
  out.reserve(body.size());
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '\\') {
      out.push_back(body[i]);
      continue;
    }
    switch (body[++i]) {
      case 'b':
        out.push_back('\b');
        break;
      case 'f':
        out.push_back('\f');
        break;
      case 'n':
        out.push_back('\n');
        break;
      case 'r':
        out.push_back('\r');
        break;
      case 't':
        out.push_back('\t');
        break;
      case 'u': {
        unsigned point = hexEscape(body.substr(i + 1));
        i += 4;
        if (point >= 0xd800 && point <= 0xdfff) {
          const bool paired = point < 0xdc00 && body.substr(i + 1, 2) == "\\u";
          const unsigned low = paired ? hexEscape(body.substr(i + 3)) : 0;
          if (low < 0xdc00 || low > 0xdfff) return std::nullopt;
          point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
          i += 6;
        }
        if (point == 0) return std::nullopt;
        appendUtf8(out, point);
        break;
      }
      default:
        out.push_back(body[i]);
    }
  }
  return out;
}

}  // namespace

class JsonParser {
 public:
  JsonParser(std::string_view text, JsonLimits limits) : limits_(limits) { doc_.text_ = text; }

  Result<JsonDoc> run() {
    if (text().size() > std::numeric_limits<std::uint32_t>::max() / 2) {
      return fail(ErrorCode::kBodyTooLarge, "the JSON text is too large");
    }
    doc_.nodes_.reserve(16 + text().size() / 16);
    if (parseAll()) return std::move(doc_);
    return tl::unexpected<Error>(std::move(error_));
  }

 private:
  struct Open {
    std::uint32_t node;
    bool object;
  };

  std::string_view text() const { return doc_.text_; }
  char peek() const { return at_ < text().size() ? text()[at_] : '\0'; }
  void skipSpace() {
    while (at_ < text().size() && isSpace(text()[at_])) ++at_;
  }

  bool stop(std::string what) {
    std::size_t line = 1, line_start = 0;
    for (std::size_t i = 0; i < at_ && i < text().size(); ++i) {
      if (text()[i] == '\n') {
        ++line;
        line_start = i + 1;
      }
    }
    error_ = Error{ErrorCode::kInvalidJson,
                   fmt::format("{} at line {}, column {}", what, line, at_ - line_start + 1)};
    return false;
  }
  bool stopAtLimit(std::string what) {
    error_ = Error{ErrorCode::kLimitExceeded, std::move(what)};
    return false;
  }

  bool parseAll() {
    skipSpace();
    if (at_ == text().size()) return stop("the body is empty; expected a JSON value");
    if (!parseValue()) return false;
    while (!open_.empty()) {
      if (!parseNext()) return false;
    }
    skipSpace();
    if (at_ != text().size()) return stop("unexpected text after the JSON value");
    return true;
  }

  // Inside the innermost container: its end, or one more item or member.
  bool parseNext() {
    const Open top = open_.back();
    JsonDoc::Node& node = doc_.nodes_[top.node];
    skipSpace();
    const char close = top.object ? '}' : ']';
    if (peek() == close) {
      ++at_;
      closeContainer();
      return true;
    }
    if (node.size > 0) {
      if (peek() != ',') return stop(fmt::format("expected ',' or '{}'", close));
      ++at_;
      skipSpace();
    }
    ++node.size;
    if (!top.object) return parseValue();
    if (node.size > limits_.keys_per_object) {
      return stopAtLimit(fmt::format("an object has more than {} keys", limits_.keys_per_object));
    }
    if (peek() != '"') return stop("expected a key in double quotes");
    if (!parseString()) return false;
    skipSpace();
    if (peek() != ':') return stop("expected ':' after the key");
    ++at_;
    skipSpace();
    return parseValue();
  }

  bool parseValue() {
    switch (peek()) {
      case '{':
        return openContainer(Kind::kObject);
      case '[':
        return openContainer(Kind::kArray);
      case '"':
        return parseString();
      case 't':
        return parseWord("true", Kind::kBool);
      case 'f':
        return parseWord("false", Kind::kBool);
      case 'n':
        return parseWord("null", Kind::kNull);
      default:
        return parseNumber();
    }
  }

  JsonDoc::Node& addNode(Kind kind) {
    JsonDoc::Node& node = doc_.nodes_.emplace_back();
    node.kind = kind;
    node.start = static_cast<std::uint32_t>(at_);
    node.next = static_cast<std::uint32_t>(doc_.nodes_.size());
    return node;
  }

  bool openContainer(Kind kind) {
    if (open_.size() >= limits_.depth) {
      return stopAtLimit(fmt::format("the body is nested deeper than {} levels", limits_.depth));
    }
    addNode(kind);
    open_.push_back({static_cast<std::uint32_t>(doc_.nodes_.size() - 1), kind == Kind::kObject});
    ++at_;
    return true;
  }

  void closeContainer() {
    JsonDoc::Node& node = doc_.nodes_[open_.back().node];
    node.end = static_cast<std::uint32_t>(at_);
    node.next = static_cast<std::uint32_t>(doc_.nodes_.size());
    open_.pop_back();
  }

  bool parseWord(std::string_view word, Kind kind) {
    if (text().substr(at_, word.size()) != word) return stop("expected a JSON value");
    JsonDoc::Node& node = addNode(kind);
    at_ += word.size();
    node.end = static_cast<std::uint32_t>(at_);
    return true;
  }

  bool parseString() {
    JsonDoc::Node& node = addNode(Kind::kString);
    ++at_;
    for (;;) {
      while (at_ < text().size() && kPlain[static_cast<unsigned char>(text()[at_])]) ++at_;
      if (at_ >= text().size()) return stop("the string is not closed");
      const char c = text()[at_];
      if (c == '"') break;
      if (c == '\\') {
        node.escaped = true;
        if (!skipEscape()) return false;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        return stop("control characters in a string must be escaped");
      } else {
        const std::size_t length = utf8Length(text(), at_);
        if (length == 0) return stop("the text is not valid UTF-8");
        at_ += length;
      }
    }
    ++at_;
    node.end = static_cast<std::uint32_t>(at_);
    return true;
  }

  bool skipEscape() {
    const char c = at_ + 1 < text().size() ? text()[at_ + 1] : '\0';
    if (c == 'u') {
      for (std::size_t i = at_ + 2; i < at_ + 6; ++i) {
        if (i >= text().size() || hexDigit(text()[i]) < 0) {
          return stop("\\u needs four hexadecimal digits");
        }
      }
      at_ += 6;
      return true;
    }
    if (c == '\0' || std::string_view("\"\\/bfnrt").find(c) == std::string_view::npos) {
      return stop("unknown escape in a string");
    }
    at_ += 2;
    return true;
  }

  bool parseNumber() {
    const std::size_t start = at_;
    const auto digits = [this] {
      const std::size_t first = at_;
      while (isDigit(peek())) ++at_;
      return at_ > first;
    };
    if (peek() == '-') ++at_;
    if (peek() == '0') {
      ++at_;
      if (isDigit(peek())) return stop("a number must not start with 0");
    } else if (!digits()) {
      return stop("expected a JSON value");
    }
    if (peek() == '.') {
      ++at_;
      if (!digits()) return stop("expected a digit after the decimal point");
    }
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      if (!digits()) return stop("expected a digit in the exponent");
    }
    JsonDoc::Node& node = addNode(Kind::kNumber);
    node.start = static_cast<std::uint32_t>(start);
    node.end = static_cast<std::uint32_t>(at_);
    return true;
  }

  JsonLimits limits_;
  JsonDoc doc_;
  std::size_t at_ = 0;
  std::vector<Open> open_;
  Error error_{ErrorCode::kInvalidJson, ""};
};

Result<JsonDoc> JsonDoc::parse(std::string_view text, JsonLimits limits) {
  return JsonParser(text, limits).run();
}

Kind JsonValue::kind() const { return doc_->nodes_[node_].kind; }

std::string_view JsonValue::raw() const {
  const auto& node = doc_->nodes_[node_];
  return doc_->text_.substr(node.start, node.end - node.start);
}

std::size_t JsonValue::size() const { return doc_->nodes_[node_].size; }

std::optional<bool> JsonValue::boolean() const {
  if (kind() != Kind::kBool) return std::nullopt;
  return raw() == "true";
}

std::optional<std::int64_t> JsonValue::integer() const {
  if (kind() != Kind::kNumber) return std::nullopt;
  const std::string_view text = raw();
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault == std::errc() && end == text.data() + text.size()) return value;
  const auto wide = number();
  if (!wide || std::abs(*wide) > 9007199254740992.0 || std::trunc(*wide) != *wide) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(*wide);
}

std::optional<double> JsonValue::number() const {
  if (kind() != Kind::kNumber) return std::nullopt;
  const std::string_view text = raw();
  double value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc()) return std::nullopt;
  return value;
}

std::optional<std::string> JsonValue::string() const {
  if (kind() != Kind::kString) return std::nullopt;
  const std::string_view quoted = raw();
  const std::string_view body = quoted.substr(1, quoted.size() - 2);
  if (!doc_->nodes_[node_].escaped) return std::string(body);
  return unescape(body);
}

JsonValue::Iterator JsonValue::begin() const { return Iterator(*doc_, node_ + 1, isObject()); }
JsonValue::Iterator JsonValue::end() const {
  const auto& node = doc_->nodes_[node_];
  return Iterator(*doc_, node.next, isObject());
}

std::optional<std::string> JsonValue::Iterator::name() const {
  return JsonValue(*doc_, node_).string();
}

std::string JsonValue::Iterator::key() const {
  // A key with a NUL or half a surrogate pair is no key of ours: show it as it was written.
  if (auto text = name()) return *std::move(text);
  return std::string(JsonValue(*doc_, node_).raw());
}

JsonValue JsonValue::Iterator::operator*() const {
  return JsonValue(*doc_, object_ ? node_ + 1 : node_);
}

JsonValue::Iterator& JsonValue::Iterator::operator++() {
  const std::uint32_t value = object_ ? node_ + 1 : node_;
  node_ = doc_->nodes_[value].next;
  return *this;
}

}  // namespace muster
