#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace muster {

// What the store knows of a template of the configuration.
struct LaunchTemplate {
  std::string version;
  std::vector<std::string> capabilities = {};  // of the workers launched from it
  std::vector<std::string> executors = {};
};

// The templates by name; a pool can name no other. Copies share one table, which can be replaced
// while stores use it. Thread-safe.
class LaunchTemplates {
 public:
  using Map = std::map<std::string, LaunchTemplate>;

  LaunchTemplates() = default;
  LaunchTemplates(std::initializer_list<Map::value_type> templates) { replace(Map(templates)); }

  std::optional<LaunchTemplate> find(const std::string& name) const {
    const std::lock_guard lock(table_->mutex);
    const auto found = table_->templates.find(name);
    return found == table_->templates.end() ? std::nullopt : std::optional(found->second);
  }
  void replace(Map templates) {
    const std::lock_guard lock(table_->mutex);
    table_->templates = std::move(templates);
  }
  void clear() { replace({}); }

 private:
  struct Table {
    std::mutex mutex;
    Map templates;  // guarded by mutex
  };
  std::shared_ptr<Table> table_ = std::make_shared<Table>();
};

}  // namespace muster
