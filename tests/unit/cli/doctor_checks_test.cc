#include "app/cli/service/doctor_checks.h"

#include <gtest/gtest.h>

#include <limits>

namespace muster {
namespace {

using namespace std::chrono_literals;
using enum CheckVerdict;

constexpr std::uint64_t kMiB = 1U << 20, kGiB = 1U << 30;

TEST(DoctorChecks, a_certificate_is_judged_by_the_time_that_is_left) {
  const Time now = *parseTime("2026-03-01T12:00:00Z");
  struct Row {
    tl::expected<Time, std::string> expires;
    CheckVerdict verdict;
    const char* says;
  };
  using std::chrono::days;
  const Row rows[] = {
      {tl::unexpected<std::string>("tls_key x cannot be read"), CheckVerdict::kFail, "tls_key x"},
      {now, CheckVerdict::kFail, "expired at 2026-03-01T12:00:00.000Z"},
      {now - days(1), CheckVerdict::kFail, "expired"},
      {now + days(13), CheckVerdict::kWarn, "good for 13 days"},
      {now + days(14), CheckVerdict::kOk, "good for 14 days"},
  };
  for (const Row& row : rows) {
    const Check check = judgeCertificate(row.expires, now);
    EXPECT_EQ(check.verdict, row.verdict) << check.detail;
    EXPECT_NE(check.detail.find(row.says), std::string::npos) << check.detail;
    EXPECT_EQ(check.hint.empty(), row.verdict == CheckVerdict::kOk) << check.detail;
  }
}

TEST(DoctorChecks, judgeTheDisk) {
  struct {
    std::uint64_t free, all;
    CheckVerdict verdict;
  } const rows[] = {
      {50 * kGiB, 100 * kGiB, kOk},
      {5 * kGiB, 100 * kGiB, kOk},
      {5 * kGiB - kMiB, 100 * kGiB, kWarn},
      {kGiB, 2 * kGiB, kOk},
      {kGiB - 1, 2 * kGiB, kWarn},
      {100 * kMiB, 2 * kGiB, kWarn},
      {100 * kMiB - 1, 2 * kGiB, kFail},
      {0, 2 * kGiB, kFail},
      {99 * kMiB, 99 * kMiB, kFail},
      {0, 0, kOk},
      {std::uint64_t{1} << 62, std::uint64_t{1} << 63, kOk},
  };
  for (const auto& row : rows) {
    const Check check = judgeDisk("disk", "/d", row.free, row.all);
    EXPECT_EQ(check.verdict, row.verdict) << row.free << " of " << row.all;
    EXPECT_EQ(check.hint.empty(), row.verdict == kOk);
  }
}

TEST(DoctorChecks, judgeTheLimitOfOpenFiles) {
  EXPECT_EQ(judgeOpenFiles(4096).verdict, kOk);
  EXPECT_EQ(judgeOpenFiles(std::numeric_limits<std::uint64_t>::max()).verdict, kOk);
  EXPECT_EQ(judgeOpenFiles(4095).verdict, kWarn);
}

// The verdict on one finding of a store in which all else is well.
struct StoreRow {
  const char* what;
  StoreFindings found;
  bool is_postgres;
  Durability durability;
  std::string name;
  CheckVerdict verdict;
};

StoreFindings flush(std::chrono::microseconds took) {
  StoreFindings found;
  found.flush = took;
  return found;
}
StoreFindings clockAhead(Millis by) {
  StoreFindings found;
  found.clock_ahead = by;
  return found;
}
StoreFindings sessions(bool shared, bool pgbouncer_on) {
  StoreFindings found;
  found.shared_sessions = shared;
  found.pgbouncer_on = pgbouncer_on;
  return found;
}
StoreFindings plan(std::vector<std::string> applied, std::vector<std::string> pending,
                   bool pgbouncer_on = false) {
  StoreFindings found;
  found.migrations = MigrationPlan{std::move(applied), std::move(pending)};
  found.pgbouncer_on = pgbouncer_on;
  return found;
}
StoreFindings unsettled(std::int64_t count, std::optional<Millis> oldest) {
  StoreFindings found;
  found.unsettled = {count, oldest};
  return found;
}
StoreFindings newer() {
  StoreFindings found;
  found.migrations = tl::unexpected(std::string("the database is newer"));
  return found;
}

TEST(DoctorChecks, judgeTheStore) {
  constexpr auto kFull = Durability::kFull, kNormal = Durability::kNormal;
  const StoreRow rows[] = {
      {"fast", flush(20ms), false, kFull, "flush", kOk},
      {"slow", flush(20ms + 1us), false, kFull, "flush", kWarn},
      {"slow commits", flush(21ms), true, kFull, "flush", kWarn},
      {"slow, and nobody waits", flush(500ms), false, kNormal, "flush", kOk},
      {"on time", clockAhead(2000ms), true, kFull, "clock", kOk},
      {"ahead", clockAhead(2001ms), true, kFull, "clock", kWarn},
      {"behind", clockAhead(-2001ms), true, kFull, "clock", kWarn},
      {"direct", sessions(false, false), true, kFull, "sessions", kOk},
      {"pooled", sessions(true, false), true, kFull, "sessions", kFail},
      {"pooled and known", sessions(true, true), true, kFull, "sessions", kOk},
      {"known, not seen", sessions(false, true), true, kFull, "sessions", kOk},
      {"up to date", plan({"1", "2"}, {}), true, kFull, "migrations", kOk},
      {"new file", plan({}, {"1"}), false, kFull, "migrations", kOk},
      {"old file", plan({"1"}, {"2"}), false, kFull, "migrations", kWarn},
      {"new database", plan({}, {"1"}), true, kFull, "migrations", kOk},
      {"new, pooled", plan({}, {"1"}, true), true, kFull, "migrations", kFail},
      {"old database", plan({"1"}, {"2"}), true, kFull, "migrations", kFail},
      {"newer", newer(), false, kFull, "migrations", kFail},
      {"all settled", unsettled(0, {}), false, kFull, "flows", kOk},
      {"just now", unsettled(3, 60s), true, kFull, "flows", kOk},
      {"for long", unsettled(3, 60s + 1ms), false, kFull, "flows", kWarn},
      {"nobody knows since when", unsettled(1, {}), false, kFull, "flows", kWarn},
  };
  for (const StoreRow& row : rows) {
    const auto checks = judgeStore(row.found, row.is_postgres, row.durability);
    ASSERT_EQ(checks.size(), 2U) << row.what << ": the store, and what was found";
    EXPECT_EQ(checks[0].verdict, kOk) << row.what;
    EXPECT_EQ(checks[1].name, row.name) << row.what;
    EXPECT_EQ(checks[1].verdict, row.verdict) << row.what << ": " << checks[1].detail;
    EXPECT_EQ(checks[1].hint.empty(), row.verdict == kOk) << row.what;
  }
}

TEST(DoctorChecks, name_how_much_flows_have_left_to_settle_and_since_when) {
  const auto checks = judgeStore(unsettled(12, 95s), false, Durability::kFull);
  EXPECT_NE(checks[1].detail.find("12 left to settle, the oldest for 95 s"), std::string::npos)
      << checks[1].detail;
}

TEST(DoctorChecks, namePendingMigrationsAndWhatIsWrongWithTheStore) {
  EXPECT_NE(judgeStore(plan({"1"}, {"0002_b", "0003_c"}), true, Durability::kFull)[1].detail.find(
                "0002_b, 0003_c"),
            std::string::npos);
  StoreFindings broken;
  broken.fault = "gone";
  broken.remedy = "bring it back";
  const auto checks = judgeStore(broken, true, Durability::kFull);
  ASSERT_EQ(checks.size(), 1U) << "nothing is said of what was not seen";
  EXPECT_EQ(checks[0].verdict, kFail);
  EXPECT_EQ(checks[0].hint, "bring it back");
}

TEST(DoctorChecks, warn_of_a_store_that_is_open_to_others) {
  StoreFindings open;
  open.exposure = "others can open it";
  open.exposure_remedy = "chmod";
  const auto checks = judgeStore(open, false, Durability::kFull);
  ASSERT_EQ(checks.size(), 2U);
  EXPECT_EQ(checks[1].name, "files");
  EXPECT_EQ(checks[1].verdict, kWarn);
  EXPECT_EQ(checks[1].detail, open.exposure);
  EXPECT_EQ(checks[1].hint, "chmod");
}

TEST(DoctorChecks, judge_the_folder_of_blobs) {
  struct Row {
    const char* what;
    BlobFolderState state;
    CheckVerdict verdict;
    const char* says;
  };
  const Row rows[] = {
      {"as it should be", {.path = "/b", .exists = true, .place_id = "p"}, kOk, "/b"},
      {"not made yet", {.path = "/b"}, kOk, "makes at its start"},
      {"cannot be made", {.path = "/b", .fault = "cannot be made in /"}, kFail, "cannot be made"},
      {"not ours", {.path = "/b", .exists = true, .fault = "cannot be written"}, kFail, "written"},
      {"open", {.path = "/b", .exists = true, .is_open = true}, kWarn, "look into it"},
      {"open, and another's",
       {.path = "/b", .exists = true, .is_open = true, .can_be_closed = false},
       kFail,
       "look into it"},
  };
  for (const Row& row : rows) {
    const Check check = judgeBlobFolder(row.state);
    EXPECT_EQ(check.verdict, row.verdict) << row.what;
    EXPECT_NE(check.detail.find(row.says), std::string::npos) << row.what << ": " << check.detail;
    EXPECT_EQ(check.hint.empty(), row.verdict == kOk) << row.what;
  }
}

TEST(DoctorChecks, judge_the_files_of_resources) {
  using FoundFiles = StoreFindings::Resources;
  constexpr std::int64_t kMost = 1000;
  struct Row {
    const char* what;
    FoundFiles found;
    bool is_postgres;
    CheckVerdict files, room, uploads;
    const char* says;
  };
  const Row rows[] = {
      {"none", {}, false, kOk, kOk, kOk, "0 resources stored here, each with its file"},
      {"one", {.stored = 1}, true, kOk, kOk, kOk, "1 resource stored here"},
      {"one is missing",
       {.stored = 3, .missing = 1, .example = "a/b"},
       true,
       kFail,
       kOk,
       kOk,
       "of 3 resources stored here 1 without a file and 0 with one of another length, like 'a/b'"},
      {"one was cut",
       {.stored = 3, .damaged = 1, .example = "c"},
       false,
       kFail,
       kOk,
       kOk,
       "1 with one of another length, like 'c'"},
      {"another folder, and no other node",
       {.elsewhere = 2, .other_place = "old"},
       false,
       kFail,
       kOk,
       kOk,
       "2 resources with bytes in a folder that no service has"},
      {"other nodes",
       {.stored = 1, .elsewhere = 2},
       true,
       kOk,
       kOk,
       kOk,
       "2 in folders of other nodes"},
      {"no node",
       {.elsewhere = 2, .nowhere = 1, .other_place = "old"},
       true,
       kWarn,
       kOk,
       kOk,
       "1 resource with bytes in a folder that no service has, like the one with the id old"},
      {"below the watermark", {.blob_bytes = 899}, false, kOk, kOk, kOk, ""},
      {"at the watermark", {.blob_bytes = 900}, false, kOk, kWarn, kOk, ""},
      {"too much", {.blob_bytes = 2000}, false, kOk, kWarn, kOk, ""},
      {"uploads", {.uploads = 2, .silent_for = Millis(5)}, false, kOk, kOk, kOk, ""},
      {"uploads that hang",
       {.uploads = 2, .silent_uploads = 1, .silent_for = 4000s},
       false,
       kOk,
       kOk,
       kWarn,
       ""},
  };
  for (const Row& row : rows) {
    const auto checks = judgeResources(row.found, row.is_postgres, kMost, 90);
    ASSERT_EQ(checks.size(), 3U) << row.what;
    const CheckVerdict verdicts[] = {row.files, row.room, row.uploads};
    for (std::size_t i = 0; i < checks.size(); ++i) {
      EXPECT_EQ(checks[i].verdict, verdicts[i]) << row.what << ": " << checks[i].detail;
      EXPECT_EQ(checks[i].hint.empty(), verdicts[i] == kOk) << row.what;
    }
    EXPECT_NE(checks[0].detail.find(row.says), std::string::npos) << checks[0].detail;
  }
  EXPECT_EQ(judgeResources({}, false, 0, 90)[1].verdict, kOk)
      << "nothing is allowed, nothing there";
  const auto hanging = judgeResources(rows[11].found, false, kMost, 90)[2];
  EXPECT_EQ(hanging.detail,
            "1 of 2 got no part for longer than upload_ttl_seconds, one for 4000 s");
}

TEST(DoctorChecks, knowAPoolerByTheSessionsItGives) {
  EXPECT_FALSE(areShared({}));
  EXPECT_FALSE(areShared({{1, "a"}, {2, "b"}, {1, "a"}, {2, "b"}})) << "direct";
  EXPECT_TRUE(areShared({{1, "a"}, {2, "a"}})) << "one session for two connections";
  EXPECT_TRUE(areShared({{1, "a"}, {2, "b"}, {1, "c"}})) << "two sessions for one connection";
}

TEST(DoctorChecks, areShownWithMarkAndHint) {
  const std::vector<Check> checks = {{"a", kOk, "fine"}, {"long", kWarn, "so so", "do this"}};
  EXPECT_EQ(doctorText(checks, false),
            "ok    a     fine\n"
            "warn  long  so so\n"
            "        do this\n");
  EXPECT_EQ(doctorJson(checks),
            R"({"checks":[{"name":"a","verdict":"ok","detail":"fine","hint":""},)"
            R"({"name":"long","verdict":"warn","detail":"so so","hint":"do this"}]})");
  EXPECT_EQ(doctorExit(checks), 0) << "warnings are allowed";
  EXPECT_EQ(doctorExit({{"a", kFail, "", ""}, {"b", kOk, ""}}), 1);
}

}  // namespace
}  // namespace muster
