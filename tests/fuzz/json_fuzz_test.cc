#include <gtest/gtest.h>
#include <json/reader.h>
#include <json/writer.h>

#include <cctype>
#include <memory>
#include <optional>

#include "models/json/json_doc.h"
#include "tests/fuzz/mutation.h"

namespace muster::test {
namespace {

std::optional<Json::Value> parseStrictly(std::string_view text) {
  Json::CharReaderBuilder builder;
  Json::CharReaderBuilder::strictMode(&builder.settings_);
  builder["strictRoot"] = false;
  builder["rejectDupKeys"] = false;
  const std::unique_ptr<Json::CharReader> reader(builder.newCharReader());
  Json::Value value;
  std::string errors;
  if (!reader->parse(text.data(), text.data() + text.size(), &value, &errors)) return std::nullopt;
  return value;
}

// Texts of the grammar with every kind of value, escape and white space; the plain ones without
// what jsoncpp judges by other rules when it is broken (UTF-8, surrogates, control characters).
class JsonTexts {
 public:
  explicit JsonTexts(Dice& dice, bool plain = false) : dice_(dice), plain_(plain) {}

  std::string value(int depth) {
    switch (dice_.below(depth > 0 ? 8U : 6U)) {
      case 0:
        return dice_.pick(std::vector<std::string>{"null", "true", "false"});
      case 1:
      case 2:
        return number();
      case 6:
        return list(depth);
      case 7:
        return object(depth);
      default:
        return string();
    }
  }

  std::string object(int depth) {
    std::string members;
    const std::size_t count = dice_.below(5);
    for (std::size_t i = 0; i < count; ++i) {
      members += (i == 0 ? "" : ",") + space() + "\"k" + std::to_string(i) + "\"" + space() + ":" +
                 space() + value(depth - 1) + space();
    }
    return "{" + members + space() + "}";
  }

 private:
  std::string space() {
    static const std::vector<std::string> spaces = {"", "", "", " ", "\n", "\t\r "};
    return plain_ ? std::string(dice_.below(2), ' ') : dice_.pick(spaces);
  }
  std::string number() {
    return dice_.pick(std::vector<std::string>{"0", "-0", "7", "-12", "0.1", "1.50", "1e3", "1E-2",
                                               "-3.25e+4", "9007199254740993",
                                               "12345678901234567890"});
  }
  std::string string() {
    static const std::vector<std::string> plain = {"a",   "Z",   " ",   "/",   "\\\"", "\\\\",
                                                   "\\/", "\\b", "\\f", "\\n", "\\r",  "\\t",
                                                   "{",   "]",   ":",   ","};
    static const std::vector<std::string> others = {"\\u00e9", "\\ud83d\\ude80", "\xC3\xA9",
                                                    "\xE2\x82\xAC", "\xF0\x9F\x9A\x80"};
    std::string text = "\"";
    for (std::size_t left = dice_.below(6); left > 0; --left) {
      text += dice_.pick(plain_ || dice_.oneIn(2) ? plain : others);
    }
    return text + "\"";
  }
  std::string list(int depth) {
    std::string items;
    const std::size_t count = dice_.below(5);
    for (std::size_t i = 0; i < count; ++i) {
      items += (i == 0 ? "" : ",") + space() + value(depth - 1) + space();
    }
    return "[" + items + space() + "]";
  }

