#pragma once

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

// name="value", with what would end the value escaped.
std::string metricLabel(std::string_view name, std::string_view value);

// A text in the format of Prometheus, built by appending. A family comes before its samples.
class Exposition {
 public:
  void family(std::string_view name, std::string_view type, std::string_view help);

  // One of the last family; `labels` joined by commas, "" for none.
  template <class Number>
  void sample(std::string_view labels, Number value) {
    suffixed("", labels, value);
  }
  // The same with something behind the name, like _count.
  template <class Number>
  void suffixed(std::string_view suffix, std::string_view labels, Number value) {
    fmt::format_to(std::back_inserter(out_), "{}{}{}{}{} {}\n", name_, suffix,
                   labels.empty() ? "" : "{", labels, labels.empty() ? "" : "}", value);
  }
  // A bucket of a histogram.
  void bucket(std::string_view labels, std::string_view bound, std::uint64_t count);

  // Figures of this process in the names every Prometheus client library uses.
  void process();

  std::string take() { return std::move(out_); }

 private:
  std::string name_;
  std::string out_;
};

// A distribution in fixed buckets of seconds. Thread-safe.
class Histogram {
 public:
  explicit Histogram(std::vector<double> bounds);
  void observe(double seconds);
  // Nothing when nothing was observed.
  void expose(Exposition& out, std::string_view labels) const;

 private:
  std::vector<double> bounds_;
  std::vector<std::string> bound_texts_;
  std::vector<std::atomic<std::uint64_t>> counts_;
  std::atomic<double> sum_ = 0;
};

}  // namespace muster
