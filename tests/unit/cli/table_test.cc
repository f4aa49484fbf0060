#include "app/cli/table.h"

#include <gtest/gtest.h>

#include "app/cli/relative_time.h"

namespace muster {
namespace {

Table jobs() {
  Table table(
      {{.title = "ID"}, {.title = "N", .is_number = true}, {.title = "DATA", .can_shrink = true}});
  table.add({"a1", "5", "{\"to\":\"ada@example.org\"}"});
  table.add({"b22", "1000", "null"});
  return table;
}

TEST(Table, alignsColumns) {
  EXPECT_EQ(jobs().render(0, false),
            "ID      N  DATA\n"
            "a1      5  {\"to\":\"ada@example.org\"}\n"
            "b22  1000  null\n");
}

TEST(Table, cutsWhatMayBeCutToTheScreen) {
  EXPECT_EQ(jobs().render(24, false),
            "ID      N  DATA\n"
            "a1      5  {\"to\":\"ada@e…\n"
            "b22  1000  null\n");
  EXPECT_EQ(jobs().render(5, false),
            "ID      N  DATA\n"
            "a1      5  {\"to\":\"…\n"
            "b22  1000  null\n");
}

TEST(Table, colorsOnlyWhenAsked) {
  Table table({{.title = "STATUS"}});
  table.add({Cell("done", Tint::kGood)});
  EXPECT_EQ(table.render(0, false), "STATUS\ndone\n");
  EXPECT_EQ(table.render(0, true), "\x1b[2mSTATUS\x1b[0m\n\x1b[32mdone\x1b[0m\n");
}

TEST(Table, countsCodePointsNotBytes) {
  Table table({{.title = "A"}, {.title = "B"}});
  table.add({"grün", "x"});
  table.add({"gruen", "y"});
  EXPECT_EQ(table.render(0, false), "A      B\ngrün   x\ngruen  y\n");
}

TEST(Table, jobsCannotSteerTheTerminal) {
  EXPECT_EQ(printable("a\x1b[2Jb\r\nc\x7f\xc2\x9b"), "a?[2Jb? c??");
  EXPECT_EQ(printableLines("a\n\x1b]b"), "a\n?]b");
}

TEST(Table, pairsAlignTheirValues) {
  EXPECT_EQ(renderPairs({{"id", Cell("x")}, {"status", Cell("done")}}, false),
            "id      x\nstatus  done\n");
}

struct FitCase {
  std::string text;
  std::size_t width;
  std::string fitted;
};

TEST(Fitted, endsWithAnEllipsisWhenCut) {
  const std::vector<FitCase> cases = {
      {"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"äöüß", 3, "äö…"},
      {"abc", 1, "…"},   {"abc", 0, ""},     {"", 0, ""},
  };
  for (const auto& [text, width, wanted] : cases) EXPECT_EQ(fitted(text, width), wanted) << text;
}

struct TimeCase {
  Millis offset;
  std::string text;
};

TEST(RelativeTime, isShortAndInWords) {
  using std::chrono::hours;
  using std::chrono::minutes;
  const std::vector<TimeCase> cases = {
      {Millis(0), "now"},
      {Millis(-999), "now"},
      {Seconds(-12), "12s ago"},
      {Seconds(300), "in 5m"},
      {-Seconds(310), "5m 10s ago"},
      {-(hours(3) + minutes(20)), "3h 20m ago"},
      {-hours(24 * 12), "12d ago"},
      {hours(25), "in 1d 1h"},
  };
  const Time now = fromMillis(1'700'000'000'000);
  for (const auto& [offset, text] : cases) EXPECT_EQ(relativeTime(now + offset, now), text);
  EXPECT_EQ(durationText(Millis(340)), "340ms");
}

}  // namespace
}  // namespace muster
