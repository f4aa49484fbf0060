#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "tests/fuzz/fuzz_target.h"

namespace muster::test {
namespace {

const std::filesystem::path kCorpus = MUSTER_FUZZ_CORPUS;

TEST(FuzzCorpus, every_input_is_taken_by_its_target) {
  ASSERT_FALSE(FuzzTarget::all().empty());
  for (const FuzzTarget& target : FuzzTarget::all()) {
    std::size_t inputs = 0;
    std::uintmax_t size = 0;
    for (const auto& entry : std::filesystem::directory_iterator(kCorpus / target.name)) {
      SCOPED_TRACE(entry.path().string());
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(file), {}};
      target.run(bytes);
      ++inputs;
      size += bytes.size();
    }
    EXPECT_GT(inputs, 0U) << target.name;
    EXPECT_LE(size, 50U << 10) << target.name << ": scripts/fuzz --keep keeps few and small inputs";
  }
}

TEST(FuzzCorpus, every_folder_has_a_target) {
  std::set<std::string> names;
  for (const FuzzTarget& target : FuzzTarget::all()) names.insert(target.name);
  for (const auto& entry : std::filesystem::directory_iterator(kCorpus)) {
    EXPECT_TRUE(names.contains(entry.path().filename().string())) << entry.path();
  }
}

TEST(FuzzTargetDeathTest, what_does_not_hold_ends_the_program) {
  mustHold(true, "one is one");
  EXPECT_DEATH(mustHold(false, "one is two"), "does not hold: one is two");
}

}  // namespace
}  // namespace muster::test
