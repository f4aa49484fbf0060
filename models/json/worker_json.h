#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/json/json_doc.h"
#include "models/json/json_writer.h"
#include "models/policy/holder_rules.h"
#include "models/policy/resource_pressure.h"
#include "models/worker.h"

namespace muster {

struct RegisterRequest {
  NewWorker worker;
  std::string launch_token;
};
RegisterRequest readRegistration(JsonValue value, std::vector<FieldError>& faults);

// Absent parts stay as they are.
struct WorkerChange {
  std::optional<std::string> status;
  std::optional<std::string> metadata;  // JSON object, merged shallowly
  std::optional<std::string> metrics;   // JSON object, replaces
  std::optional<std::string> current_task;
  ResourceUse use;                   // as the metrics say
  std::vector<std::string> removed;  // names of resources that it held
};
WorkerChange readWorkerChange(JsonValue value, std::vector<FieldError>& faults);
WorkerChange readHeartbeat(JsonValue value, std::vector<FieldError>& faults);

// The members of `base` with those of `change` put over them; `null` removes a member.
std::string mergeObjects(std::string_view base, std::string_view change);

std::string writeTexts(const std::vector<std::string>& texts);
std::vector<std::string> parseTexts(std::string_view json);

// Without the closing brace, so that a registration can add to it.
void writeWorkerFields(JsonWriter& out, const Worker& worker);
void writeWorker(JsonWriter& out, const Worker& worker);
void writeResourceLimits(JsonWriter& out, const ResourceLimits& limits);
// Elements of `commands`.
void writeCommands(JsonWriter& out, std::span<const ResourceCommand> commands);

}  // namespace muster
