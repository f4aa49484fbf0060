#include "models/json/json_writer.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <vector>

#include "models/json/json_doc.h"

namespace muster {
namespace {

using namespace std::string_literals;

TEST(JsonWriter, separatesMembersAndItems) {
  JsonWriter out;
  out.beginObject().field("a", 1).field("b", "x").key("c").beginArray();
  out.value(1).value(true).beginObject().endObject().beginArray().endArray().endArray();
  out.key("d").raw("[1 ,2]").field("e", false).endObject();
  EXPECT_EQ(out.take(), R"({"a":1,"b":"x","c":[1,true,{},[]],"d":[1 ,2],"e":false})");
}

TEST(JsonWriter, escapesWhatAStringMustNotHold) {
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"plain", R"("plain")"},
      {"\"\\/", R"("\"\\/")"},
      {"\n\r\t", R"("\n\r\t")"},
      {"\b\f", R"("\u0008\u000c")"},
      {"\x01\x1f\x7f", R"("\u0001\u001f\u007f")"},
      {"a\0b"s, R"("a\u0000b")"},
      {"ä€𝄞", "\"ä€𝄞\""},
      {"", R"("")"},
  };
  for (const auto& [text, json] : texts) EXPECT_EQ(JsonWriter().value(text).take(), json);
  EXPECT_EQ(JsonWriter().beginObject().field("a\"\n", 1).endObject().take(), R"({"a\"\n":1})");
}

TEST(JsonWriter, writesStringsThatAreReadBack) {
  for (int c = 1; c < 0x80; ++c) {
    const std::string text = "<" + std::string(1, static_cast<char>(c)) + ">";
    const std::string json = JsonWriter().value(text).take();
    const auto doc = JsonDoc::parse(json);
    ASSERT_TRUE(doc) << c;
    EXPECT_EQ(doc->root().string(), text) << c;
  }
}

TEST(JsonWriter, writesNumbersThatAreReadBack) {
  for (const double number : {0.0, 0.1, -1.5, 1e300, 5e-324, 123456789.125, 1.0 / 3}) {
    const std::string json = JsonWriter().value(number).take();
    EXPECT_EQ(JsonDoc::parse(json)->root().number(), number) << json;
  }
  EXPECT_EQ(JsonWriter().value(std::numeric_limits<std::int64_t>::min()).take(),
            "-9223372036854775808");
  EXPECT_EQ(JsonWriter().value(std::numeric_limits<std::int64_t>::max()).take(),
            "9223372036854775807");
}

TEST(JsonWriter, hasNoWordForWhatIsNoNumber) {
  EXPECT_EQ(JsonWriter().value(std::numeric_limits<double>::infinity()).take(), "null");
  EXPECT_EQ(JsonWriter().value(std::numeric_limits<double>::quiet_NaN()).take(), "null");
}

TEST(JsonWriter, leavesOutAbsentFields) {
  JsonWriter out;
  out.beginObject().field("a", std::optional<int>()).field("b", std::optional<int>(2));
  out.field("c", std::optional<Time>()).field("id", JobId("j-1"));
  out.field("at", fromMillis(0)).list("names", std::vector<std::string>{"x", "y\""}).endObject();
  EXPECT_EQ(out.take(),
            R"({"b":2,"id":"j-1","at":"1970-01-01T00:00:00.000Z","names":["x","y\""]})");
}

TEST(JsonWriter, writes_bytes_that_are_no_utf8_as_replacement_characters) {
  const std::pair<std::string, std::string> table[] = {
      {"\xff", "\xEF\xBF\xBD"},
      {"a\x80z", "a\xEF\xBF\xBDz"},
      {"\xc3\xa4\xc3", "\xc3\xa4\xEF\xBF\xBD"},
      {"\xed\xa0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
      {"\xf0\x9f\x98\x80\"", "\xf0\x9f\x98\x80\\\""}};
  for (const auto& [bytes, written] : table) {
    EXPECT_EQ(JsonWriter().value(bytes).take(), '"' + written + '"');
    EXPECT_EQ(JsonWriter().beginObject().field(bytes, 1).endObject().take(),
              "{\"" + written + "\":1}");
  }
}

}  // namespace
}  // namespace muster
