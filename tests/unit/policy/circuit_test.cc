#include "models/policy/circuit.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr Time kNow{Millis(1'700'000'000'000)};

TEST(ErrorClass, leavesOutWhatDiffersFromOneFailureToTheNext) {
  const std::pair<std::string_view, std::string_view> table[] = {
      {"connection refused", "connection refused"},
      {"HTTP 503", "HTTP #"},
      {"exit 1: no such host", "exit #: no such host"},
      {"timeout after 1.5s", "timeout after #s"},
      {"timeout after 30s", "timeout after #s"},
      {"cannot reach 10.0.0.7:5432", "cannot reach #"},
      {"took 1,234 ms; gave up", "took # ms; gave up"},
      {"row 7.", "row #."},
      {"at 2026-01-02T03:04:05Z", "at #-#-#T#Z"},
      {"worker12 died", "worker# died"},
      {"segfault at 0x7ffdeadbeef", "segfault at #"},
      {"0x", "#x"},
      {"commit 9f86d081884c7d65 is missing", "commit # is missing"},
      {"deadbeef is a word", "deadbeef is a word"},
      {"facade1 is short", "facade# is short"},
      {"job 01234567-89ab-cdef-0123-456789abcdef failed", "job # failed"},
      {"job 01234567-89ab-cdef-0123-456789abcdefg", "job #-#ab-cdef-#-#abcdefg"},
      {"no file 'a b.txt' here", "no file '*' here"},
      {"key \"x\" and `y`", "key \"*\" and `*`"},
      {"can't open the user's file", "can't open the user's file"},
      {"it's 'quoted'", "it's '*'"},
      {"an 'open quote", "an 'open quote"},
      {"  many   \t blanks  ", "many blanks"},
      {"first line\nsecond line 2", "first line"},
      {"\n\n  late start\r\nmore", "late start"},
      {"Traceback (most recent call last):\n  File \"a.py\", line 1\nValueError: bad 'x'\n",
       "ValueError: bad '*'"},
      {"exit 1: Traceback (most recent call last):\n  File \"a.py\"\nKeyError: 7", "KeyError: #"},
      {"Überlauf: 9 Zeichen", "Überlauf: # Zeichen"},
      {":5 .6 ,", ":# .# ,"},
      {"", "unspecified"},
      {" \n\t\n", "unspecified"},
  };
  for (const auto& [error, wanted] : table) EXPECT_EQ(errorClass(error), wanted) << error;
}

