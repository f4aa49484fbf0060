#pragma once

#include <string>
#include <vector>

#include "models/json/json_doc.h"
#include "models/json/json_writer.h"
#include "models/operations/artifacts.h"
#include "models/resource.h"
#include "models/result.h"

namespace muster {

// The body of POST /v1/resources; notes every fault.
NewResource readNewResource(JsonValue value, std::vector<FieldError>& faults);
// The body of POST /v1/jobs/{job_id}/artifacts, without the job: what it is besides the store says.
RegisterArtifact readRegisterArtifact(JsonValue value, std::vector<FieldError>& faults);
// What two registrations have in common if they are the same, apart from the id.
std::string hashText(const NewResource& resource);

// `part_bytes` is shown while something is being uploaded.
void writeResource(JsonWriter& out, const Resource& resource, std::int64_t part_bytes);
// An item of `inputs` in a claimed job.
void writeJobInput(JsonWriter& out, const JobInput& input);

}  // namespace muster
