#include "app/launch/process_start.h"

#include <gtest/gtest.h>

#include "app/config/environment.h"

namespace muster {
namespace {

TEST(ProcessStart, covers_secrets_in_arguments) {
  struct {
    const char *before, *argument, *covered;
  } const rows[] = {
      {"", "serve", "serve"},
      {"--token", "abc", "***"},
      {"", "--token", "--token"},
      {"", "--token=abc", "--token=***"},
      {"", "--token=", "--token="},
      {"", "--tokens", "--tokens"},
      {"", "token", "token"},
      {"--store", "postgresql://u:pw@h/d", "postgresql://u:**@h/d"},
      {"--to", "postgres://u:p@h/d?password=abc&x=y", "postgres://u:*@h/d?password=***&x=y"},
      {"", "--store=postgresql://u:pw@h/d", "--store=postgresql://u:**@h/d"},
      {"--store", "postgresql://u@h:5432/d", "postgresql://u@h:5432/d"},
      {"--store", "sqlite:postgres", "sqlite:postgres"},
      {"--data", "{\"a\":\"postgresql://u:pw@h\"}", "{\"a\":\"postgresql://u:pw@h\"}"},
  };
  for (const auto& row : rows) EXPECT_EQ(coverArgument(row.before, row.argument), row.covered);
}

TEST(Variables, pass_by_name_and_by_prefix) {
  const Environment own = {
      {"LC_ALL", "1"}, {"LC_", "2"}, {"LCX", "3"}, {"PATH", "4"}, {"MUSTER_TOKEN", "5"}};
  struct {
    std::vector<std::string> patterns;
    Environment passed;
  } const rows[] = {
      {{}, {}},
      {{"PATH", "NONE"}, {{"PATH", "4"}}},
      {{"LC_*"}, {{"LC_ALL", "1"}, {"LC_", "2"}}},
      {{"LC_"}, {{"LC_", "2"}}},
      {{"M*", "P*"}, {{"PATH", "4"}}},
      {{"*"}, {{"LC_ALL", "1"}, {"LC_", "2"}, {"LCX", "3"}, {"PATH", "4"}}},
  };
  for (const auto& row : rows) EXPECT_EQ(passedVariables(own, row.patterns), row.passed);
}

TEST(Variables, are_named_by_names_and_prefixes) {
  for (const char* good : {"PATH", "http_proxy", "LC_*", "*", "_", "A1"}) {
    EXPECT_TRUE(isVariablePattern(good)) << good;
  }
  for (const char* bad : {"", "1A", "A B", "A=B", "*A", "A**", "MUSTER_TOKEN", "MUSTER_*", "A-B"}) {
    EXPECT_FALSE(isVariablePattern(bad)) << bad;
  }
}

}  // namespace
}  // namespace muster