TEST(ErrorClass, isOfBoundedLengthAndWholeCharacters) {
  EXPECT_EQ(errorClass(std::string(100'000, 'x')), std::string(128, 'x'));
  EXPECT_EQ(errorClass(std::string(100'000, '7')), "#");
  std::string umlauts = "x";
  for (int i = 0; i < 100; ++i) umlauts += "ü";
  EXPECT_EQ(errorClass(umlauts), umlauts.substr(0, 127));
  std::string blank_at_the_end(127, 'x');
  EXPECT_EQ(errorClass(blank_at_the_end.append(" y")), std::string(127, 'x'));
}

TEST(ErrorClass, ofAClassIsTheSame) {
  for (const std::string error : {"HTTP 503 from 'x'", "at 0xdeadbeef1 line 7", "can't: 5"}) {
    EXPECT_EQ(errorClass(errorClass(error)), errorClass(error));
  }
}

// Plays what happens to a pool; `now` goes on as told.
struct Play {
  CircuitRules rules{3, 300s, 30s, 100s};
  CircuitRecord record = {};
  Time now = kNow;

  CircuitVerdict fail(const std::string& job, std::string_view error_class = "down") {
    auto verdict = judgeCircuit(record, rules, JobId(job), error_class, "it is down", now);
    record = verdict.record;
    return verdict;
  }
  void open() {
    for (const char* job : {"1", "2", "3"}) fail(job);
    ASSERT_EQ(record.state(), CircuitState::kOpen);
  }
  // As a claim does it.
  bool probe(const std::string& job) {
    if (circuitAllowance(record, now) != 1) return false;
    record.probe = JobId(job);
    return true;
  }
};

TEST(Circuit, opensWithTheLastOfEnoughFailuresInARow) {
  Play play;
  for (int i = 1; i <= 2; ++i) {
    const auto verdict = play.fail("a");
    EXPECT_EQ(verdict.record.state(), CircuitState::kClosed);
    EXPECT_EQ(verdict.record.failures, i);
    EXPECT_FALSE(verdict.excused || verdict.opened || verdict.closed);
    EXPECT_EQ(circuitAllowance(verdict.record, play.now), std::nullopt);
  }
  const auto verdict = play.fail("b");
  EXPECT_TRUE(verdict.opened && verdict.excused && !verdict.closed);
  EXPECT_EQ(verdict.record.state(), CircuitState::kOpen);
  EXPECT_EQ(verdict.record.opened_at, kNow);
  EXPECT_EQ(verdict.record.probe_at, kNow + 30s);
  EXPECT_EQ(verdict.record.failures, 3);
  EXPECT_EQ(verdict.record.error_class, "down");
  EXPECT_EQ(verdict.record.error, "it is down");
}

TEST(Circuit, isNeverOpenedByZeroAndAtOnceByOne) {
  Play never{.rules = {.failures = 0}};
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(never.fail("a").opened);
  Play at_once{.rules = {.failures = 1}};
  EXPECT_TRUE(at_once.fail("a").opened);
  const auto other = at_once.fail("b", "other");
  EXPECT_TRUE(other.closed && other.opened) << "for the one, and for the other";
  EXPECT_EQ(other.record.error_class, "other");
}

TEST(Circuit, countsOnlyWhatLiesInTheWindow) {
  struct Row {
    std::string_view what;
    std::vector<Millis> at;
    bool opens;
  };
  const Row table[] = {
      {"at once", {0s, 0s, 0s}, true},
      {"just inside", {0s, 100s, 300s}, true},
      {"just outside", {0s, 100s, 300s + 1ms}, false},
      {"the window slides", {0s, 200s, 400s, 450s}, true},
      {"far apart", {0s, 200s, 400s, 600s, 800s}, false},
  };
  for (const Row& row : table) {
    Play play;
    bool opened = false;
    for (const Millis at : row.at) {
      play.now = kNow + at;
      opened = play.fail("a").opened;
    }
    EXPECT_EQ(opened, row.opens) << row.what;
  }
}

TEST(Circuit, startsAgainWithAnotherClass) {
  Play play;
  play.fail("a"), play.fail("b");
  EXPECT_EQ(play.fail("c", "other").record.failures, 1);
  EXPECT_FALSE(play.fail("d").opened);
  EXPECT_FALSE(play.fail("e").opened);
  EXPECT_TRUE(play.fail("f").opened);
}

TEST(Circuit, forgetsWhatIsTooOld) {
  Play play;
  play.fail("a"), play.fail("b");
  EXPECT_EQ(aged(play.record, play.rules, kNow + 300s).failures, 2);
  EXPECT_TRUE(aged(play.record, play.rules, kNow + 301s).isClean());
  play.fail("c");
  EXPECT_EQ(aged(play.record, play.rules, kNow + 24h), play.record) << "not while it is open";
}

TEST(Circuit, letsOneJobGoWhenTheProbeIsDue) {
  Play play;
  play.open();
  play.now = kNow + 30s - 1ms;
  EXPECT_FALSE(play.probe("p"));
  play.now = kNow + 30s;
  EXPECT_TRUE(play.probe("p"));
  EXPECT_EQ(play.record.state(), CircuitState::kProbing);
  play.now += 24h;
  EXPECT_FALSE(play.probe("q")) << "until it is decided";
}

TEST(Circuit, opensAgainForTwiceAsLongUpToTheCap) {
  Play play;
  play.open();
  for (const Millis wait : {60s, 100s, 100s}) {
    play.now = play.record.probe_at;
    ASSERT_TRUE(play.probe("p"));
    const auto verdict = play.fail("p");
    EXPECT_TRUE(verdict.opened && verdict.excused && !verdict.closed);
    EXPECT_EQ(play.record.state(), CircuitState::kOpen);
    EXPECT_EQ(play.record.probe_at, play.now + wait);
    EXPECT_EQ(play.record.opened_at, kNow);
  }
  EXPECT_EQ(play.record.failures, 6);
}

TEST(Circuit, waitsNoShorterThanAtFirstBecauseOfItsCap) {
  Play play{.rules = {3, 300s, 30s, 10s}};
  play.open();
  play.now = play.record.probe_at;
  play.probe("p");
  play.fail("p");
  EXPECT_EQ(play.record.probe_at, play.now + 30s);
}

TEST(Circuit, excusesWhatFailsTheSameWayMeanwhile) {
  Play play;
  play.open();
  const auto late = play.fail("given out before");
  EXPECT_TRUE(late.excused && !late.opened);
  EXPECT_EQ(play.record.probe_at, kNow + 30s) << "that is no probe";
  play.now = kNow + 30s;
  play.probe("p");
  EXPECT_TRUE(play.fail("also given out before").excused);
  EXPECT_EQ(play.record.state(), CircuitState::kProbing);
}

TEST(Circuit, isClosedByAFailureOfAnotherClass) {
  for (const bool probing : {false, true}) {
    for (const char* job : {"p", "another"}) {
      Play play;
      play.open();
      play.now = kNow + 30s;
      if (probing) play.probe("p");
      const auto verdict = play.fail(job, "other");
      EXPECT_TRUE(verdict.closed && !verdict.opened && !verdict.excused);
      EXPECT_EQ(play.record.state(), CircuitState::kClosed);
      EXPECT_EQ(play.record.failures, 1);
      EXPECT_EQ(play.record.error_class, "other");
      EXPECT_TRUE(play.record.probe.empty());
    }
  }
}

TEST(Circuit, letsTheNextGoWhenTheProbeIsLost) {
  Play play;
  play.open();
  play.now = kNow + 30s;
  play.probe("p");
  EXPECT_EQ(withoutProbe(play.record, JobId("q")), play.record);
  play.record = withoutProbe(play.record, JobId("p"));
  EXPECT_EQ(play.record.state(), CircuitState::kOpen);
  EXPECT_TRUE(play.probe("q"));
  EXPECT_TRUE(withoutProbe({}, JobId()).isClean());
}

TEST(Circuit, namesItsStates) {
  EXPECT_EQ(name(CircuitState::kClosed), "closed");
  EXPECT_EQ(name(CircuitState::kOpen), "open");
  EXPECT_EQ(name(CircuitState::kProbing), "probing");
}

}  // namespace
}  // namespace muster
