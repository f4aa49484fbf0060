#include "app/config/yaml_tree.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>

#include "models/json/utf8.h"

namespace muster {
namespace {

constexpr std::size_t kMaxDepth = 32;
constexpr std::size_t kMaxNodes = 20'000;

YamlMark markOf(const YAML::Mark& mark) {
  return {std::max(0, mark.line) + 1, std::max(0, mark.column) + 1};
}

struct Refused {
  YamlFault fault;
};

[[noreturn]] void refuse(const YAML::Mark& mark, std::string what) {
  throw Refused{{markOf(mark), std::move(what)}};
}

// Builds the tree from yaml-cpp's events, so that the limits hold before anything has grown.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::vector<YamlFault>& duplicates) : duplicates_(duplicates) {
    open_.reserve(kMaxDepth);  // levels must not move: a node may stand inside one
  }

  YamlNode takeRoot() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(mark, "?", anchor, YamlNode::Kind::kNull);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuseAnchors(mark); }
  void OnAnchor(const YAML::Mark& mark, const std::string&) override { refuseAnchors(mark); }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (value.find('\0') != std::string::npos) refuse(mark, "a NUL character");
    if (expectsKey()) return addKey(mark, tag, anchor, value);
    YamlNode& node = add(mark, tag, anchor, YamlNode::Kind::kScalar);
    node.text = value;
    node.quoted = tag == "!";
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, YamlNode::Kind::kList);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, YamlNode::Kind::kMap);
  }
  void OnMapEnd() override { close(); }

 private:
  // A node that is still being filled. A duplicate key's value goes to `dropped` and is forgotten.
  struct Level {
    YamlNode* node;
    bool has_key = false;
    bool is_duplicate = false;
    YamlNode dropped = {};
  };

  [[noreturn]] static void refuseAnchors(const YAML::Mark& mark) {
    refuse(mark, "anchors and aliases are not supported, expected the value itself");
  }

  bool expectsKey() const {
    return !open_.empty() && open_.back().node->kind == YamlNode::Kind::kMap &&
           !open_.back().has_key;
  }

  void checkNode(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) refuseAnchors(mark);
    if (!tag.empty() && tag != "?" && tag != "!") refuse(mark, "tags are not supported");
    if (++nodes_ > kMaxNodes) refuse(mark, fmt::format("more than {} values", kMaxNodes));
  }

  void addKey(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
              const std::string& key) {
    checkNode(mark, tag, anchor);
    Level& level = open_.back();
    auto& entries = level.node->entries;
    const auto first = std::find_if(entries.begin(), entries.end(),
                                    [&](const YamlEntry& entry) { return entry.key == key; });
    level.has_key = true;
    level.is_duplicate = first != entries.end();
    if (level.is_duplicate) {
      duplicates_.push_back(
          {markOf(mark),
           fmt::format("\"{}\" stands a second time, first in line {}", key, first->mark.line)});
    } else {
      entries.push_back({key, markOf(mark), {}});
    }
  }

  YamlNode& place(const YAML::Mark& mark) {
    if (open_.empty()) return root_;
    if (expectsKey()) refuse(mark, "a key must be text");
    Level& level = open_.back();
    if (level.node->kind == YamlNode::Kind::kList) return level.node->items.emplace_back();
    level.has_key = false;
    return level.is_duplicate ? level.dropped = YamlNode{} : level.node->entries.back().value;
  }

  YamlNode& add(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                YamlNode::Kind kind) {
    checkNode(mark, tag, anchor);
    YamlNode& node = place(mark);
    node.kind = kind;
    node.mark = markOf(mark);
    return node;
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            YamlNode::Kind kind) {
    if (open_.size() == kMaxDepth) refuse(mark, fmt::format("more than {} levels", kMaxDepth));
    YamlNode& node = add(mark, tag, anchor, kind);
    open_.push_back({&node});
  }

  void close() { open_.pop_back(); }

  std::vector<YamlFault>& duplicates_;
  YamlNode root_;
  std::vector<Level> open_;
  std::size_t nodes_ = 0;
};

// Up to the first byte that is NUL or no UTF-8. yaml-cpp would let both through.
std::size_t sizeOfPlainText(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && text[at] != '\0') {
    const std::size_t length = utf8Length(text, at);
    if (length == 0) break;
    at += length;
  }
  return at;
}

bool skipDigits(std::string_view text, std::size_t& at) {
  const std::size_t start = at;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
  return at > start;
}

bool isJsonNumber(std::string_view text) {
  std::size_t at = text.starts_with('-') ? 1 : 0;
  const std::size_t start = at;
  if (!skipDigits(text, at)) return false;
  if (text[start] == '0' && at - start > 1) return false;
  if (at < text.size() && text[at] == '.' && !skipDigits(text, ++at)) return false;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    if (!skipDigits(text, at)) return false;
  }
  return at == text.size();
}

std::string quoteJson(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string scalarToJson(const YamlNode& node) {
  const bool is_literal = node.text == "true" || node.text == "false" || isJsonNumber(node.text);
  return is_literal && !node.quoted ? node.text : quoteJson(node.text);
}

}  // namespace

tl::expected<YamlNode, YamlFault> parseYaml(std::string_view text,
                                            std::vector<YamlFault>& duplicates) {
  if (text.size() > kMaxYamlBytes) {
    return tl::unexpected(YamlFault{{}, fmt::format("more than {} bytes", kMaxYamlBytes)});
  }
  if (const std::size_t size = sizeOfPlainText(text); size < text.size()) {
    const auto before = text.substr(0, size);
    const auto newline = before.rfind('\n');
    const auto column = newline == std::string_view::npos ? size : size - newline - 1;
    const auto lines = std::count(before.begin(), before.end(), '\n');
    return tl::unexpected(YamlFault{
        {static_cast<int>(lines) + 1, static_cast<int>(column) + 1},
        fmt::format("a {} byte, expected UTF-8 text", text[size] == '\0' ? "NUL" : "wrong")});
  }
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    TreeBuilder builder(duplicates);
    if (!parser.HandleNextDocument(builder)) return YamlNode{};
    YamlNode root = builder.takeRoot();
    if (TreeBuilder second(duplicates); parser.HandleNextDocument(second)) {
      return tl::unexpected(YamlFault{second.takeRoot().mark, "a second document, expected one"});
    }
    return root;
  } catch (const Refused& refused) {
    return tl::unexpected(refused.fault);
  } catch (const YAML::Exception& error) {
    return tl::unexpected(YamlFault{markOf(error.mark), error.msg});
  }
}

std::string yamlToJson(const YamlNode& node) {
  std::string out;
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "null";
    case YamlNode::Kind::kScalar:
      return scalarToJson(node);
    case YamlNode::Kind::kList:
      for (const auto& item : node.items) {
        out += (out.empty() ? "" : ",") + yamlToJson(item);
      }
      return "[" + out + "]";
    case YamlNode::Kind::kMap:
      for (const auto& entry : node.entries) {
        out += (out.empty() ? "" : ",") + quoteJson(entry.key) + ":" + yamlToJson(entry.value);
      }
      return "{" + out + "}";
  }
  return "null";
}

}  // namespace muster
