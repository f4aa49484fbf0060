#include <gtest/gtest.h>

#include <array>
#include <random>

#include "app/config/settings_sources.h"

namespace muster {
namespace {

constexpr std::array<std::string_view, 4> kSeeds = {
    "listen: 127.0.0.1:8080\nstore: sqlite:data/muster.db\nMAX_RETRIES: 3\nticker: off\n",
    "tokens:\n  - {name: ci, sha256: 9f86d081, scopes: [read, produce]}\n"
    "  - name: \"b\\u00e9\"\n    scopes:\n    - work\n",
    "templates:\n  a: {run: [python3, 'x.py'], env: {MODEL: small}, cwd: jobs}\n"
    "  b:\n    worker:\n      - ./w\n      - |\n        text\n        more\n",
    "%YAML 1.2\n---\npools:\n  ? p\n  : {template: a, scaling: {max_workers: 4}}\n  q: >-\n    "
    "f\n...\n",
};

constexpr std::array<std::string_view, 24> kPieces = {
    "[", "]",   "{",  "}",    ": ", "- ", "? ", "&a ", "*a", "!!x ", "!<",       "\"",
    "'", "\\u", "\n", "\n  ", "\t", "#",  "|2", ">",   "%",  "---",  "\xff\xfe", "\xef\xbb\xbf"};

std::string mutated(std::mt19937& random) {
  std::string text(kSeeds[random() % kSeeds.size()]);
  const auto changes = 1 + random() % 8;
  for (std::size_t i = 0; i < changes; ++i) {
    const std::size_t at = random() % (text.size() + 1);
    const std::size_t length = random() % 12;
    switch (random() % 5) {
      case 0:
        text.insert(at, kPieces[random() % kPieces.size()]);
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(random() % text.size(), length));
        break;
      case 3:
        if (at < text.size()) text[at] = static_cast<char>(random() % 256);
        break;
      default:
        for (auto n = random() % 80; n > 0; --n) {
          text.insert(at, kPieces[random() % 7]);
        }
    }
    if (text.empty()) text = "a";
  }
  return text;
}

TEST(SettingsYamlFuzz, brokenFilesAreRefusedWithAPlace) {
  std::mt19937 random(20260301);
  for (int i = 0; i < 5000; ++i) {
    const std::string text = mutated(random);
    SettingsDraft draft;
    readYamlSettings("f.yml", text, draft);
    for (const auto& fault : draft.faults) {
      ASSERT_TRUE(fault.pointer.starts_with("f.yml:")) << text;
      ASSERT_FALSE(fault.detail.empty()) << text;
    }
  }
}

}  // namespace
}  // namespace muster
