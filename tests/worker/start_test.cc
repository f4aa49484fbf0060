// What a worker's start must not pay for.
#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "tests/support/child_process.h"
#include "tests/support/temp_folder.h"

namespace muster::test {
namespace {

#ifndef MUSTER_SANITIZED
TEST(Start, loadsNoLibraryButThatOfC) {
  const TempFolder folder;
  ChildProcess ldd({{"/usr/bin/env", "ldd", musterBinary()}, folder.path()});
  ASSERT_EQ(ldd.wait(), 0) << ldd.err();
  const std::regex of_c(
      R"(\s*(/\S*/)?(linux-vdso|libm|libc|libdl|libpthread|ld-linux-\S+)\.so\.\d.*)");
  std::istringstream lines(ldd.out());
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_TRUE(std::regex_match(line, of_c)) << line;
  }
  EXPECT_GE(count, 2) << ldd.out();
}
#endif

}  // namespace
}  // namespace muster::test
