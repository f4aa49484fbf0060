#include "models/trigger_spec.h"

#include <algorithm>
#include <array>

#include "models/policy/wake_rules.h"

namespace muster {
namespace {

constexpr std::array<std::string_view, 5> kTypes = {"cron", "webhook", "subprocess", "in_loop",
                                                    "lambda"};
constexpr std::array<std::string_view, 4> kAuthTypes = {"none", "standard", "hmac_sha256", "token"};

constexpr std::array kWorkerExited = {event_type::kWorkerExited, event_type::kWorkerTerminated,
                                      event_type::kWorkerLost};

template <class Array>
bool contains(const Array& array, std::string_view text) {
  return std::find(array.begin(), array.end(), text) != array.end();
}

template <class Enum, class Array>
std::optional<Enum> parse(const Array& names, std::string_view text) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

}  // namespace

std::string_view name(TriggerType type) { return kTypes[static_cast<std::size_t>(type)]; }
std::optional<TriggerType> parseTriggerType(std::string_view text) {
  return parse<TriggerType>(kTypes, text);
}

std::string_view name(TriggerAuth::Type type) { return kAuthTypes[static_cast<std::size_t>(type)]; }
std::optional<TriggerAuth::Type> parseAuthType(std::string_view text) {
  return parse<TriggerAuth::Type>(kAuthTypes, text);
}

std::string eventTypeOf(std::string_view on) {
  std::string type(on);
  if (on.find('.') == std::string_view::npos) {
    if (const auto first = type.find('_'); first != std::string::npos) type[first] = '.';
  }
  return type;
}

bool setsOff(const Event& event, std::string_view on) {
  if (on == kOnWorkAdded) return mayBringWork(event);
  if (on == kOnWorkerExited) return contains(kWorkerExited, event.type);
  return eventTypeOf(on) == event.type;
}

bool isKnownOn(std::string_view on) {
  if (on == kOnWorkAdded || on == kOnWorkerExited) return true;
  const std::string type = eventTypeOf(on);
  return contains(event_type::kAll, type) && !type.starts_with("trigger.");
}

std::vector<TriggerSpec> defaultTriggers() {
  std::vector<TriggerSpec> triggers(2);
  triggers[0].name = "check_on_work_added";
  triggers[0].on = kOnWorkAdded;
  triggers[1].name = "check_on_worker_exited";
  triggers[1].on = kOnWorkerExited;
  for (TriggerSpec& trigger : triggers) trigger.machine = machine::kChecker;
  return triggers;
}

TriggerSpec workAddedHook() {
  TriggerSpec hook;
  hook.name = kOnWorkAdded;
  hook.type = TriggerType::kWebhook;
  hook.machine = machine::kChecker;
  return hook;
}

}  // namespace muster
