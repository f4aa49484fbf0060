#pragma once

#include <string>
#include <vector>

#include "models/flow.h"
#include "models/json/json_doc.h"
#include "models/json/json_writer.h"
#include "models/operations/flows.h"
#include "models/result.h"

namespace muster {

// These readers note every fault under `pointer`; what could be read is in the answer.
NewFlowJob readNewFlowJob(JsonValue value, const std::string& pointer,
                          std::vector<FieldError>& faults);
// The array `jobs` of a request, with the faults that the graph of the jobs has.
std::vector<NewFlowJob> readNewFlowJobs(JsonValue value, const std::string& pointer,
                                        std::vector<FieldError>& faults);
CreateFlow readCreateFlow(JsonValue value, std::vector<FieldError>& faults);
// An array of at most 4. Also reads what the store keeps of a flow (Flow::callbacks).
std::vector<FlowCallback> readFlowCallbacks(JsonValue value, const std::string& pointer,
                                            std::vector<FieldError>& faults);

void writeFlow(JsonWriter& out, const Flow& flow);
void writeFlowShown(JsonWriter& out, const FlowShown& shown);
void writeFlowJobsAdded(JsonWriter& out, const FlowJobsAdded& added);
void writeFlowEdge(JsonWriter& out, const FlowEdge& edge);
void writeUpstreamItem(JsonWriter& out, const UpstreamItem& item);
// What the store keeps of the inputs of a job, empty: none; and back.
std::string writeFlowInputs(const std::vector<NewFlowJob::Input>& inputs);
std::vector<NewFlowJob::Input> parseFlowInputs(std::string_view text);
// {"flow_id", "name"?, "round", "status", "callback"}: what the claim of a callback carries, as the
// store keeps it; and back.
std::string writeCallbackFlow(const JobFlow& flow);
JobFlow parseCallbackFlow(std::string_view text);
// {"flow_id", "name"?, "round", "reason"?}: the details of a flow's event.
std::string flowEventDetails(const Flow& flow);

}  // namespace muster
