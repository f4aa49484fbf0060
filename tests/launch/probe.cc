#include "tests/launch/probe.h"

#include <utility>

namespace muster::test {
namespace {

ServiceOptions withProbe(ServiceOptions options, const std::string& script,
                         const std::string& more) {
  options.settings += "templates:\n  probe: {worker: [sh, -c, '" + script + "']" + more + "}\n" +
                      "pools:\n  p: {template: probe, launch_backoff_base_seconds: 300, "
                      "scaling: {max_workers: 1}}\n";
  options.ticker = true;
  return options;
}

}  // namespace

Probe::Probe(const std::string& script, ServiceOptions options, const std::string& more)
    : service_(withProbe(std::move(options), script, more)), pool_(service_.url(), "p") {}

std::string Probe::output() {
  pool_.push();
  const auto ended = [this] { return pool_.events("types=worker.exited"); };
  if (!eventually(kPatience, [&] { return !ended().empty(); })) {
    throw std::runtime_error("the worker has not ended\n" + service_.log());
  }
  const std::string worker = ended().front()["worker_id"].asString();
  return pool_.http().get("/v1/workers/" + worker + "/output").json["output"].asString();
}

}  // namespace muster::test
