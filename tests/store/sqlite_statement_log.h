#pragma once

#include <sqlite3.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace muster::test {

// Notes the text of every statement that runs on any connection opened while it lives.
class StatementLog {
 public:
  StatementLog() {
    current_ = this;
    sqlite3_auto_extension(reinterpret_cast<void (*)()>(&StatementLog::attach));
  }
  ~StatementLog() {
    sqlite3_cancel_auto_extension(reinterpret_cast<void (*)()>(&StatementLog::attach));
    current_ = nullptr;
  }
  StatementLog(const StatementLog&) = delete;
  StatementLog& operator=(const StatementLog&) = delete;

  std::set<std::string> texts() {
    const std::lock_guard lock(mutex_);
    return {texts_.begin(), texts_.end()};
  }
  // Of each statement that ran.
  std::vector<std::string> all() {
    const std::lock_guard lock(mutex_);
    return {texts_.begin(), texts_.end()};
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    texts_.clear();
  }
  // How many statements that ran hold `part`.
  std::ptrdiff_t count(const std::string& part) {
    const std::lock_guard lock(mutex_);
    return std::count_if(texts_.begin(), texts_.end(), [&part](const std::string& text) {
      return text.find(part) != std::string::npos;
    });
  }

 private:
  static int attach(sqlite3* db, char**, const void*) {
    return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, &StatementLog::note, current_);
  }
  static int note(unsigned, void* log, void* statement, void*) {
    auto& self = *static_cast<StatementLog*>(log);
    const std::lock_guard lock(self.mutex_);
    self.texts_.insert(sqlite3_sql(static_cast<sqlite3_stmt*>(statement)));
    return 0;
  }

  static inline StatementLog* current_ = nullptr;
  std::mutex mutex_;
  std::multiset<std::string> texts_;
};

}  // namespace muster::test
