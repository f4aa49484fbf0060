#include "triggers/hook_payload.h"

#include <algorithm>
#include <map>
#include <string>

#include "models/json/json_doc.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::test {
namespace {

// Lines "name:value" up to an empty line, then the body. A name that begins with a dot is of the
// trigger or the query, every other one a header.
const FuzzTarget kHookPayload("hook_payload", [](std::string_view bytes) {
  std::map<std::string, std::string, std::less<>> lines;
  while (!bytes.empty()) {
    const std::string_view line = takeLine(bytes);
    if (line.empty()) break;
    const std::size_t colon = std::min(line.find(':'), line.size());
    lines.emplace(line.substr(0, colon), line.substr(std::min(colon + 1, line.size())));
  }
  const auto valueOf = [&lines](std::string_view name) {
    const auto found = lines.find(name);
    return found == lines.end() ? std::string() : found->second;
  };
  TriggerInput input;
  if (lines.contains(".job")) input.job_from = valueOf(".job");
  if (lines.contains(".pool")) input.pool_from = valueOf(".pool");
  if (lines.contains(".event")) input.events = {valueOf(".event")};

  const auto reading =
      readHook(input, {valueOf, bytes, PoolId(valueOf(".query")), lines.contains(".signed")});
  if (!reading) {
    mustHold(!reading.error().detail.empty(), "a refusal has a reason");
    return;
  }
  mustHold(!reading->events.empty() || !reading->ignored.empty(), "what is ignored has a reason");
  for (const HookEvent& event : reading->events) {
    mustHold(event.delivery.size() <= 300, "the id of a delivery is bounded");
    mustHold(
        event.pool.empty() || event.pool.str() == valueOf(".query") || isValidId(event.pool.str()),
        "a pool that a message names has a right name");
    if (!event.job) continue;
    mustHold(!event.pool.empty(), "a job has a pool");
    mustHold(JsonDoc::parse(event.job->data).has_value(), "the data of a job is JSON");
  }
});

}  // namespace
}  // namespace muster::test
