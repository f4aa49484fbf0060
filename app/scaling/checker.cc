#include "app/scaling/checker.h"

#include <algorithm>
#include <cmath>

#include "models/json/decision_json.h"
#include "models/json/json_writer.h"
#include "models/store/sql/placing.h"

namespace muster {
namespace {

constexpr auto kCoalesceWindow =
    std::chrono::milliseconds(30);  // requests in it are served together
// The same after a worker has ended: its place is free, and such requests cannot become many.
constexpr auto kShortMoment = std::chrono::milliseconds(5);
constexpr auto kRateWait = std::chrono::milliseconds(100);
constexpr int kPoolsAtOnce = 200;
// Names that no pool has: all pools, and those in which every node has its own part.
constexpr const char* kAll = "";
constexpr const char* kHosts = "*";

std::string scaledDetails(const Decision& decision) {
  JsonWriter out;
  out.beginObject().field("direction", decision.direction).field("launched", decision.launched);
  out.field("desired_workers", decision.desired_workers).field("reason", decision.reason);
  out.endObject();
  return out.take();
}

}  // namespace

std::int64_t LaunchRate::available(std::chrono::nanoseconds now) {
  const std::lock_guard lock(mutex_);
  if (last_.count() > 0 && now > last_) {
    tokens_ = std::min(rate_, tokens_ + std::chrono::duration<double>(now - last_).count() * rate_);
  }
  last_ = now;
  return std::max<std::int64_t>(static_cast<std::int64_t>(std::floor(tokens_)), 0);
}

void LaunchRate::spend(std::int64_t count) {
  const std::lock_guard lock(mutex_);
  tokens_ -= static_cast<double>(count);
}

Checker::Checker(Storage& storage, Launch launch, Options options, const Clock& clock,
                 const Log& log)
    : storage_(storage),
      launch_(std::move(launch)),
      options_(std::move(options)),
      clock_(clock),
      log_(log),
      rate_(options_.launch_rate) {
  thread_ = std::jthread([this] { loop(); });
}

Checker::~Checker() { stop(); }

void Checker::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void Checker::request(const PoolId& pool, const std::string& trigger,
                      std::optional<std::int64_t> max_workers) {
  ask(pool.str(), {trigger, max_workers}, clock_.monotonic());
}

void Checker::requestAllAsLeader(const std::string& trigger) {
  ask(kAll, {.trigger = trigger, .as_leader = true}, clock_.monotonic());
}

void Checker::requestIfBound(const PoolId& pool, const std::string& trigger) {
  ask(pool.str(), {.trigger = trigger, .if_bound = true}, clock_.monotonic());
}

void Checker::requestAllOfHosts(const std::string& trigger) {
  ask(kHosts, {.trigger = trigger}, clock_.monotonic());
}

void Checker::ask(const std::string& pool, Request request, std::chrono::nanoseconds at) {
  const std::lock_guard lock(mutex_);
  Slot& slot = slots_[pool];
  at = std::max(at, slot.last + (slot.has_free_place ? kShortMoment : kCoalesceWindow));
  if (slot.due) {
    // Served together: whoever sets no bound has none set for him.
    const auto& bound = slot.asked.max_workers;
    if (bound && (!request.max_workers || *bound < *request.max_workers)) {
      slot.asked.max_workers = request.max_workers;
    }
    slot.asked.as_leader = slot.asked.as_leader && request.as_leader;
    if (slot.asked.if_bound && !request.if_bound) slot.asked.trigger = request.trigger;
    slot.asked.if_bound = slot.asked.if_bound && request.if_bound;
    if (*slot.due <= at) return;
    slot.asked.trigger = std::move(request.trigger);
  } else {
    slot.asked = std::move(request);
  }
  slot.due = at;
  changed_.notify_all();
}

void Checker::hear(std::span<const Event> events) {
  std::vector<std::string> pools;
  {
    const std::lock_guard lock(mutex_);
    for (const Event& event : events) {
      const bool claimed = event.type == event_type::kJobClaimed;
      if (!claimed && event.type != event_type::kWorkerExited) continue;
      const auto slot = slots_.find(event.pool);
      if (slot == slots_.end()) continue;
      if (!claimed) slot->second.has_free_place = true;
      if (claimed && slot->second.held_back) pools.push_back(event.pool);
    }
  }
  for (const std::string& pool : pools) request(PoolId(pool), "launch_proven");
}

Checker::Decided Checker::decide(Store& store, const Pool& pool, const std::string& trigger,
                                 std::optional<std::int64_t> max_workers) {
  auto scaling = store.scaling();
  const ScaleState state = scaling.state(pool);
  ScaleLimits limits = scaling.limits(pool, state);
  limits.launch_tokens = rate_.available(clock_.monotonic());
  ScaleConfig config = scaling.config(pool);
  if (max_workers) config.max_workers = std::min(config.max_workers, *max_workers);
  ScaleDecision scale = decideScale(state, limits, config);

  Decision decision = describeDecision(state, limits, config, scale);
  decision.pool = pool.id;
  decision.at = store.now();
  decision.trigger = trigger;
  return {std::move(decision), std::move(scale)};
}

Result<Decision> Checker::preview(Store& store, const PoolId& id,
                                  std::optional<std::int64_t> max_workers) {
  const auto pool = store.pools().find(id);
  if (!pool) return fail(ErrorCode::kNotFound, "there is no pool '" + id.str() + "'");
  return decide(store, *pool, "preview", max_workers).decision;
}

Result<Decision> Checker::Run::perform(Store& store) {
  checker_.rate_.spend(-std::exchange(spent_, 0));  // of a run that was rolled back
  orders_.clear();
  decision_.reset();
  if (lease_ && !store.cluster().holds(*lease_)) return tl::unexpected(notLeader(""));
  const auto pool = store.pools().find(pool_);
  if (!pool) return fail(ErrorCode::kNotFound, "there is no pool '" + pool_.str() + "'");
  const auto& write_load = checker_.options_.write_load;
  if (write_load && pool->settings.scaling_mode == "adaptive") write_load(store);
  auto [decision, scale] = checker_.decide(store, *pool, trigger_, max_workers_);
  auto launches = store.launches();
  for (std::int64_t i = 0; i < decision.to_launch; ++i) {
    orders_.push_back(launches.order(*pool, checker_.options_.start_timeout));
  }
  // Not after the disk has it: whoever is launched would end with the same power cut.
  store.session.afterCommit([this] {
    for (const LaunchOrder& order : orders_) checker_.launch_(order);
  });
  spent_ = decision.launched = decision.to_launch;
  checker_.rate_.spend(spent_);
  store.scaling().apply(*pool, scale);
  if (lease_ && lease_->epoch > 0) decision.leader_epoch = lease_->epoch;
  store.decisions().add(decision);
  if (decision.direction != "hold") {
    Event event;
    event.type = event_type::kPoolScaled;
    event.pool = pool_.str();
    event.details = scaledDetails(decision);
    store.session.emit(std::move(event));
  }
  decision_ = decision;
  // Reckoned from the store's now: its clock may be another than ours.
  again_in_.reset();
  const auto again = [this](Millis wait, const char* trigger) {
    if (again_in_ && *again_in_ <= wait) return;
    again_in_ = wait;
    again_for_ = trigger;
  };
  const auto due = store.jobs().nextDue(pool_);
  const auto probe = store.circuits().nextProbe(*pool);
  if (probe && *probe > store.now()) {  // nothing is given out before
    again(*probe - store.now(), "circuit_probe");
  } else if (due && *due > store.now()) {  // else it is counted already
    again(*due - store.now(), "job_due");
  }
  if (decision.binding_limit == binding_limit::kBreaker) {
    const auto retry_at = launches.record(*pool).retry_at;
    if (retry_at) again(*retry_at - store.now(), "launch_retry");
  }
  if (pool->settings.scaling_mode == "adaptive" &&
      (decision.direction != "hold" || decision.binding_limit == binding_limit::kCooldown)) {
    again(Millis(*pool->settings.scale_decision_interval_ms), "cooldown");
  }
  return decision;
}

void Checker::Run::finish(bool committed) {
  if (!committed || !decision_) {
    checker_.rate_.spend(-spent_);
    return;
  }
  const auto now = checker_.clock_.monotonic();
  if (checker_.options_.on_check) checker_.options_.on_check(*decision_, now - began_);
  const bool breaker = decision_->binding_limit == binding_limit::kBreaker;
  {
    const std::lock_guard lock(checker_.mutex_);
    checker_.slots_[pool_.str()].held_back = breaker;
  }
  if (decision_->binding_limit == binding_limit::kLaunchRate) {
    checker_.ask(pool_.str(), {"launch_rate"}, now + kRateWait);
  } else if (again_in_) {
    const Millis wait = std::max(*again_in_, Millis(0));
    checker_.ask(pool_.str(), {again_for_}, now + wait + Millis(1));
  }
}

// A pool that launches nobody is not worth a decision each time a job comes.
void Checker::checkNow(const std::string& pool, const Request& asked) {
  const auto lease = asked.as_leader ? options_.lease() : std::nullopt;
  if (asked.as_leader && !lease) return done(pool, false);
  const auto run = begin(PoolId(pool), asked.trigger, asked.max_workers, lease);
  const auto launches = std::make_shared<bool>(true);
  storage_.note(
      [run, launches, pool](Store& store) {
        const auto found = store.pools().find(PoolId(pool));
        *launches = found && found->settings.template_name;
        if (*launches) *launches = run->perform(store).has_value();
      },
      [this, pool, run, launches](const Status& status) {
        run->finish(status && *launches);
        if (!status) {
          log_.error("check failed", {{"pool", pool}, {"detail", status.error().detail}});
        }
        done(pool, !*launches);
      });
}

void Checker::look(const std::string& pool, const Request& asked) {
  struct Seen {
    bool launches = false;
    bool needed = false;
  };
  const auto seen = std::make_shared<Seen>();
  storage_.read(
      [this, seen, pool, asked](Store& store) {
        *seen = {};
        const auto found = store.pools().find(PoolId(pool));
        seen->launches = found && found->settings.template_name;
        if (!seen->launches || !hasJobsBoundHere(store.session, *found)) return;
        seen->needed =
            decide(store, *found, asked.trigger, asked.max_workers).decision.to_launch > 0;
      },
      [this, seen, pool, asked](const Status& status) {
        if (!status) {
          log_.error("look failed", {{"pool", pool}, {"detail", status.error().detail}});
        } else if (seen->needed) {
          ask(pool, {asked.trigger}, clock_.monotonic());
        }
        done(pool, status && !seen->launches);
      });
}

void Checker::done(const std::string& pool, bool forget) {
  const std::lock_guard lock(mutex_);
  Slot& slot = slots_[pool];
  slot.running = false;
  if (forget && !slot.due) slots_.erase(pool);
  changed_.notify_all();
}

// Every pool of the group that has a template, a page at a time.
void Checker::expand(const std::string& group, const Request& asked) {
  auto pools = std::make_shared<std::map<std::string, Request>>();
  storage_.read(
      [pools, asked, of_hosts = group == kHosts](Store& store) {
        pools->clear();
        std::string after;
        for (;;) {
          const auto page = store.pools().list(after, kPoolsAtOnce);
          for (const auto& pool : page) {
            if (!pool->settings.template_name) continue;
            Request request = asked;
            request.if_bound = of_hosts && *pool->settings.max_workers_per_host == 0;
            if (request.if_bound && !hasJobsBoundHere(store.session, *pool)) continue;
            pools->emplace(pool->id.str(), std::move(request));
          }
          if (page.size() < kPoolsAtOnce) return;
          after = page.back()->id.str();
        }
      },
      [this, pools, group](const Status&) {
        for (const auto& [pool, request] : *pools) ask(pool, request, clock_.monotonic());
        done(group, false);
      });
}

void Checker::loop() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const auto now = clock_.monotonic();
    std::optional<std::chrono::nanoseconds> next;
    for (auto& [pool, slot] : slots_) {
      if (!slot.due || slot.running) continue;
      if (*slot.due > now) {
        next = next ? std::min(*next, *slot.due) : *slot.due;
        continue;
      }
      slot.due.reset();
      slot.running = true;
      slot.has_free_place = false;
      slot.last = now;
      const std::string name = pool;
      const Request asked = slot.asked;
      lock.unlock();
      if (name == kAll || name == kHosts) {
        expand(name, asked);
      } else if (asked.if_bound) {
        look(name, asked);
      } else {
        checkNow(name, asked);
      }
      lock.lock();
      next = now;  // the map may have changed: look again
      break;
    }
    if (stopping_) return;
    if (next && *next <= clock_.monotonic()) continue;
    if (next) {
      changed_.wait_for(lock, *next - now);
    } else {
      changed_.wait(lock);
    }
  }
}

}  // namespace muster
