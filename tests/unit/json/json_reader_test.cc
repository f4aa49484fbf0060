#include "models/json/json_reader.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

using Faults = std::vector<FieldError>;

// Reads one text with `read` and gives the faults as "pointer code" lines, in order.
template <class Read>
std::vector<std::string> faultsOf(const std::string& text, Read read,
                                  const std::string& pointer = "") {
  const auto doc = JsonDoc::parse(text);
  EXPECT_TRUE(doc) << text;
  Faults faults;
  ObjectReader in(doc->root(), pointer, faults);
  read(in);
  in.finish();
  std::vector<std::string> lines;
  for (const FieldError& fault : faults) lines.push_back(fault.pointer + " " + fault.code);
  return lines;
}

using Lines = std::vector<std::string>;

TEST(ObjectReader, givesWhatIsThere) {
  const auto faults = faultsOf(
      R"({"flag":true,"count":7,"share":0.5,"text":"hi","id":"a-1","choice":"b",
          "at":"2026-03-01T12:00:00Z","names":["x","y"],"object":{"k":1},"list":[1,2],
          "any":[1 ,2]})",
      [](ObjectReader& in) {
        EXPECT_EQ(in.boolean("flag"), true);
        EXPECT_EQ(in.integer("count", 0, 10), 7);
        EXPECT_EQ(in.number("share", 0, 1), 0.5);
        EXPECT_EQ(in.text("text", 1, 2), "hi");
        EXPECT_EQ(in.id("id"), "a-1");
        EXPECT_EQ(in.oneOf("choice", {"a", "b"}), "b");
        EXPECT_EQ(in.time("at"), parseTime("2026-03-01T12:00:00Z"));
        EXPECT_EQ(in.texts("names", 2, 1), (std::vector<std::string>{"x", "y"}));
        EXPECT_EQ(in.object("object")->raw(), R"({"k":1})");
        EXPECT_EQ(in.array("list", 1, 2)->size(), 2U);
        EXPECT_EQ(in.raw("any"), "[1 ,2]");
        EXPECT_TRUE(in.has("any"));
      });
  EXPECT_EQ(faults, Lines{});
}

TEST(ObjectReader, takesNullForAbsent) {
  const auto faults = faultsOf(
      R"({"flag":null,"count":null,"share":null,"text":null,"id":null,"choice":null,"at":null,
          "names":null,"object":null,"list":null,"any":null})",
      [](ObjectReader& in) {
        EXPECT_FALSE(in.boolean("flag"));
        EXPECT_FALSE(in.integer("count", 1, 10));
        EXPECT_FALSE(in.number("share", 1, 2));
        EXPECT_FALSE(in.text("text", 1, 2));
        EXPECT_FALSE(in.id("id"));
        EXPECT_FALSE(in.oneOf("choice", {"a"}));
        EXPECT_FALSE(in.time("at"));
        EXPECT_FALSE(in.texts("names", 1, 1));
        EXPECT_FALSE(in.object("object"));
        EXPECT_FALSE(in.array("list", 1, 1));
        EXPECT_FALSE(in.has("any"));
        EXPECT_EQ(in.raw("any"), "null") << "null is a value of the user's own data";
      });
  EXPECT_EQ(faults, Lines{});
}

TEST(ObjectReader, notesAllFaultsAtOnceWithTheirPointers) {
  const auto faults = faultsOf(
      R"({"flag":1,"count":"7","low":0,"high":11,"half":1.5,"share":2,"long":"abc","short":"",
          "id":"a b","choice":"c","at":"soon","names":["x",1,"","toolong"],"object":[],"list":{},
          "few":[],"many":[1,2,3],"extra":1})",
      [](ObjectReader& in) {
        in.boolean("flag");
        in.integer("count", 1, 10);
        in.integer("low", 1, 10);
        in.integer("high", 1, 10);
        in.integer("half", 1, 10);
        in.number("share", 0, 1);
        in.text("long", 1, 2);
        in.text("short", 1, 2);
        in.id("id");
        in.oneOf("choice", {"a", "b"});
        in.time("at");
        EXPECT_EQ(in.texts("names", 9, 3), (std::vector<std::string>{"x"}));
        in.object("object");
        in.array("list", 0, 9);
        in.array("few", 1, 2);
        in.array("many", 1, 2);
        in.required("missing", in.text("missing", 1, 2));
      },
      "/items/3");
  EXPECT_EQ(
      faults,
      (Lines{"/items/3/flag type",        "/items/3/count type",         "/items/3/low range",
             "/items/3/high range",       "/items/3/half type",          "/items/3/share range",
             "/items/3/long length",      "/items/3/short length",       "/items/3/id format",
             "/items/3/choice choice",    "/items/3/at format",          "/items/3/names/1 type",
             "/items/3/names/2 type",     "/items/3/names/3 type",       "/items/3/object type",
             "/items/3/list type",        "/items/3/few length",         "/items/3/many length",
             "/items/3/missing required", "/items/3/extra unknown_field"}));
}

