#include "bench/report.h"

#include <fmt/format.h>

#include <cstdio>

namespace muster::bench {
namespace {

void print(const std::string& what, const std::string& measured, const std::string& baseline,
           const std::string& ratio, const std::string& bar, const std::string& verdict) {
  fmt::print("{:<50} {:<25} {:<36} {:>5} {:>9}  {}\n", what, measured, baseline, ratio, bar,
             verdict);
  std::fflush(stdout);
}

}  // namespace

Report::Report() { print("what", "measured", "compared to", "ratio", "bar", ""); }

void Report::add(const Row& row) {
  if (!row.ok) ++below_;
  print(row.what, row.measured, row.baseline, row.ratio, row.bar,
        row.bar.empty() ? "" : (row.ok ? "ok" : "below"));
}

void Report::addMost(std::string what, double ms, double most) {
  add({std::move(what), fmt::format("{:.1f} ms", ms), "", "", fmt::format("<= {:.0f} ms", most),
       ms <= most});
}

void Report::addShare(std::string what, std::string measured, std::string baseline, double ratio,
                      double bar) {
  add({std::move(what), std::move(measured), std::move(baseline), fmt::format("{:.2f}", ratio),
       fmt::format(">= {:.2f}", bar), ratio >= bar});
}

std::string rateText(double per_second, double cpu_us) {
  std::string text = per_second >= 10'000 ? fmt::format("{:.1f} k/s", per_second / 1000)
                                          : fmt::format("{:.0f} /s", per_second);
  if (cpu_us > 0) text += fmt::format(", {:.0f} us CPU", cpu_us);
  return text;
}

}  // namespace muster::bench
