#include "app/cli/explain_figures.h"

#include <algorithm>
#include <map>

#include "app/config/closest_name.h"
#include "models/json/json_doc.h"
#include "models/json/json_writer.h"

namespace muster {
namespace {

const std::vector<std::string> kTop = {"mode", "preset"};
const std::vector<std::string> kState = {"current_workers",
                                         "queue_depth",
                                         "p95_latency_ms",
                                         "in_flight_jobs",
                                         "last_scale_age_ms",
                                         "runnable",
                                         "pending",
                                         "claimed",
                                         "free_slots",
                                         "starting",
                                         "busy",
                                         "idle",
                                         "terminating",
                                         "maybe_alive",
                                         "host_slots_free",
                                         "launch_tokens",
                                         "breaker_allowance",
                                         "resource_allowance"};
const std::vector<std::string> kConfig = {"min_workers",
                                          "max_workers",
                                          "target_p95_latency_ms",
                                          "target_queue_depth",
                                          "scale_up_step",
                                          "scale_down_step",
                                          "scale_decision_interval_ms",
                                          "warm_idle",
                                          "slots",
                                          "jobs_per_worker",
                                          "worker_mode"};

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// A number as it is; the rest is text, for the service to judge.
std::string valueJson(const std::string& value) {
  const auto doc = JsonDoc::parse(value);
  if (doc && doc->root().number()) return value;
  return JsonWriter().value(value).take();
}

}  // namespace

Result<std::string> readExplainFigures(const std::vector<std::string>& words) {
  std::vector<std::string> known = kTop;
  known.insert(known.end(), kState.begin(), kState.end());
  known.insert(known.end(), kConfig.begin(), kConfig.end());
  std::map<std::string, std::string> top, state, config;
  std::vector<FieldError> faults;
  for (const std::string& word : words) {
    const auto equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (equals == std::string::npos) {
      faults.push_back({word, "invalid", "expected name=value"});
    } else if (!has(known, name)) {
      faults.push_back({name, "unknown", "is no figure of a decision" + suggestion(name, known)});
    } else {
      auto& group = has(kTop, name) ? top : has(kState, name) ? state : config;
      if (!group.emplace(name, valueJson(word.substr(equals + 1))).second) {
        faults.push_back({name, "duplicate", "is given twice"});
      }
    }
  }
  if (!faults.empty()) {
    return tl::unexpected(Error{ErrorCode::kInvalid, "arguments", std::move(faults)});
  }
  JsonWriter out;
  out.beginObject();
  for (const auto& [name, value] : top) out.key(name).raw(value);
  out.key("state").beginObject();
  for (const auto& [name, value] : state) out.key(name).raw(value);
  out.endObject();
  if (!config.empty()) {
    out.key("config").beginObject();
    for (const auto& [name, value] : config) out.key(name).raw(value);
    out.endObject();
  }
  out.endObject();
  return out.take();
}

}  // namespace muster
