#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/setting_table.h"
#include "app/config/settings.h"

namespace muster {

// Where each part of a value stands in the file ("muster.yml:12:5"), by its JSON pointer; "" is the
// value itself.
struct PlacesByPointer {
  std::map<std::string, std::string> places;

  // The place of `pointer`, or of the nearest part around it.
  std::string placeOf(std::string pointer) const;
};

// Settings while they are put together: each source writes over the one before it and adds what
// is wrong with it, so that all faults are known at the end.
struct SettingsDraft {
  Settings settings;
  std::map<std::string, std::string, std::less<>> places;  // name → where its value came from
  std::map<std::string, PlacesByPointer> pool_places;
  std::vector<FieldError> faults;

  void addFault(std::string place, std::string what);
  void set(const SettingRow& row, std::string_view text, std::string place);
  // Where the value of a setting came from, for faults that concern several of them.
  std::string placeOf(std::string_view name) const;
};

// `file` is the name shown in messages.
void readYamlSettings(std::string_view file, std::string_view text, SettingsDraft& draft);
// The triggers of a file of their own; they come after those in the settings.
void readTriggerRegistry(std::string_view file, std::string_view text, SettingsDraft& draft);
void readEnvironmentSettings(const Environment& env, SettingsDraft& draft);
void readFlagSettings(const Overrides& flags, SettingsDraft& draft);

// The rules that concern several settings at once. Comes last.
void checkSettings(SettingsDraft& draft);

}  // namespace muster
