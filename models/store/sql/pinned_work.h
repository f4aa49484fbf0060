#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "models/pool.h"
#include "models/store/sql/session.h"

namespace muster {

// The places that the workers of a pool have for jobs that are pinned to them.
class PinnedWork {
 public:
  PinnedWork(Session& session, const Pool& pool) : s_(session), pool_(pool) {}

  // How many of so many due jobs the worker could take now, and takes.
  std::int64_t take(const std::string& worker, std::int64_t due);
  const std::map<std::string, std::int64_t>& taken() const { return taken_; }

 private:
  void read();

  Session& s_;
  const Pool& pool_;
  bool is_read_ = false;
  std::map<std::string, std::int64_t> free_;
  std::map<std::string, std::int64_t> taken_;
};

}  // namespace muster
