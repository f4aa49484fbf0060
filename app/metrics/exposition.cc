#include "app/metrics/exposition.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace muster {
namespace {

// When the process began, in seconds since 1970; 0 where the system does not tell.
double startOfProcess() {
  std::string stat, line;
  std::ifstream self("/proc/self/stat");
  std::getline(self, stat);
  // The second field is the program's name in parentheses, which may hold anything.
  std::istringstream fields(stat.substr(std::min(stat.rfind(')') + 1, stat.size())));
  std::string field;
  for (int number = 3; number <= 22; ++number) fields >> field;
  double since_boot = 0, boot = 0;
  std::istringstream(field) >> since_boot;
  std::ifstream system("/proc/stat");
  while (std::getline(system, line)) {
    if (line.starts_with("btime ")) std::istringstream(line.substr(6)) >> boot;
  }
  return boot + since_boot / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

std::string metricLabel(std::string_view name, std::string_view value) {
  std::string out(name);
  out += "=\"";
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? std::string_view("\\n") : std::string_view(&c, 1);
  }
  return out + '"';
}

void Exposition::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  fmt::format_to(std::back_inserter(out_), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

void Exposition::bucket(std::string_view labels, std::string_view bound, std::uint64_t count) {
  begin("_bucket{");
  out_.append(labels).append(labels.empty() ? "le=\"" : ",le=\"").append(bound) += "\"}";
  end(count);
}

void Exposition::process() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double cpu = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                     static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
  long pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  std::error_code fault;
  const auto files = std::distance(std::filesystem::directory_iterator("/proc/self/fd", fault),
                                   std::filesystem::directory_iterator());
  rlimit most{};
  getrlimit(RLIMIT_NOFILE, &most);
  static const double kStarted = startOfProcess();

  family("process_cpu_seconds_total", "counter", "User and system CPU time spent.");
  sample("", cpu);
  family("process_resident_memory_bytes", "gauge", "Resident memory size.");
  sample("", resident * sysconf(_SC_PAGESIZE));
  family("process_virtual_memory_bytes", "gauge", "Virtual memory size.");
  sample("", pages * sysconf(_SC_PAGESIZE));
  family("process_open_fds", "gauge", "Number of open file descriptors.");
  sample("", files);
  family("process_max_fds", "gauge", "The most file descriptors there may be.");
  sample("", most.rlim_cur);
  family("process_start_time_seconds", "gauge", "When the process began, since 1970.");
  sample("", fmt::format("{:.2f}", kStarted));
}

Histogram::Histogram(std::vector<double> bounds)
    : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {
  for (const double bound : bounds_) bound_texts_.push_back(fmt::format("{}", bound));
  bound_texts_.emplace_back("+Inf");
}

void Histogram::observe(double seconds) {
  const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), seconds) - bounds_.begin();
  counts_[static_cast<std::size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(seconds, std::memory_order_relaxed);
}

void Histogram::merge(const Histogram& other) {
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    counts_[i].fetch_add(other.counts_[i].load(std::memory_order_relaxed),
                         std::memory_order_relaxed);
  }
  sum_.fetch_add(other.sum_.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

void Histogram::expose(Exposition& out, std::string_view labels) const {
  std::vector<std::uint64_t> below;
  std::uint64_t total = 0;
  for (const auto& count : counts_) below.push_back(total += count.load(std::memory_order_relaxed));
  if (total == 0) return;
  for (std::size_t i = 0; i < below.size(); ++i) out.bucket(labels, bound_texts_[i], below[i]);
  out.suffixed("_sum", labels, sum_.load(std::memory_order_relaxed));
  out.suffixed("_count", labels, total);
}

}  // namespace muster
