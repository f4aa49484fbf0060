#include "controllers/trigger_controller.h"

#include <algorithm>

#include "models/json/json_reader.h"
#include "models/json/trigger_json.h"

namespace muster {
namespace {

Error noTrigger(const std::string& name) {
  return {ErrorCode::kNotFound, "there is no trigger '" + name + "'"};
}

}  // namespace

void TriggerController::addRoutes(Router& router) {
  const auto method = [this](auto member) {
    return [this, member](const Request& request) { return (this->*member)(request); };
  };
  const auto later = [this](auto member) {
    return [this, member](const RequestPtr& request, Respond respond) {
      (this->*member)(request, std::move(respond));
    };
  };
  using C = TriggerController;
  const std::string trigger = "/v1/triggers/{name}";
  router.add("GET", "/v1/triggers", Scope::kRead, {.read = method(&C::list)});
  router.add("GET", trigger, Scope::kRead, {.read = method(&C::get)});
  router.add("PUT", trigger, Scope::kAdmin, {.answer = later(&C::put)});
  router.add("DELETE", trigger, Scope::kAdmin, {.answer = later(&C::remove)});
  router.add("POST", trigger + "/fire", Scope::kAdmin, {.answer = later(&C::fire)});
}

void TriggerController::write(JsonWriter& out, Trigger trigger) const {
  const auto noted = dispatch_.lastFired(trigger.spec.name);
  trigger.last_fired_at = std::max(trigger.last_fired_at, noted);
  std::optional<Time> next;
  if (trigger.spec.enabled && !trigger.spec.schedule.empty()) {
    const auto schedule =
        CronSchedule::parse(trigger.spec.schedule, trigger.spec.timezone, registry_.zones());
    if (schedule) next = schedule->next(trigger.due_from);
  }
  writeTrigger(out, trigger, next);
}

Result<Work> TriggerController::list(const Request& request) {
  QueryReader query(request);
  const auto limit = static_cast<std::size_t>(query.limit());
  const std::string cursor = query.id("cursor");
  if (auto ok = query.finish(); !ok) return tl::unexpected(std::move(ok).error());
  return [this, limit, cursor](Store& store) -> Outcome {
    auto triggers = store.triggers().all();
    std::erase_if(triggers, [&](const Trigger& trigger) { return trigger.spec.name <= cursor; });
    const std::size_t shown = std::min(triggers.size(), limit);
    JsonWriter out;
    out.beginObject().key("items").beginArray();
    for (std::size_t i = 0; i < shown; ++i) write(out, triggers[i]);
    out.endArray();
    if (shown < triggers.size()) out.field("next_cursor", triggers[shown - 1].spec.name);
    out.endObject();
    return Reply::json(200, std::move(out));
  };
}

Result<Work> TriggerController::get(const Request& request) {
  auto name = request.pathId("name");
  if (!name) return tl::unexpected(std::move(name).error());
  return [this, name = *std::move(name)](Store& store) -> Outcome {
    auto trigger = store.triggers().find(name);
    if (!trigger) return tl::unexpected(noTrigger(name));
    JsonWriter out;
    const std::int64_t version = trigger->version;
    write(out, *std::move(trigger));
    Reply reply = Reply::json(200, std::move(out));
    reply.with("ETag", etag(version));
    return reply;
  };
}

void TriggerController::change(const RequestPtr& request, Work work, Respond respond) {
  struct After {
    std::vector<Trigger> triggers;
    std::uint64_t stamp = 0;
  };
  auto after = std::make_shared<After>();
  gateway_.write(
      request,
      [this, after, work = std::move(work)](Store& store) -> Outcome {
        auto outcome = work(store);
        if (outcome) *after = {store.triggers().all(), registry_.stamp()};
        return outcome;
      },
      [this, after, respond = std::move(respond)](Outcome outcome) {
        if (outcome && after->stamp > 0) {
          registry_.replace(std::move(after->triggers), after->stamp);
        }
        respond(std::move(outcome));
      });
}

void TriggerController::put(const RequestPtr& request, Respond respond) {
  auto name = request->pathId("name");
  if (!name) return respond(tl::unexpected(std::move(name).error()));
  auto version = request->ifMatch();
  if (!version) return respond(tl::unexpected(std::move(version).error()));
  const auto body = parseBody(*request);
  if (!body) return respond(tl::unexpected(body.error()));
  std::vector<FieldError> faults;
  TriggerSpec spec = readTrigger(body->root(), "", *name, registry_.zones(), faults);
  if (spec.input.allow_private) {
    faults.push_back(
        {"/input/allow_private", "not_allowed",
         "can only be set in the configuration; or add the host to webhook_allow there"});
  }
  if (auto ok = checkFaults(std::move(faults)); !ok) return respond(tl::unexpected(ok.error()));
  change(
      request,
      [this, spec = std::move(spec), version = *version](Store& store) -> Outcome {
        auto saved = store.triggers().put(spec, version);
        if (!saved) return tl::unexpected(std::move(saved).error());
        JsonWriter out;
        const std::int64_t now_at = saved->trigger.version;
        write(out, std::move(saved->trigger));
        Reply reply = Reply::json(saved->created ? 201 : 200, std::move(out));
        reply.with("ETag", etag(now_at));
        return reply;
      },
      std::move(respond));
}

void TriggerController::remove(const RequestPtr& request, Respond respond) {
  auto name = request->pathId("name");
  if (!name) return respond(tl::unexpected(std::move(name).error()));
  auto version = request->ifMatch();
  if (!version) return respond(tl::unexpected(std::move(version).error()));
  change(
      request,
      [name = *std::move(name), version = *version](Store& store) -> Outcome {
        if (auto ok = store.triggers().remove(name, version); !ok) {
          return tl::unexpected(std::move(ok).error());
        }
        return Reply{204, "", ""};
      },
      std::move(respond));
}

void TriggerController::fire(const RequestPtr& request, Respond respond) {
  auto name = request->pathId("name");
  if (!name) return respond(tl::unexpected(std::move(name).error()));
  const auto body = parseBody(*request, true);
  if (!body) return respond(tl::unexpected(body.error()));
  std::vector<FieldError> faults;
  ObjectReader in(body->root(), "", faults);
  const PoolId pool(in.id("pool_id").value_or(""));
  in.finish();
  if (auto ok = checkFaults(std::move(faults)); !ok) return respond(tl::unexpected(ok.error()));
  struct Fired {
    TriggerSpec spec;
    std::string run_id;  // empty: this request did not fire it
  };
  auto fired = std::make_shared<Fired>();
  gateway_.write(
      request,
      [name = *std::move(name), pool, fired](Store& store) -> Outcome {
        const auto trigger = store.triggers().find(name);
        if (!trigger) return tl::unexpected(noTrigger(name));
        if (!trigger->spec.enabled) {
          return fail(ErrorCode::kTriggerDisabled, "the trigger '" + name + "' is disabled");
        }
        *fired = {trigger->spec, store.triggers().newRun()};
        const PoolId& own = trigger->spec.input.pool;
        store.triggers().fired(name, fired->run_id, own.empty() ? pool.str() : own.str());
        JsonWriter out;
        out.beginObject().field("run_id", fired->run_id).endObject();
        return Reply::json(202, std::move(out));
      },
      [this, pool, fired, respond = std::move(respond)](Outcome outcome) {
        if (outcome && !fired->run_id.empty()) dispatch_.start(fired->spec, pool, fired->run_id);
        respond(std::move(outcome));
      });
}

}  // namespace muster
