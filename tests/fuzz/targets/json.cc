#include <string>
#include <vector>

#include "models/json/job_json.h"
#include "models/json/json_doc.h"
#include "models/json/json_reader.h"
#include "models/json/json_writer.h"
#include "models/json/pool_json.h"
#include "models/json/trigger_json.h"
#include "models/json/worker_json.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::test {
namespace {

void writeFuzzed(JsonWriter& out, JsonValue value) {
  if (const auto text = value.string()) {
    out.value(*text);
  } else if (value.isArray()) {
    out.beginArray();
    for (auto item = value.begin(); item != value.end(); ++item) writeFuzzed(out, *item);
    out.endArray();
  } else if (value.isObject()) {
    out.beginObject();
    for (auto member = value.begin(); member != value.end(); ++member) {
      out.key(member.key());
      writeFuzzed(out, *member);
    }
    out.endObject();
  } else {
    out.raw(value.raw());
  }
}

std::string writtenAgain(std::string_view text, const char* what) {
  const auto doc = JsonDoc::parse(text);
  mustHold(doc.has_value(), what);
  JsonWriter out;
  writeFuzzed(out, doc->root());
  return out.take();
}

using Faults = std::vector<FieldError>;

void checkFuzzedJob(JsonValue root) {
  Faults faults;
  const NewJob job = readNewJob(root, "", faults);
  for (const FieldError& fault : faults) mustHold(!fault.detail.empty(), "a fault says what it is");
  if (!faults.empty()) return;
  mustHold(JsonDoc::parse(job.data).has_value(), "the data of a job is JSON");
  const std::string placement = writePlacement(job.placement);
  mustHold(placement.empty() || JsonDoc::parse(placement).has_value(), "a placement is JSON");
  mustHold(writePlacement(parsePlacement(placement)) == placement,
           "a placement is read as it was written");
  overridden(RetryPolicy{}, job.retry);
}

template <class Read>
void readAndCheck(Read read) {
  Faults faults;
  read(faults);
  mustHold(faults.size() <= kMostFaults, "the faults of a request are bounded");
  for (const FieldError& fault : faults) mustHold(!fault.detail.empty(), "a fault says what it is");
}

const FuzzTarget kJson("json", [](std::string_view bytes) {
  const auto doc = JsonDoc::parse(bytes);
  if (!doc) {
    mustHold(!doc.error().detail.empty(), "what is no JSON has a reason");
    return;
  }
  const JsonValue root = doc->root();
  mustHold(JsonDoc::parse(root.raw()).has_value(), "a value stands for itself");
  const std::string written = writtenAgain(bytes, "what was read is JSON");
  mustHold(writtenAgain(written, "what was written is JSON") == written, "writing is stable");

  checkFuzzedJob(root);
  readAndCheck([&](Faults& faults) { readComplete(root, faults); });
  readAndCheck([&](Faults& faults) { readFail(root, faults); });
  readAndCheck([&](Faults& faults) { readBulkItem(root, "/items/0", faults); });
  readAndCheck([&](Faults& faults) { readClaim(root, "", faults); });
  readAndCheck([&](Faults& faults) {
    readTrigger(
        root, "", "t", [](const std::string&) { return TimeZone::utc(); }, faults);
  });
  readAndCheck([&](Faults& faults) { readPoolSettings(root, faults); });
  readAndCheck([&](Faults& faults) { readRegistration(root, faults); });
  readAndCheck([&](Faults& faults) { readWorkerChange(root, faults); });
  readAndCheck([&](Faults& faults) { readHeartbeat(root, faults); });
});

}  // namespace
}  // namespace muster::test
