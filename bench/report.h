#pragma once

#include <string>

namespace muster::bench {

// One line of the table.
struct Row {
  std::string what;
  std::string measured;
  std::string baseline = {};
  std::string ratio = {};
  std::string bar = {};
  bool ok = true;
};

// Prints the table as it is measured.
class Report {
 public:
  Report();
  void add(const Row& row);
  // A share of a baseline that should be at least `bar`.
  void addShare(std::string what, std::string measured, std::string baseline, double ratio,
                double bar);
  // Milliseconds that should be at most so many.
  void addMost(std::string what, double ms, double most);
  int below() const { return below_; }

 private:
  int below_ = 0;
};

// 41234.5 → "41.2 k/s", with the CPU time of the server per unit when it is known.
std::string rateText(double per_second, double cpu_us = 0);

}  // namespace muster::bench
