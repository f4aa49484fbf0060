#include "controllers/chunked_body.h"

#include <algorithm>

namespace muster {
namespace {

constexpr std::size_t kMaxSizeDigits = 15;
constexpr std::size_t kMaxSizeLine = 256;
constexpr std::size_t kMaxTrailers = 8U << 10;

int hexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

ChunkedBody::State ChunkedBody::malformed(const char* fault) {
  fault_ = fault;
  return State::kMalformed;
}

ChunkedBody::State ChunkedBody::read(std::string_view& bytes) {
  while (!bytes.empty()) {
    if (at_ == At::kData) {
      const std::size_t size = std::min(missing_, bytes.size());
      data_.append(bytes.substr(0, size));
      bytes.remove_prefix(size);
      missing_ -= size;
      if (missing_ == 0) at_ = At::kDataEnd;
      continue;
    }
    const char c = bytes.front();
    bytes.remove_prefix(1);
    if (const State state = readByte(c); state != State::kIncomplete) return state;
  }
  return State::kIncomplete;
}

ChunkedBody::State ChunkedBody::readByte(char c) {
  constexpr const char* kEnd = "a line of the chunked body must end with CR LF";
  if (after_cr_ && c != '\n') return malformed(kEnd);
  switch (at_) {
    case At::kSize:
      return readSize(c);
    case At::kExtension:
      if (c == '\r') {
        at_ = At::kSizeEnd;
        after_cr_ = true;
      } else if (c == '\n' || c == '\0' || ++line_ > kMaxSizeLine) {
        return malformed("the line with the size of a chunk is too long or malformed");
      }
      return State::kIncomplete;
    case At::kSizeEnd:
      at_ = missing_ > 0 ? At::kData : At::kTrailer;
      line_ = 0;
      after_cr_ = false;
      return State::kIncomplete;
    case At::kDataEnd:
      if (after_cr_) {
        at_ = At::kSize;
        after_cr_ = false;
        return State::kIncomplete;
      }
      after_cr_ = c == '\r';
      return after_cr_ ? State::kIncomplete : malformed("a chunk is longer than its size");
    default:
      return readTrailer(c);
  }
}

ChunkedBody::State ChunkedBody::readSize(char c) {
  constexpr std::size_t kBase = 16;
  if (const int digit = hexValue(c); digit >= 0) {
    if (++line_ > kMaxSizeDigits) return malformed("the size of a chunk is too large");
    missing_ = missing_ * kBase + static_cast<std::size_t>(digit);
    return State::kIncomplete;
  }
  if (line_ == 0 || (c != '\r' && c != ';')) {
    return malformed("the size of a chunk must be a hexadecimal number");
  }
  after_cr_ = c == '\r';
  at_ = after_cr_ ? At::kSizeEnd : At::kExtension;
  return State::kIncomplete;
}

ChunkedBody::State ChunkedBody::readTrailer(char c) {
  if (after_cr_) {
    if (line_ == 0) return State::kComplete;
    line_ = 0;
    after_cr_ = false;
    return State::kIncomplete;
  }
  if (c == '\r') {
    after_cr_ = true;
  } else if (c == '\n' || c == '\0' || ++trailers_ > kMaxTrailers) {
    return malformed("the trailers of the chunked body are too long or malformed");
  } else {
    ++line_;
  }
  return State::kIncomplete;
}

}  // namespace muster
