#include "controllers/request_head.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <utility>

namespace muster {
namespace {

constexpr std::size_t kMaxMethod = 32;
constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kRenamedPath = "/~method/";

enum HeadByte : std::uint8_t { kTokenByte = 1, kTargetByte = 2, kValueByte = 4 };

constexpr std::array<std::uint8_t, 256> headBytes() {
  std::array<std::uint8_t, 256> table{};
  for (std::size_t c = 0; c < table.size(); ++c) {
    if (c > 0x20 && c != 0x7f) table[c] |= kTargetByte;
    if (c != '\0' && c != '\r' && c != '\n') table[c] |= kValueByte;
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter) table[c] |= kTokenByte;
  }
  for (const char c :
       {'!', '#', '$', '%', '&', '\'', '*', '+', '-', '.', '^', '_', '`', '|', '~'}) {
    table[static_cast<unsigned char>(c)] |= kTokenByte;
  }
  return table;
}
constexpr std::array<std::uint8_t, 256> kHeadBytes = headBytes();

bool equalsIgnoringCase(std::string_view text, std::string_view lower_case) {
  return std::equal(text.begin(), text.end(), lower_case.begin(), lower_case.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool isFrameworkMethod(std::string_view method) {
  constexpr std::array<std::string_view, 7> kKnown = {"GET",    "POST",    "PUT", "PATCH",
                                                      "DELETE", "OPTIONS", "HEAD"};
  return std::find(kKnown.begin(), kKnown.end(), method) != kKnown.end();
}

// One pass over the bytes. A step returns false when it is the last one: the head is malformed or
// complete, or stays incomplete because the bytes end here.
class HeadReader {
 public:
  explicit HeadReader(std::string_view bytes) : bytes_(bytes) {}

  RequestHead read() {
    if (readRequestLine()) {
      while (readHeader()) {
      }
    }
    return head_;
  }

 private:
  bool malformed(const char* fault) {
    head_.state = RequestHead::State::kMalformed;
    head_.fault = fault;
    return false;
  }

  bool atEnd() const { return at_ == bytes_.size(); }

  // All bytes of that kind from here on.
  std::string_view take(HeadByte kind) {
    const std::size_t begin = at_;
    while (!atEnd() && (kHeadBytes[static_cast<unsigned char>(bytes_[at_])] & kind) != 0) ++at_;
    return bytes_.substr(begin, at_ - begin);
  }

  bool endLine() {
    if (atEnd()) return false;
    if (bytes_[at_] == '\0') return malformed("there is a NUL in the head of the request");
    if (bytes_[at_] != '\r') return malformed("a line of the head must end with CR LF");
    if (at_ + 1 == bytes_.size()) return false;
    if (bytes_[at_ + 1] != '\n') return malformed("a line of the head must end with CR LF");
    at_ += kLineEnd.size();
    return true;
  }

  bool readRequestLine() {
    constexpr const char* kFault = "the request line must be METHOD TARGET HTTP/1.1";
    constexpr std::string_view kVersion = "HTTP/1.";
    head_.method = take(kTokenByte);
    if (head_.method.size() > kMaxMethod) return malformed(kFault);
    if (atEnd()) return false;
    if (head_.method.empty() || bytes_[at_++] != ' ') return malformed(kFault);
    head_.target = take(kTargetByte);
    if (atEnd()) return false;
    if (head_.target.empty() || bytes_[at_++] != ' ') return malformed(kFault);
    const std::string_view version = bytes_.substr(at_, kVersion.size() + 1);
    const std::string_view begin = version.substr(0, kVersion.size());
    if (begin != kVersion.substr(0, begin.size())) return malformed(kFault);
    if (version.size() <= kVersion.size()) return false;
    if (version.back() != '0' && version.back() != '1') return malformed(kFault);
    head_.is_http10 = version.back() == '0';
    at_ += version.size();
    return endLine();
  }

  bool readHeader() {
    if (!atEnd() && bytes_[at_] == '\r') return endLine() && finish();
    const std::string_view name = take(kTokenByte);
    if (atEnd()) return false;
    if (name.empty() || bytes_[at_] != ':') {
      return malformed("a header must be NAME: VALUE on one line, without space before the colon");
    }
    ++at_;
    const std::string_view value = take(kValueByte);
    return endLine() && note(name, value);
  }

  // The lengths of the names that matter are all different.
  bool note(std::string_view name, std::string_view value) {
    switch (name.size()) {
      case 4:
        if (equalsIgnoringCase(name, "host") && std::exchange(has_host_, true)) {
          return malformed("there is more than one Host header");
        }
        break;
      case 6:
        if (equalsIgnoringCase(name, "expect")) return noteExpect(trimmed(value));
        break;
      case 7:
        if (equalsIgnoringCase(name, "upgrade")) head_.asks_upgrade = true;
        break;
      case 14:
        if (equalsIgnoringCase(name, "content-length")) return noteLength(trimmed(value));
        break;
      case 17:
        if (equalsIgnoringCase(name, "transfer-encoding")) return noteEncoding(trimmed(value));
        break;
      default:
        break;
    }
    return true;
  }

  bool noteExpect(std::string_view value) {
    if (!equalsIgnoringCase(value, "100-continue")) {
      return malformed("the Expect header must be 100-continue");
    }
    head_.expects_continue = true;
    return true;
  }

  bool noteLength(std::string_view digits) {
    constexpr std::size_t kMaxDigits = 18;  // no sum of sizes overflows
    if (std::exchange(has_length_, true)) return malformed("there are two Content-Length headers");
    const char* const end = digits.data() + digits.size();
    const auto [rest, fault] = std::from_chars(digits.data(), end, head_.body_size);
    if (fault != std::errc() || rest != end || digits.size() > kMaxDigits) {
      return malformed("the Content-Length must be a number of bytes");
    }
    return true;
  }

  bool noteEncoding(std::string_view value) {
    if (std::exchange(head_.chunked, true) || !equalsIgnoringCase(value, "chunked")) {
      return malformed("the Transfer-Encoding must be chunked");
    }
    return true;
  }

  bool finish() {
    if (!has_host_ && !head_.is_http10) return malformed("the Host header is missing");
    if (head_.chunked && has_length_) {
      return malformed("a request has a Content-Length or a Transfer-Encoding, not both");
    }
    if (head_.chunked && head_.is_http10) {
      return malformed("HTTP/1.0 has no Transfer-Encoding; send a Content-Length");
    }
    head_.state = RequestHead::State::kComplete;
    head_.text = bytes_.substr(0, at_);
    return false;
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  RequestHead head_;
  bool has_host_ = false;
  bool has_length_ = false;
};

// Calls `see(name, line)` for each header line, without its CR LF, until `see` returns true.
template <class See>
void eachHeader(const RequestHead& head, See see) {
  std::string_view lines = head.text.substr(head.text.find(kLineEnd) + kLineEnd.size());
  while (lines.size() > kLineEnd.size()) {
    const std::string_view line = lines.substr(0, lines.find(kLineEnd));
    lines.remove_prefix(line.size() + kLineEnd.size());
    if (see(line.substr(0, line.find(':')), line)) return;
  }
}

std::string rewriteHeadWithout(std::initializer_list<std::string_view> names,
                               const RequestHead& head) {
  std::string out;
  out.reserve(head.text.size() + 32);
  if (isFrameworkMethod(head.method)) {
    out.append(head.method).append(" ");
  } else {
    out.append("OPTIONS ").append(kRenamedPath).append(head.method);
  }
  out.append(head.target).append(head.is_http10 ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n");
  eachHeader(head, [&](std::string_view name, std::string_view line) {
    const bool dropped = std::any_of(names.begin(), names.end(), [name](std::string_view other) {
      return equalsIgnoringCase(name, other);
    });
    if (!dropped) out.append(line).append(kLineEnd);
    return false;
  });
  return out;
}

}  // namespace

std::string_view RequestHead::header(std::string_view lower_case_name) const {
  std::string_view value;
  eachHeader(*this, [&](std::string_view name, std::string_view line) {
    if (!equalsIgnoringCase(name, lower_case_name)) return false;
    value = trimmed(line.substr(name.size() + 1));
    return true;
  });
  return value;
}

// As the framework finds it, in "http://host/path?query" too.
std::string_view RequestHead::path() const {
  std::size_t begin = target.find('/');
  if (begin != 0 && begin != std::string_view::npos && target.substr(begin).starts_with("//")) {
    begin = target.find('/', begin + 2);
  }
  if (begin == std::string_view::npos) return "/";
  const std::string_view path = target.substr(begin);
  return path.substr(0, path.find('?'));
}

RequestHead readRequestHead(std::string_view bytes) { return HeadReader(bytes).read(); }

bool passesAsItIs(const RequestHead& head) {
  return !head.chunked && !head.expects_continue && !head.asks_upgrade &&
         isFrameworkMethod(head.method);
}

std::string rewriteHead(const RequestHead& head) {
  return rewriteHeadWithout({"expect", "upgrade", "transfer-encoding"}, head);
}

std::string rewriteRefusedHead(const RequestHead& head) {
  return rewriteHeadWithout(
             {"expect", "upgrade", "transfer-encoding", "content-length", "connection"}, head) +
         "Connection: close\r\n";
}

std::string_view takeRenamedMethod(std::string_view& path) {
  if (!path.starts_with(kRenamedPath)) return {};
  const std::string_view rest = path.substr(kRenamedPath.size());
  const std::size_t end = std::min(rest.find('/'), rest.size());
  const std::string_view method = rest.substr(0, end);
  if (isFrameworkMethod(method)) return {};  // somebody else wrote it: no way around other checks
  path = rest.substr(end);
  return method;
}

}  // namespace muster
