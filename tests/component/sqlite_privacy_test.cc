#include "models/store/sqlite/sqlite_privacy.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

enum class Found { kPrivate, kExposed, kRefused };

TEST(SqlitePrivacy, says_what_others_can_reach) {
  constexpr unsigned kUs = 1000, kOther = 1001, kRoot = 0;
  const FileFacts missing;
  struct {
    const char* what;
    FileFacts file, folder;
    unsigned us;
    Found found;
  } const rows[] = {
      {"new file in a closed folder", missing, {true, false, kUs, 0700}, kUs, Found::kPrivate},
      {"new file in an open folder", missing, {true, false, kUs, 0755}, kUs, Found::kPrivate},
      {"nothing is there yet", missing, missing, kUs, Found::kPrivate},
      {"both closed", {true, false, kUs, 0600}, {true, false, kUs, 0700}, kUs, Found::kPrivate},
      {"closed file", {true, false, kUs, 0600}, {true, false, kUs, 0755}, kUs, Found::kPrivate},
      {"closed folder", {true, false, kUs, 0644}, {true, false, kUs, 0700}, kUs, Found::kPrivate},
      {"all may read", {true, false, kUs, 0644}, {true, false, kUs, 0755}, kUs, Found::kExposed},
      {"the group may read",
       {true, false, kUs, 0640},
       {true, false, kUs, 0710},
       kUs,
       Found::kExposed},
      {"the group may read and not enter",
       {true, false, kUs, 0640},
       {true, false, kUs, 0701},
       kUs,
       Found::kPrivate},
      {"others add files", missing, {true, false, kRoot, 01777}, kUs, Found::kExposed},
      {"the group adds files",
       {true, false, kUs, 0600},
       {true, false, kUs, 0770},
       kUs,
       Found::kExposed},
      {"somebody else's",
       {true, false, kOther, 0600},
       {true, false, kUs, 0700},
       kUs,
       Found::kExposed},
      {"root's", {true, false, kRoot, 0600}, {true, false, kUs, 0700}, kUs, Found::kPrivate},
      {"seen by root",
       {true, false, kOther, 0600},
       {true, false, kOther, 0700},
       kRoot,
       Found::kPrivate},
      {"prepared by somebody else",
       {true, false, kOther, 0666},
       {true, false, kRoot, 01777},
       kUs,
       Found::kRefused},
      {"prepared for root",
       {true, false, kOther, 0666},
       {true, false, kRoot, 01777},
       kRoot,
       Found::kRefused},
      {"a link", {true, true, kUs, 0777}, {true, false, kUs, 0700}, kUs, Found::kRefused},
  };
  for (const auto& row : rows) {
    const auto privacy = judgePrivacy("d/f.db", row.file, row.folder, row.us);
    const Found found = !privacy.refusal.empty()    ? Found::kRefused
                        : !privacy.exposure.empty() ? Found::kExposed
                                                    : Found::kPrivate;
    EXPECT_EQ(found, row.found) << row.what;
    EXPECT_EQ(privacy.remedy.empty(), found == Found::kPrivate) << row.what;
  }
}

}  // namespace
}  // namespace muster
