// Measures the service and prints a table of ratios to yardsticks that are measured in the same
// run, in turn with it: figures in absolute numbers say more about the machine.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#include "bench/rows.h"

namespace {

using namespace muster::bench;

constexpr const char* kUsage =
    "usage: muster_bench --muster PROGRAM --echo PROGRAM --one-request PROGRAM [--folder FOLDER] "
    "[--postgres FOLDER --peers FOLDER] [--quick] [ROW…]\n"
    "rows: push claim batch bulk depth behind tenants memory start latency launch metrics "
    "simulation "
    "decisions postgres nodes flows resources; all when none is named\n";

struct Arguments {
  Options options;
  std::set<std::string> rows;
};

Arguments readArguments(int argc, char** argv) {
  const std::set<std::string> known{"push",      "claim",   "batch",    "bulk",  "depth",
                                    "behind",    "tenants", "memory",   "start", "latency",
                                    "launch",    "metrics", "postgres", "nodes", "simulation",
                                    "decisions", "flows",   "resources"};
  Arguments arguments;
  arguments.options.folder = std::filesystem::temp_directory_path();
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool has_value = i + 1 < argc;
    if (word == "--quick") {
      arguments.options.quick = true;
    } else if (word == "--muster" && has_value) {
      arguments.options.muster = std::filesystem::absolute(argv[++i]);
    } else if (word == "--echo" && has_value) {
      arguments.options.echo_server = std::filesystem::absolute(argv[++i]);
    } else if (word == "--one-request" && has_value) {
      arguments.options.one_request = std::filesystem::absolute(argv[++i]);
    } else if (word == "--folder" && has_value) {
      arguments.options.folder = std::filesystem::absolute(argv[++i]);
    } else if (word == "--postgres" && has_value) {
      arguments.options.postgres = std::filesystem::absolute(argv[++i]);
    } else if (word == "--peers" && has_value) {
      arguments.options.peers = std::filesystem::absolute(argv[++i]);
    } else if (known.contains(word)) {
      arguments.rows.insert(word);
    } else {
      throw std::invalid_argument(fmt::format("'{}' is not known\n{}", word, kUsage));
    }
  }
  if (arguments.options.muster.empty() || arguments.options.echo_server.empty() ||
      arguments.options.one_request.empty()) {
    throw std::invalid_argument(kUsage);
  }
  if (arguments.rows.empty()) arguments.rows = known;
  if ((arguments.rows.contains("postgres") || arguments.rows.contains("nodes")) &&
      arguments.options.postgres.empty()) {
    throw std::invalid_argument(kUsage);
  }
  return arguments;
}

// A folder of its own that is gone afterwards.
class WorkFolder {
 public:
  explicit WorkFolder(const std::string& parent) : path_(parent + "/muster-bench-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) {
      throw std::runtime_error("cannot make a folder in " + parent);
    }
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  ~WorkFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// What other programs took of the machine while we measured: the doubt in the figures.
class Disturbance {
 public:
  Disturbance() : busy_(busySeconds()), own_(ownSeconds()), began_(Clock::now()) {}
  // Of all cores, 0 to 1. Asked when our servers have ended.
  double share() const {
    const double passed = std::chrono::duration<double>(Clock::now() - began_).count();
    const double others = (busySeconds() - busy_) - (ownSeconds() - own_);
    return std::max(0.0, others / passed / std::max(1U, std::thread::hardware_concurrency()));
  }

 private:
  using Clock = std::chrono::steady_clock;

  static double busySeconds() {
    std::ifstream file("/proc/stat");
    std::string cpu;
    double user = 0, nice = 0, system = 0, idle = 0, io_wait = 0, irq = 0, soft_irq = 0;
    file >> cpu >> user >> nice >> system >> idle >> io_wait >> irq >> soft_irq;
    return (user + nice + system + irq + soft_irq) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  }
  static double ownSeconds() {
    double seconds = 0;
    for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
      rusage used{};
      ::getrusage(who, &used);
      for (const timeval& time : {used.ru_utime, used.ru_stime}) {
        seconds += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
      }
    }
    return seconds;
  }

  const double busy_;
  const double own_;
  const Clock::time_point began_;
};

void measureAll(const Workshop& shop, const std::set<std::string>& rows) {
  const Disturbance disturbance;
  Report report;
  if (rows.contains("push")) measurePush(shop, report);
  if (rows.contains("claim")) measureClaim(shop, report);
  if (rows.contains("batch")) measureBatch(shop, report);
  if (rows.contains("bulk")) measureBulk(shop, report);
  if (rows.contains("behind")) measureBehind(shop, report);
  if (rows.contains("tenants")) measureTenants(shop, report);
  if (rows.contains("latency")) measureLatency(shop, report);
  if (rows.contains("launch")) measureLaunching(shop, report);
  if (rows.contains("simulation")) measureSimulation(shop, report);
  if (rows.contains("decisions")) measureDecisions(report);
  if (rows.contains("metrics")) measureMetrics(shop, report);
  if (rows.contains("postgres")) measurePostgres(shop, report);
  if (rows.contains("nodes")) measureNodes(shop, report);
  if (rows.contains("flows")) measureFlows(shop, report);
  if (rows.contains("resources")) measureResources(shop, report);
  const LargePoolRows large{rows.contains("depth"), rows.contains("memory"),
                            rows.contains("start")};
  if (large.depth || large.memory || large.start) measureLargePool(shop, report, large);
  fmt::print(
      "{}; other programs took {:.0f} % of the machine\n",
      report.below() == 0 ? "every bar is met" : fmt::format("{} below their bar", report.below()),
      disturbance.share() * 100);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Arguments arguments = readArguments(argc, argv);
    const WorkFolder folder(arguments.options.folder);
    arguments.options.folder = folder.path();
    measureAll(Workshop(arguments.options), arguments.rows);
    return 0;
  } catch (const std::invalid_argument& wrong) {
    fmt::print(stderr, "{}", wrong.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench: {}\n", error.what());
    return 1;
  }
}
