#pragma once

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
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
    begin(suffix);
    if (!labels.empty()) (out_ += '{').append(labels) += '}';
    end(value);
  }
  // A bucket of a histogram.
  void bucket(std::string_view labels, std::string_view bound, std::uint64_t count);

  // Figures of this process in the names every Prometheus client library uses.
  void process();

  std::string take() { return std::move(out_); }

 private:
  // There may be a hundred thousand samples: they are put together by hand.
  void begin(std::string_view suffix) { out_.append(name_).append(suffix); }
  template <class Number>
  void end(Number value) {
    out_ += ' ';
    if constexpr (std::is_integral_v<Number>) {
      const fmt::format_int digits(value);
      out_.append(digits.data(), digits.size());
    } else {
      fmt::format_to(std::back_inserter(out_), "{}", value);
    }
    out_ += '\n';
  }

  std::string name_;
  std::string out_;
};

// A distribution in fixed buckets of seconds. Thread-safe.
class Histogram {
 public:
  explicit Histogram(std::vector<double> bounds);
  void observe(double seconds);
  void merge(const Histogram& other);  // of the same bounds
  // Nothing when nothing was observed.
  void expose(Exposition& out, std::string_view labels) const;

 private:
  std::vector<double> bounds_;
  std::vector<std::string> bound_texts_;
  std::vector<std::atomic<std::uint64_t>> counts_;
  std::atomic<double> sum_ = 0;
};

}  // namespace muster
