#include "models/json/json_doc.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace muster {
namespace {

using namespace std::string_literals;

std::string nested(std::size_t depth, char open, char close) {
  return std::string(depth, open) + std::string(depth, close);
}

std::string objectWithKeys(int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += (i ? ",\"" : "\"") + std::to_string(i) + "\":0";
  return text + "}";
}

std::optional<ErrorCode> faultOf(std::string_view text) {
  const auto doc = JsonDoc::parse(text);
  return doc ? std::nullopt : std::optional(doc.error().code);
}

TEST(JsonDoc, takesEveryKindOfValue) {
  const std::vector<std::string> texts = {"null",
                                          "true",
                                          "false",
                                          "0",
                                          "-0",
                                          "1",
                                          "-1.5",
                                          "1e3",
                                          "1E+3",
                                          "1.5e-10",
                                          "\"\"",
                                          "\"a\"",
                                          "[]",
                                          "{}",
                                          "[1,[2,{\"a\":[]}]]",
                                          " \t\r\n{ \"a\" : [ 1 , 2 ] } \n",
                                          "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\"",
                                          "\"ä€𝄞\"",
                                          "{\"\":1}",
                                          "\"\x7f\"",
                                          "[[],{},\"\",0,null]"};
  for (const std::string& text : texts) {
    const auto doc = JsonDoc::parse(text);
    EXPECT_TRUE(doc) << text << ": " << (doc ? "" : doc.error().detail);
  }
}

TEST(JsonDoc, refusesWhatIsNotStrictJson) {
  const std::vector<std::string> texts = {"",          " ",          "nul",
                                          "tru",       "True",       "nulll",
                                          "undefined", "NaN",        "Infinity",
                                          "-Infinity", "-",          "+1",
                                          "01",        "-01",        "00",
                                          "1.",        ".5",         "1.e3",
                                          "1e",        "1e+",        "0x10",
                                          "1_000",     "1 2",        "[1,]",
                                          "[,1]",      "[1 2]",      "[1,,2]",
                                          "[",         "]",          "[1}",
                                          "{",         "}",          "{\"a\"}",
                                          "{\"a\":}",  "{\"a\":1,}", "{,}",
                                          "{a:1}",     "{'a':1}",    "'a'",
                                          "{1:2}",     "{\"a\" 1}",  "{\"a\":1 \"b\":2}",
                                          "/*x*/1",    "1//x",       "[1/*x*/]",
                                          "# x\n1",    "\"a",        "\"a\\\"",
                                          "\"\\x41\"", "\"\\u12\"",  "\"\\u12g4\"",
                                          "\"\\\"",    "\"a\nb\"",   "\"a\tb\"",
                                          "{}{}",      "[] x",       "\xef\xbb\xbf{}",
                                          "\"\0\""s,   "\0"s,        "[1\0]"s,
                                          "1\f",       "\v1",        "\"\\"};
  for (const std::string& text : texts) {
    EXPECT_EQ(faultOf(text), ErrorCode::kInvalidJson) << text;
  }
}

TEST(JsonDoc, refusesInvalidUtf8) {
  const std::vector<std::pair<std::string_view, std::string>> texts = {
      {"lone continuation", "\x80"},
      {"lead without continuation", "\xc3"},
      {"lead before a letter", "\xc3("},
      {"overlong slash, two bytes", "\xc0\xaf"},
      {"overlong NUL", "\xc0\x80"},
      {"overlong, lead c1", "\xc1\xbf"},
      {"overlong slash, three bytes", "\xe0\x80\xaf"},
      {"overlong, four bytes", "\xf0\x80\x80\xaf"},
      {"high surrogate", "\xed\xa0\x80"},
      {"low surrogate", "\xed\xbf\xbf"},
      {"a pair of surrogates", "\xed\xa0\xb4\xed\xb4\x9e"},
      {"beyond U+10FFFF", "\xf4\x90\x80\x80"},
      {"lead f5", "\xf5\x80\x80\x80"},
      {"five bytes", "\xf8\x88\x80\x80\x80"},
      {"ff", "\xff"},
      {"three bytes cut short", "\xe2\x82"},
      {"four bytes cut short", "\xf0\x9d\x84"},
      {"latin-1", "caf\xe9"},
  };
  for (const auto& [what, bytes] : texts) {
    EXPECT_EQ(faultOf("\"" + bytes + "\""), ErrorCode::kInvalidJson) << what;
    EXPECT_EQ(faultOf("{\"" + bytes + "\":1}"), ErrorCode::kInvalidJson) << what << " in a key";
    EXPECT_EQ(faultOf("\"" + bytes), ErrorCode::kInvalidJson) << what << " at the end";
  }
}

TEST(JsonDoc, takesTheEdgesOfUtf8) {
  for (const std::string bytes :
       {"\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbf",
        "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    const std::string text = "\"" + bytes + "\"";
    const auto doc = JsonDoc::parse(text);
    ASSERT_TRUE(doc);
    EXPECT_EQ(doc->root().string(), bytes);
  }
}

TEST(JsonDoc, saysWhereTheFaultIs) {
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"", "line 1, column 1"},
      {"[1,]", "line 1, column 4"},
      {"{\n  \"a\": 1,\n  \"b\": x\n}", "line 3, column 8"},
      {"[\n1\n2]", "line 3, column 1"},
      {"{}\n\nx", "line 3, column 1"},
      {"{\"a\":01}", "line 1, column 7"},
      {"\"abc", "line 1, column 5"},
  };
  for (const auto& [text, place] : faults) {
    const auto doc = JsonDoc::parse(text);
    ASSERT_FALSE(doc) << text;
    EXPECT_NE(doc.error().detail.find(place), std::string::npos)
        << text << ": " << doc.error().detail;
  }
}

