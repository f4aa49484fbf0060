#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/job.h"
#include "models/json/json_doc.h"
#include "models/json/json_writer.h"
#include "models/policy/inline_rules.h"
#include "models/policy/retry.h"

namespace muster {

class ObjectReader;

// The same placement always gives the same text; empty when nothing is constrained.
std::string writePlacement(const Placement& placement);
// What writePlacement() wrote, and nothing constrained for an empty text. A text that cannot be
// read is a placement that no worker meets.
Placement parsePlacement(std::string_view text);

// The policy with what a job's `retry` overrides of it; an empty text overrides nothing.
RetryPolicy overridden(RetryPolicy policy, std::string_view retry);

// These readers note every fault under `pointer`; what could be read is in the answer.
NewJob readNewJob(JsonValue value, const std::string& pointer, std::vector<FieldError>& faults);
// The fields of a new job in an object that has more than those. `in` reads `value`, and finish()
// is for the caller.
NewJob readNewJobFields(ObjectReader& in, JsonValue value, std::vector<FieldError>& faults);
// False: it refers to no resource, also if its pool reads refs out of `data`.
bool mayHaveRefs(const NewJob& job);
// Adds the refs that stand in its data, in a pool that reads them there: objects under a key
// resourceRef or resource_ref. kInvalid if there are too many.
Status addPayloadRefs(NewJob& job, const std::string& pointer);

// One outcome as it stands in a single report or in an item of a bulk report.
struct OutcomeReport {
  JobId job;
  Reporter reporter;
  enum class Kind { kDone, kFailed, kReleased, kCancelled } kind = Kind::kDone;
  std::optional<std::string> result;    // JSON
  std::string artifacts;                // JSON array, empty: none
  std::vector<InlineArtifact> inlined;  // of these
  FailureReport failure;
  std::optional<Error> refusal = {};  // it is not judged, and its job stays claimed
};
OutcomeReport readComplete(JsonValue value, std::vector<FieldError>& faults);
OutcomeReport readFail(JsonValue value, std::vector<FieldError>& faults);
OutcomeReport readBulkItem(JsonValue value, const std::string& pointer,
                           std::vector<FieldError>& faults);

struct ClaimRequest {
  WorkerId worker;
  int max = 1;
  Millis wait{0};
  JobId job;                                      // empty: any
  std::optional<std::int64_t> registration = {};  // of the worker's own token
};
ClaimRequest readClaim(JsonValue value, const std::string& pointer,
                       std::vector<FieldError>& faults);

void writeJob(JsonWriter& out, const Job& job);
// With the lease, and with what a flow has for it, for the worker that has just claimed it.
void writeClaimedJob(JsonWriter& out, const Job& job);
// {"flow_id", "name"?, "round"}, and of a callback also "status" and "callback".
void writeFlowOfClaim(JsonWriter& out, const JobFlow& flow);
void writeAttempt(JsonWriter& out, const Attempt& attempt);

}  // namespace muster