TEST(ObjectReader, includesTheBoundsOfARange) {
  const auto faults = faultsOf(R"({"a":1,"b":10,"c":0.0,"d":1.0,"e":"ab"})", [](ObjectReader& in) {
    EXPECT_EQ(in.integer("a", 1, 10), 1);
    EXPECT_EQ(in.integer("b", 1, 10), 10);
    EXPECT_EQ(in.number("c", 0, 1), 0.0);
    EXPECT_EQ(in.number("d", 0, 1), 1.0);
    EXPECT_EQ(in.text("e", 2, 2), "ab");
  });
  EXPECT_EQ(faults, Lines{});
}

TEST(ObjectReader, notesEveryUnknownField) {
  EXPECT_EQ(faultsOf(R"({"x":1,"a":2,"y":null})", [](ObjectReader& in) { in.integer("a", 0, 9); }),
            (Lines{"/x unknown_field", "/y unknown_field"}));
}

TEST(ObjectReader, escapesNamesInPointers) {
  EXPECT_EQ(faultsOf(R"({"a/b":1,"c~d":2,"":3})", [](ObjectReader&) {}),
            (Lines{"/a~1b unknown_field", "/c~0d unknown_field", "/ unknown_field"}));
}

TEST(ObjectReader, refusesAFieldThatIsGivenTwice) {
  const auto lines = faultsOf(R"({"a":1,"a":2})", [](ObjectReader& in) { in.integer("a", 0, 9); });
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines.front(), "/a duplicate");
  EXPECT_EQ(
      faultsOf(R"({"a":1,"\u0061":2})", [](ObjectReader& in) { in.integer("a", 0, 9); }).front(),
      "/a duplicate")
      << "an escape does not make it another name";
}

TEST(ObjectReader, findsADuplicateAmongMany) {
  std::string text = "{";
  for (int i = 0; i < 1000; ++i) text += "\"" + std::to_string(i) + "\":0,";
  const auto read = [](ObjectReader& in) {
    for (int i = 0; i < 1000; ++i) in.integer(std::to_string(i), 0, 9);
  };
  EXPECT_EQ(faultsOf(text + "\"999\":1}", read).front(), "/999 duplicate");
  text.back() = '}';
  EXPECT_EQ(faultsOf(text, read), Lines{});
}

TEST(ObjectReader, refusesWhatIsNoObject) {
  for (const char* text : {"[]", "null", "1", "\"a\"", "true"}) {
    EXPECT_EQ(faultsOf(text,
                       [](ObjectReader& in) {
                         EXPECT_FALSE(in.integer("a", 0, 9));
                         EXPECT_FALSE(in.raw("a"));
                       }),
              (Lines{" type"}))
        << text;
  }
}

TEST(ObjectReader, refusesNulAndHalfSurrogatesInTexts) {
  EXPECT_EQ(faultsOf(R"({"a":"x\u0000","b":"\ud83d","c":["\u0000"]})",
                     [](ObjectReader& in) {
                       in.text("a", 0, 9);
                       in.text("b", 0, 9);
                       in.texts("c", 9, 9);
                     }),
            (Lines{"/a type", "/b type", "/c/0 type"}));
}

TEST(ObjectReader, aRequiredFieldThatIsWrongHasOneFault) {
  EXPECT_EQ(faultsOf(R"({"a":1})",
                     [](ObjectReader& in) { EXPECT_EQ(in.required("a", in.text("a", 1, 9)), ""); }),
            (Lines{"/a type"}));
  EXPECT_EQ(
      faultsOf(R"({"a":null})", [](ObjectReader& in) { in.required("a", in.text("a", 1, 9)); }),
      (Lines{"/a required"}));
}

TEST(CheckFaults, makesOneErrorOfThem) {
  EXPECT_TRUE(checkFaults({}));
  const auto one = checkFaults({{"/a", "type", "must be a string"}});
  ASSERT_FALSE(one);
  EXPECT_EQ(one.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(one.error().detail, "/a must be a string");
  const auto two = checkFaults({{"/a", "type", "x"}, {"/b", "type", "y"}});
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().fields.size(), 2U);
  EXPECT_EQ(two.error().fields[1], (FieldError{"/b", "type", "y"}));
}

}  // namespace
}  // namespace muster
