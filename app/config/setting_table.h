#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/config/settings.h"

namespace muster {

// One setting whose value is a text without structure. File, environment and command line all
// read it through this row, so a setting is described in one place only.
struct SettingRow {
  std::string_view
      name;  // key in the file; --flag with dashes; MUSTER_ + upper case in the environment
  std::string_view bare_name;  // a second key and variable, taken as it is; often empty
  std::string_view help;
  std::string expected;  // completes the sentence "expected …"
  bool is_list = false;  // a list in the file; separated by commas elsewhere
  bool is_switch = false;
  // Stores the value; false when the text is not what was expected, and then nothing is stored.
  bool (*read)(std::string_view text, Settings& settings) = nullptr;
  std::string (*show)(const Settings& settings) = nullptr;

  std::string flag() const;         // --max-retries
  std::string environment() const;  // MUSTER_MAX_RETRIES
};

const std::vector<SettingRow>& settingTable();

// By name or bare name, null when there is none.
const SettingRow* findSetting(std::string_view key);

}  // namespace muster
