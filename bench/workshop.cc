#include "bench/workshop.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <stdexcept>

#include "bench/conversations.h"

namespace muster::bench {

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const auto high = std::min(low + 1, values.size() - 1);
  return values[low] + (values[high] - values[low]) * (at - std::floor(at));
}

double Series::median() const { return quantile(values_, 0.5); }
double Series::medianCpuUs() const { return quantile(cpu_us_, 0.5); }

double Series::ratioTo(const Series& baseline) const {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(values_.size(), baseline.values_.size()); ++i) {
    ratios.push_back(values_[i] / baseline.values_[i]);
  }
  return quantile(ratios, 0.5);
}

double Series::overallRate() const {
  std::vector<double> rates = values_;
  std::sort(rates.begin(), rates.end());
  const std::size_t left_out = rates.size() / 10;
  double time = 0;
  double count = 0;
  for (std::size_t i = left_out; i + left_out < rates.size(); ++i) {
    time += 1 / rates[i];
    ++count;
  }
  return count / time;
}

double Series::overallRatioTo(const Series& baseline) const {
  return overallRate() / baseline.overallRate();
}

std::unique_ptr<ServerProcess> Workshop::echo(bool parse) const {
  std::vector<std::string> command{options_.echo_server};
  if (parse) command.emplace_back("--parse");
  return std::make_unique<ServerProcess>(command, options_.folder);
}

std::unique_ptr<ServerProcess> Workshop::service(const std::string& name,
                                                 Durability durability) const {
  // Leases outlast the measurement, so that no job comes back in the middle of it.
  return std::make_unique<ServerProcess>(
      std::vector<std::string>{options_.muster, "serve", "--listen", "127.0.0.1:0", "--store",
                               "sqlite:" + path(name), "--durability",
                               durability == Durability::kFull ? "full" : "normal",
                               "--lease-seconds", "3600", "--log-level", "error"},
      options_.folder);
}

std::unique_ptr<ServerProcess> Workshop::service(const std::string& name,
                                                 const std::string& store) const {
  return configured(name, fmt::format("store: {}\nlease_seconds: 3600\ntriggers: []\n", store));
}

std::unique_ptr<ServerProcess> Workshop::configured(const std::string& name,
                                                    const std::string& settings) const {
  const std::string file = path(name + ".yml");
  std::ofstream out(file);
  out << "listen: 127.0.0.1:0\nlog_level: error\n" << settings;
  if (settings.find("store:") == std::string::npos) {
    out << "store: sqlite:" << path(name) << "/muster.db\n";
  }
  out.close();
  return std::make_unique<ServerProcess>(
      std::vector<std::string>{options_.muster, "serve", "--config", file}, options_.folder);
}

void Workshop::fill(const ServerProcess& server, const std::string& pool, std::int64_t jobs,
                    const std::string& extra) const {
  constexpr int kBatch = 1000;
  constexpr int kConnections = 2;
  const std::string path = fmt::format("/v1/pools/{}/jobs/batch", pool);
  if (jobs >= kBatch) {
    measure(server, kConnections, repeat(postRequest(path, batchBody(kBatch, extra)), 201),
            {.requests = jobs / kBatch});
  }
  if (jobs % kBatch > 0) {
    const int rest = static_cast<int>(jobs % kBatch);
    measure(server, 1, repeat(postRequest(path, batchBody(rest, extra)), 201), {.requests = 1});
  }
}

LoadResult Workshop::measure(const ServerProcess& server, int connections,
                             const MakeConversation& make, const LoadLimit& limit) const {
  LoadResult result = runLoad(server.port(), connections, make, limit);
  if (result.failures > 0) {
    throw std::runtime_error(fmt::format("{} of {} answers were not the expected ones",
                                         result.failures, result.requests));
  }
  return result;
}

LoadResult Workshop::sample(Series& series, const ServerProcess& server, int connections,
                            const MakeConversation& make, const LoadLimit& limit) const {
  const double cpu = server.cpuSeconds();
  LoadResult result = measure(server, connections, make, limit);
  series.add(result.rate(),
             (server.cpuSeconds() - cpu) * 1e6 / static_cast<double>(result.requests));
  return result;
}

}  // namespace muster::bench
