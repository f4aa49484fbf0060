#include <gtest/gtest.h>

#include "app/config/settings.h"
#include "tests/fuzz/mutation.h"
#include "tests/support/temp_folder.h"

namespace muster::test {
namespace {

const std::string kSettings =
    "listen: 127.0.0.1:8080\n"
    "store: sqlite:data/muster.db\n"
    "durability: normal\n"
    "tokens:\n"
    "  - {name: ci, sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08,"
    " scopes: [read, produce]}\n"
    "allowed_hosts: [jobs.example]\n"
    "ticker: off\n"
    "lease_seconds: 30\n"
    "RETRY_JITTER_PCT: 0.5\n"
    "templates:\n"
    "  analyze: {run: [python3, analyze.py], env: {MODEL: small}, cwd: jobs}\n"
    "  echo: {builtin: echo}\n"
    "pools:\n"
    "  papers: {template: analyze, scaling: {max_workers: 4}, retry: {base_ms: 10}}\n";

class SettingsFuzz : public testing::Test {
 protected:
  // Faults are fine; a crash, a hang or a fault without words is not.
  void load(const std::string& text) {
    const std::string file = (folder_ / "muster.yml").string();
    writeFile(file, text);
    const auto settings = loadSettings({.config_file = file, .values = {}}, {});
    if (settings) {
      ++accepted_;
      return;
    }
    EXPECT_FALSE(settings.error().fields.empty() && settings.error().detail.empty()) << text;
    for (const FieldError& fault : settings.error().fields) {
      EXPECT_FALSE(fault.detail.empty()) << text;
    }
  }
  TempFolder folder_;
  int accepted_ = 0;
};

TEST_F(SettingsFuzz, the_text_that_is_mutated_is_right) {
  load(kSettings);
  EXPECT_EQ(accepted_, 1);
}

TEST_F(SettingsFuzz, mutated_files_are_survived) {
  Dice dice(11);
  const std::string bytes = allBytes() + "\r\n\n\n" + std::string(1, '\0');
  for (int i = 0; i < 300; ++i) {
    load(mutated(kSettings, ":-{}[],'\"#&*!|>%@?\n  ~0123456789eE.", dice));
    load(mutated(kSettings, bytes, dice));
  }
  EXPECT_GT(accepted_, 0);
  EXPECT_LT(accepted_, 600);
}

TEST_F(SettingsFuzz, known_traps_are_survived) {
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n";
  for (char name = 'b'; name <= 'z'; ++name) {
    bomb += std::string(1, name) + ": &" + name + " [";
    for (int i = 0; i < 10; ++i)
      bomb += std::string(i == 0 ? "*" : ", *") + static_cast<char>(name - 1);
    bomb += "]\n";
  }
  for (const std::string& text : {bomb,
                                  std::string(),
                                  std::string("\xEF\xBB\xBF") + kSettings,
                                  std::string(100'000, '['),
                                  std::string(100'000, '{'),
                                  std::string(50'000, '-'),
                                  "a: " + std::string(3'000'000, 'x'),
                                  std::string("listen: [a"),
                                  std::string("? {a: b}\n: c\n"),
                                  std::string("- a\n- b\n"),
                                  std::string("just text"),
                                  std::string("listen: &x 1\nstore: *x\n"),
                                  std::string("*nowhere"),
                                  std::string("a: &a\n  b: *a\n"),
                                  std::string("---\nlisten: x\n---\nlisten: y\n"),
                                  std::string("!!binary x"),
                                  std::string("%YAML 9.9\n---\na: 1\n"),
                                  std::string("listen: \"\\x00\"\n"),
                                  std::string("\0\0\0", 3),
                                  std::string("listen: ~\n"),
                                  std::string("pools: {\"a b\": {}}\n"),
                                  std::string("<<: {listen: 127.0.0.1:1}\n"),
                                  std::string("lease_seconds: 0x10\n"),
                                  std::string("lease_seconds: 1e400\n"),
                                  std::string("\xff\xfe\x00\x00", 4),
                                  std::string("a:\n") + std::string(20'000, ' ') + "b: c"}) {
    load(text);
  }
}

TEST_F(SettingsFuzz, mutated_environments_are_survived) {
  Dice dice(12);
  const std::string bytes = allBytes();
  const std::vector<std::string> names = {
      "MUSTER_LISTEN",    "MUSTER_STORE",  "MUSTER_LEASE_SECONDS", "MAX_RETRIES",
      "RETRY_JITTER_PCT", "MUSTER_TICKER", "MUSTER_ALLOWED_HOSTS", "MUSTER_MAX_BODY_BYTES"};
  const std::vector<std::string> values = {
      "127.0.0.1:0",          "[::1]:80", "sqlite:x", "60", "-1", "0.5", "off", "a,b", "1e9",
      "99999999999999999999", ""};
  const std::string file = (folder_ / "muster.yml").string();
  writeFile(file, "");
  for (int i = 0; i < 500; ++i) {
    const Environment env = {{dice.pick(names), mutated(dice.pick(values), bytes, dice)},
                             {dice.pick(names), dice.pick(values)}};
    const auto settings = loadSettings({.config_file = file, .values = {}}, env);
    if (!settings) {
      EXPECT_FALSE(settings.error().fields.empty()) << env.begin()->second;
    }
  }
}

}  // namespace
}  // namespace muster::test
