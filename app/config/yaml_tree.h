#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace muster {

// Counted from 1, as editors do.
struct YamlMark {
  int line = 1;
  int column = 1;
};

struct YamlEntry;

// A YAML document as plain values that remember where they stand.
struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  YamlMark mark;
  std::string text;     // of a scalar
  bool quoted = false;  // a quoted scalar is text even if it looks like a number
  std::vector<YamlNode> items;
  std::vector<YamlEntry> entries;  // in the order of the file; a key stands once
};

struct YamlEntry {
  std::string key;
  YamlMark mark;
  YamlNode value;
};

struct YamlFault {
  YamlMark mark;
  std::string what;
};

constexpr std::size_t kMaxYamlBytes = 1 << 20;

// One document, empty text gives a null node. Anything that could make a small file large or deep
// is refused: anchors and aliases, more than 32 levels, more than 20,000 values, tags, keys that
// are not text, a second document; so are NUL and bytes that are no UTF-8. Never throws for bad
// text. Duplicate keys do not stop the reading: the first one stands, the others are added to
// `duplicates`.
tl::expected<YamlNode, YamlFault> parseYaml(std::string_view text,
                                            std::vector<YamlFault>& duplicates);

// As JSON text. A plain scalar that JSON would read as a number, true or false is that, every
// other one a string.
std::string yamlToJson(const YamlNode& node);

}  // namespace muster
