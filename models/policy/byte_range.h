#pragma once

#include <cstdint>
#include <string_view>

namespace muster {

// What a request for a part of some content gets.
struct ByteRange {
  enum class Kind {
    kWhole,  // nothing was asked for, or not in a way that we take: several ranges, other units
    kPart,
    kNone,  // the content has no such bytes
  };
  Kind kind = Kind::kWhole;
  std::int64_t offset = 0;
  std::int64_t length = 0;

  bool operator==(const ByteRange&) const = default;
};

// By the header Range (RFC 9110), of content with so many bytes.
ByteRange chooseRange(std::string_view header, std::int64_t size);

// Whether the list of an If-None-Match names the entity tag, which is given with its quotes.
bool namesTag(std::string_view header, std::string_view tag);

}  // namespace muster
