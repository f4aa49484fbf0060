#include "controllers/hook_controller.h"

#include <algorithm>
#include <map>
#include <set>

#include "controllers/caller.h"
#include "models/json/json_writer.h"

namespace muster {

namespace {

// The sender has proved what the trigger asks for; what it may do stands there.
Principal everything() {
  static const auto kGrants = std::make_shared<const Grants>(Grants{{Scope::kProduce}});
  return {"", kGrants};
}

}  // namespace

// A hook's message on its way to an answer.
struct HookController::Delivery {
  ReadyTriggerPtr hook;
  HookReading reading;
  bool waits = false;  // for the decision
  // Set by the unit of work, where there is one.
  std::string run_id;
  bool duplicate = false;
  std::set<PoolId> pools;  // to look at
};

void HookController::addRoutes(Router& router) {
  router.add("POST", "/v1/hooks/{name}", std::nullopt,
             {.answer = [this](const RequestPtr& request, Respond respond) {
               receive(request, std::move(respond));
             }});
  router.add("OPTIONS", "/v1/hooks/{name}", std::nullopt,
             {.answer = [this](const RequestPtr& request, const Respond& respond) {
               shakeHands(request, respond);
             }});
}

Result<ReadyTriggerPtr> HookController::hookOf(const Request& request) const {
  auto name = request.pathId("name");
  if (!name) return tl::unexpected(std::move(name).error());
  auto hook = parts_.registry.find(*name);
  const bool is_hook = hook && hook->trigger.spec.type == TriggerType::kWebhook;
  if (is_hook && hook->trigger.spec.enabled) return hook;
  return fail(ErrorCode::kNotFound, "there is no hook '" + *name + "'");
}

// The abuse protection of CloudEvents: a sender asks whether it may send before it does.
void HookController::shakeHands(const RequestPtr& request, const Respond& respond) const {
  const auto hook = hookOf(*request);
  if (!hook) return respond(tl::unexpected(hook.error()));
  Reply reply{200, "", ""};
  reply.with("Allow", "POST, OPTIONS");
  const std::string& origin = request->header("webhook-request-origin");
  if (!origin.empty()) {
    // It goes back in a header of its own, which nothing may end before its end.
    const auto is_visible = [](char c) { return c > 0x20 && c < 0x7f; };
    if (origin.size() > 255 || !std::all_of(origin.begin(), origin.end(), is_visible)) {
      const std::string what = "must be 1 to 255 visible ASCII characters";
      return respond(tl::unexpected(Error{ErrorCode::kInvalidHeader,
                                          "WebHook-Request-Origin " + what,
                                          {{"WebHook-Request-Origin", "format", what}}}));
    }
    reply.with("WebHook-Allowed-Origin", origin);
    const std::string& rate = request->header("webhook-request-rate");
    const bool is_rate = !rate.empty() && rate.size() <= 9 &&
                         rate.find_first_not_of("0123456789") == std::string::npos;
    reply.with("WebHook-Allowed-Rate", is_rate ? rate : "*");
  }
  respond(std::move(reply));
}

Result<Principal> HookController::admit(const Request& request, const TriggerSpec& spec) {
  if (spec.auth.type != TriggerAuth::Type::kNone) {
    const auto fault = signatureFault(
        spec.auth, [&request](const std::string& name) { return request.header(name); },
        request.body(), parts_.clock.now(), parts_.variable);
    if (!fault) return everything();
    noteRejected(spec.name, *fault);
    return fail(ErrorCode::kUnauthorized, *fault);
  }
  if (parts_.access.hasTokens()) {
    const auto principal = callerOf(request, parts_.access);
    if (!principal) {
      noteRejected(spec.name, "no valid token");
      return tl::unexpected(principal.error());
    }
    if (principal->maySomewhere(Scope::kProduce)) return *principal;
    return fail(ErrorCode::kForbidden, "the token lacks the scope 'produce'");
  }
  if (request.raw->peerAddr().isLoopbackIp()) return everything();
  noteRejected(spec.name, "not from this machine");
  return fail(
      ErrorCode::kUnauthorized,
      "a hook without auth takes calls from its own machine only; give the trigger an auth");
}

void HookController::noteRejected(const std::string& name, const std::string& why) {
  parts_.metrics.countHook(name, "rejected");
  {
    const std::lock_guard lock(mutex_);
    if (rejections_.take(parts_.clock.monotonic())) return;  // strangers must not fill the log
  }
  parts_.log.warn("hook rejected", {{"trigger", name}, {"detail", why}});
  parts_.storage.note(
      [name, why](Store& store) { store.triggers().rejected(name, why); },
      [this](const Status& status) {
        if (status) return;
        parts_.log.error("rejected hook not noted", {{"detail", status.error().detail}});
      });
}

void HookController::receive(const RequestPtr& request, Respond respond) {
  if (parts_.gateway.stopping()) {
    return respond(
        tl::unexpected(Error{ErrorCode::kDraining, "the service is stopping", {}, Seconds(5)}));
  }
  auto hook = hookOf(*request);
  if (!hook) return respond(tl::unexpected(std::move(hook).error()));
  const TriggerSpec& spec = (*hook)->trigger.spec;
  auto sender = admit(*request, spec);
  if (!sender) {
    const auto ok = parts_.limits.countRefusal(request->address());
    return respond(tl::unexpected(ok ? std::move(sender).error() : ok.error()));
  }
  if (auto ok = parts_.limits.admitRequest(sender->name, request->rate); !ok) {
    return respond(tl::unexpected(ok.error()));
  }

  QueryReader query(*request);
  const PoolId pool(query.id("pool_id"));
  const double wait = query.number("wait_seconds", 0, 30).value_or(0);
  if (auto ok = query.finish(); !ok) return respond(tl::unexpected(ok.error()));
  auto reading =
      readHook(spec.input, {[&request](const std::string& name) { return request->header(name); },
                            request->body(), pool, signsBody(spec.auth.type)});
  if (!reading) return respond(tl::unexpected(std::move(reading).error()));
  for (const HookEvent& event : reading->events) {
    if (sender->mayIn(Scope::kProduce, event.pool.str())) continue;
    return respond(
        fail(ErrorCode::kForbidden, "the token has the scope 'produce' for other pools only"));
  }
  if (!reading->confirm_url.empty()) {
    parts_.log.warn("hook asks for a confirmation: open this address to subscribe",
                    {{"trigger", spec.name}, {"url", reading->confirm_url.substr(0, 2048)}});
  }
  auto delivery = std::make_shared<Delivery>();
  delivery->hook = *std::move(hook);
  delivery->reading = *std::move(reading);
  delivery->waits = wait > 0;
  if (mustBeStored(*delivery)) return store(delivery, std::move(respond));
  delivery->run_id = parts_.dispatch.newRun();
  for (const HookEvent& event : delivery->reading.events) delivery->pools.insert(event.pool);
  if (!delivery->pools.empty()) {
    start(*delivery);
    parts_.dispatch.note(spec.name, delivery->run_id, onlyPool(*delivery));
  }
  finish(delivery, respond);
}

// A mere call to look is worth no wait for the disk: were it lost, the next tick would look too.
bool HookController::mustBeStored(const Delivery& delivery) {
  if (delivery.waits) return !delivery.reading.events.empty();
  return std::any_of(delivery.reading.events.begin(), delivery.reading.events.end(),
                     [](const HookEvent& event) { return event.job || !event.delivery.empty(); });
}

std::string HookController::onlyPool(const Delivery& delivery) {
  return delivery.pools.size() == 1 ? delivery.pools.begin()->str() : "";
}

void HookController::store(const DeliveryPtr& delivery, Respond respond) {
  auto outcome = std::make_shared<Status>();
  parts_.storage.write(
      [this, delivery, outcome](Store& store) {
        *outcome = deliver(store, *delivery);
        if (*outcome) store.session.afterCommit([this, delivery] { start(*delivery); });
      },
      [this, delivery, outcome, respond = std::move(respond)](const Status& status) {
        if (!status) return respond(tl::unexpected(status.error()));
        if (!*outcome) return respond(tl::unexpected(outcome->error()));
        finish(delivery, respond);
      },
      &currentLoop());
}

Status HookController::deliver(Store& store, Delivery& delivery) {
  std::map<PoolId, std::shared_ptr<const Pool>> pools;  // found before anything is written
  for (const HookEvent& event : delivery.reading.events) {
    if (!event.job || pools.contains(event.pool)) continue;
    auto pool = store.pools().findOrCreate(event.pool);
    if (!pool) return tl::unexpected(std::move(pool).error());
    pools[event.pool] = *std::move(pool);
  }
  const std::string& name = delivery.hook->trigger.spec.name;
  Triggers triggers = store.triggers();
  const std::string new_run = triggers.newRun();
  std::optional<std::string> first_run;
  delivery.pools.clear();
  for (const HookEvent& event : delivery.reading.events) {
    if (!event.delivery.empty()) {
      if (auto run = triggers.deliver(name, event.delivery, new_run)) {
        if (!first_run) first_run = std::move(run);
        continue;
      }
    }
    if (event.job) store.jobs().push(*pools[event.pool], *event.job);
    delivery.pools.insert(event.pool);
  }
  delivery.duplicate = delivery.pools.empty();
  delivery.run_id = delivery.duplicate ? *first_run : new_run;
  if (!delivery.duplicate) triggers.fired(name, new_run, onlyPool(delivery));
  return {};
}

// Whoever waits for the decision gets that of a check of his own.
PoolId HookController::awaitedPool(const Delivery& delivery) {
  const TriggerSpec& spec = delivery.hook->trigger.spec;
  const bool waits =
      delivery.waits && delivery.pools.size() == 1 && spec.machine == machine::kChecker;
  if (!waits) return {};
  return spec.input.pool.empty() ? *delivery.pools.begin() : spec.input.pool;
}

void HookController::start(const Delivery& delivery) const {
  if (!awaitedPool(delivery).empty()) return;
  for (const PoolId& pool : delivery.pools) {
    parts_.dispatch.start(delivery.hook->trigger.spec, pool, delivery.run_id);
  }
}

void HookController::finish(const DeliveryPtr& delivery, const Respond& respond) const {
  const TriggerSpec& spec = delivery->hook->trigger.spec;
  const PoolId pool = awaitedPool(*delivery);
  const bool ignored = delivery->reading.events.empty();
  parts_.metrics.countHook(spec.name, ignored               ? "ignored"
                                      : delivery->duplicate ? "duplicate"
                                                            : "accepted");
  const auto answer = [delivery, ignored, respond](const std::string& decision) {
    JsonWriter out;
    out.beginObject().field("run_id", delivery->run_id);
    if (delivery->duplicate) out.field("duplicate", true);
    if (ignored) out.field("ignored", true).field("reason", delivery->reading.ignored);
    if (!decision.empty()) out.key("decision").raw(decision);
    out.endObject();
    respond(Reply::json(202, std::move(out)));
  };
  if (pool.empty()) {
    answer("");
  } else {
    parts_.decide(pool, spec.name, answer);
  }
}

}  // namespace muster