TEST(JsonDoc, nestsUpToTheLimitAndNoDeeper) {
  EXPECT_EQ(faultOf(nested(64, '[', ']')), std::nullopt);
  EXPECT_EQ(faultOf(nested(65, '[', ']')), ErrorCode::kLimitExceeded);
  std::string objects = "0";
  for (int i = 0; i < 64; ++i) objects = "{\"a\":" + objects + "}";
  EXPECT_EQ(faultOf(objects), std::nullopt);
  EXPECT_EQ(faultOf("[" + objects + "]"), ErrorCode::kLimitExceeded);
  EXPECT_EQ(faultOf(std::string(1'000'000, '[')), ErrorCode::kLimitExceeded);
  EXPECT_EQ(faultOf("[" + nested(63, '[', ']') + "," + nested(63, '[', ']') + "]"), std::nullopt)
      << "side by side is not deep";
}

TEST(JsonDoc, holdsUpToTheLimitOfKeysAndNoMore) {
  EXPECT_EQ(faultOf(objectWithKeys(10'000)), std::nullopt);
  EXPECT_EQ(faultOf(objectWithKeys(10'001)), ErrorCode::kLimitExceeded);
  EXPECT_EQ(faultOf("[" + objectWithKeys(10'000) + "," + objectWithKeys(10'000) + "]"),
            std::nullopt)
      << "the limit is for one object";
  std::string items = "[0";
  for (int i = 0; i < 50'000; ++i) items += ",0";
  EXPECT_EQ(faultOf(items + "]"), std::nullopt) << "arrays have no such limit";
}

TEST(JsonDoc, theLimitsCanBeSet) {
  EXPECT_TRUE(JsonDoc::parse("[[1]]", {.depth = 2}));
  EXPECT_FALSE(JsonDoc::parse("[[[1]]]", {.depth = 2}));
  EXPECT_FALSE(JsonDoc::parse("{\"a\":1,\"b\":2}", {.keys_per_object = 1}));
}

TEST(JsonDoc, keepsEveryByteOfAValue) {
  for (const std::string raw :
       {"9223372036854775807", "1234567890123456789", "123456789012345678901234567890", "0.1",
        "1e300", "-0", "-0.0", "1.10", "1E+2", "0.30000000000000004", "1e400", "\"\\u0000\"",
        "\"\\ud83d\"", "\"\\/\\u00e4ä\"", "\"𝄞\"", "null", "[1 ,\t2]",
        "{ \"b\":1, \"a\" :2,\"b\":3 }"}) {
    const std::string text = " { \"data\" : " + raw + " , \"x\":1}";
    const auto doc = JsonDoc::parse(text);
    ASSERT_TRUE(doc) << raw;
    EXPECT_EQ((*doc->root().begin()).raw(), raw);
  }
}

TEST(JsonDoc, givesDuplicateKeysInTheOrderOfTheText) {
  const auto doc = JsonDoc::parse(R"({"a":1,"b":2,"a":3})");
  ASSERT_TRUE(doc);
  EXPECT_EQ(doc->root().size(), 3U);
  std::string seen;
  const JsonValue root = doc->root();
  for (auto it = root.begin(); it != root.end(); ++it) seen += it.key() + std::string((*it).raw());
  EXPECT_EQ(seen, "a1b2a3");
}

TEST(JsonValue, walksPastWhatItemsHold) {
  const auto doc = JsonDoc::parse(R"([{"a":[1,2]},[],"x",{"b":{}}])");
  ASSERT_TRUE(doc);
  std::vector<std::string> items;
  const JsonValue root = doc->root();
  for (auto it = root.begin(); it != root.end(); ++it) items.emplace_back((*it).raw());
  EXPECT_EQ(items, (std::vector<std::string>{R"({"a":[1,2]})", "[]", "\"x\"", R"({"b":{}})"}));
}

TEST(JsonValue, readsWholeNumbersOf64Bits) {
  const std::vector<std::pair<std::string, std::optional<std::int64_t>>> numbers = {
      {"0", 0},
      {"-0", 0},
      {"9223372036854775807", 9223372036854775807},
      {"-9223372036854775808", std::numeric_limits<std::int64_t>::min()},
      {"9223372036854775808", std::nullopt},
      {"1.0", 1},
      {"1e3", 1000},
      {"-2.50e1", -25},
      {"1.5", std::nullopt},
      {"1e-1", std::nullopt},
      {"9007199254740992.0", 9007199254740992},
      {"1e19", std::nullopt},
      {"1e400", std::nullopt},
      {"\"1\"", std::nullopt},
      {"true", std::nullopt},
      {"null", std::nullopt},
  };
  for (const auto& [text, value] : numbers) {
    const auto doc = JsonDoc::parse(text);
    ASSERT_TRUE(doc);
    EXPECT_EQ(doc->root().integer(), value) << text;
  }
}

TEST(JsonValue, readsNumbers) {
  const std::vector<std::pair<std::string, std::optional<double>>> numbers = {
      {"0.1", 0.1},
      {"1e300", 1e300},
      {"-5", -5.0},
      {"1e400", std::nullopt},
      {"\"1\"", std::nullopt}};
  for (const auto& [text, value] : numbers) {
    const auto doc = JsonDoc::parse(text);
    ASSERT_TRUE(doc);
    EXPECT_EQ(doc->root().number(), value) << text;
  }
}

TEST(JsonValue, readsStringsButNotHalfCharacters) {
  const std::vector<std::pair<std::string, std::optional<std::string>>> strings = {
      {R"("")", ""},
      {R"("plain")", "plain"},
      {R"("\"\\\/\b\f\n\r\t")", "\"\\/\b\f\n\r\t"},
      {R"("\u0041\u00e4\u20ac\ud834\udd1e")", "Aä€𝄞"},
      {R"("\uD834\uDD1E")", "𝄞"},
      {R"("\uffff")", "\xef\xbf\xbf"},
      {R"("\u0000")", std::nullopt},
      {R"("a\u0000b")", std::nullopt},
      {R"("\ud834")", std::nullopt},
      {R"("\ud834x")", std::nullopt},
      {R"("\ud834\n")", std::nullopt},
      {R"("\ud834\u0041")", std::nullopt},
      {R"("\ud834\ud834")", std::nullopt},
      {R"("\udd1e")", std::nullopt},
      {R"("\udd1e\ud834")", std::nullopt},
      {"1", std::nullopt},
  };
  for (const auto& [text, value] : strings) {
    const auto doc = JsonDoc::parse(text);
    ASSERT_TRUE(doc) << text;
    EXPECT_EQ(doc->root().string(), value) << text;
  }
}

TEST(JsonValue, readsBooleans) {
  EXPECT_EQ(JsonDoc::parse("true")->root().boolean(), true);
  EXPECT_EQ(JsonDoc::parse("false")->root().boolean(), false);
  EXPECT_EQ(JsonDoc::parse("0")->root().boolean(), std::nullopt);
  EXPECT_EQ(JsonDoc::parse("\"true\"")->root().boolean(), std::nullopt);
}

TEST(JsonValue, unescapesKeys) {
  const auto doc = JsonDoc::parse(R"({"\u0061\/b":1})");
  ASSERT_TRUE(doc);
  EXPECT_EQ(doc->root().begin().key(), "a/b");
}

}  // namespace
}  // namespace muster