  Dice& dice_;
  bool plain_;
};

bool same(JsonValue ours, const Json::Value& theirs) {
  using Kind = JsonValue::Kind;
  switch (ours.kind()) {
    case Kind::kNull:
      return theirs.isNull();
    case Kind::kBool:
      return theirs.isBool() && ours.boolean() == theirs.asBool();
    case Kind::kNumber:
      return theirs.isNumeric() && ours.number() == theirs.asDouble();
    case Kind::kString:
      return theirs.isString() && ours.string() == theirs.asString();
    case Kind::kArray:
      break;
    case Kind::kObject:
      break;
  }
  if (ours.isArray() != theirs.isArray() || ours.size() != theirs.size()) return false;
  Json::ArrayIndex index = 0;
  for (auto item = ours.begin(); item != ours.end(); ++item) {
    const Json::Value& other = ours.isArray() ? theirs[index++] : theirs[item.key()];
    if (!same(*item, other)) return false;
    if (parseStrictly((*item).raw()) != other) return false;
  }
  return true;
}

// Whether `word` is a literal, or a number of the grammar that is small enough for jsoncpp.
bool isRightWord(std::string_view word) {
  if (word == "true" || word == "false" || word == "null") return true;
  const auto take = [&word](std::string_view letters) {
    if (word.empty() || letters.find(word.front()) == std::string_view::npos) return false;
    word.remove_prefix(1);
    return true;
  };
  const auto takeDigits = [&take] {
    std::size_t count = 0;
    while (take("0123456789")) ++count;
    return count;
  };
  take("-");
  if (!take("0") && takeDigits() == 0) return false;
  if (take(".") && takeDigits() == 0) return false;
  if (take("eE")) {
    take("+-");
    const std::size_t digits = takeDigits();
    if (digits == 0 || digits > 2) return false;
  }
  return word.empty();
}

// jsoncpp lets words pass that are no numbers, such as 01 and 1. — so it is asked only about texts
// in which all words outside of strings are right.
bool wordsAreRight(std::string_view text) {
  std::string word;
  bool quoted = false;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const char c = at < text.size() ? text[at] : ' ';
    if (quoted) {
      if (c == '\\') ++at;
      quoted = c != '"';
    } else if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' ||
               c == '+') {
      word += c;
    } else {
      if (!word.empty() && !isRightWord(word)) return false;
      word.clear();
      quoted = c == '"';
    }
  }
  return true;
}

TEST(JsonFuzz, texts_of_the_grammar_mean_the_same_as_to_jsoncpp) {
  Dice dice(1);
  JsonTexts texts(dice);
  for (int i = 0; i < 3000; ++i) {
    const std::string text = texts.value(5);
    const auto doc = JsonDoc::parse(text);
    ASSERT_TRUE(doc.has_value()) << text << "\n" << doc.error().detail;
    const auto theirs = parseStrictly(text);
    ASSERT_TRUE(theirs.has_value()) << text;
    ASSERT_TRUE(same(doc->root(), *theirs)) << text;
  }
}

TEST(JsonFuzz, mutated_texts_are_refused_when_jsoncpp_refuses_them) {
  Dice dice(2);
  JsonTexts texts(dice, true);
  int refused = 0;
  int compared = 0;
  for (int i = 0; i < 6000; ++i) {
    const std::string text = mutated(texts.object(3), "{}[]:,\"\\ 0123456789-.eEtrufalsn/", dice);
    const bool ours = JsonDoc::parse(text).has_value();
    if (!wordsAreRight(text)) continue;
    const bool theirs = parseStrictly(text).has_value();
    ++compared;
    refused += theirs ? 0 : 1;
    EXPECT_EQ(ours, theirs) << text;
  }
  EXPECT_GT(compared, 2000);
  EXPECT_GT(refused, 500);
}

TEST(JsonFuzz, any_bytes_are_survived) {
  Dice dice(3);
  JsonTexts texts(dice);
  const std::string bytes = allBytes() + std::string("\0\r\n", 3);
  for (int i = 0; i < 4000; ++i) {
    const std::string text = mutated(texts.object(4), bytes, dice);
    const auto doc = JsonDoc::parse(text);
    if (!doc) {
      EXPECT_FALSE(doc.error().detail.empty()) << text;
      continue;
    }
    for (auto member = doc->root().begin(); member != doc->root().end(); ++member) {
      EXPECT_NE(text.find((*member).raw()), std::string::npos);
    }
  }
}

TEST(JsonFuzz, limits_hold_for_every_shape) {
  for (const std::size_t depth : {1U, 63U, 64U, 65U, 1000U, 200'000U}) {
    const std::string lists = std::string(depth, '[') + std::string(depth, ']');
    EXPECT_EQ(JsonDoc::parse(lists).has_value(), depth <= 64) << depth;
    std::string objects;
    for (std::size_t i = 0; i < depth; ++i) objects += "{\"k\":";
    objects += "1" + std::string(depth, '}');
    EXPECT_EQ(JsonDoc::parse(objects).has_value(), depth <= 64) << depth;
    EXPECT_FALSE(JsonDoc::parse(std::string(depth, '[')).has_value());
  }
}

}  // namespace
}  // namespace muster::test
