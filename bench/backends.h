#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/report.h"
#include "bench/workshop.h"

namespace muster::bench {

// A store that rows are measured on.
struct Backend {
  std::string name;
  std::function<std::unique_ptr<ServerProcess>(const std::string&)> serve;

  std::string titled(const std::string& what) const { return name + ": " + what; }
};

// SQLite, and PostgreSQL if there is one under test.
std::vector<Backend> backends(const Workshop& shop);

}  // namespace muster::bench
