#include "app/leadership/elector.h"

#include <algorithm>
#include <future>
#include <memory>

namespace muster {
namespace {

using Nanos = std::chrono::nanoseconds;

constexpr auto kLongestGoodbye = Seconds(3);

// A call whose answer is waited for, but not for ever. It may come when nobody waits any more.
template <class Call>
void callAndWait(const Call& call) {
  const auto answered = std::make_shared<std::promise<void>>();
  const auto future = answered->get_future();
  call([answered](const Status&) { answered->set_value(); });
  future.wait_for(kLongestGoodbye);
}

}  // namespace

Elector::Elector(Ballot& ballot, Options options, const Clock& clock, const Log& log)
    : ballot_(ballot), options_(options), clock_(clock), log_(log) {}

Elector::~Elector() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void Elector::begin() {
  thread_ = std::jthread([this] { loop(); });
}

std::optional<LeaderLease> Elector::lease() const {
  const std::lock_guard lock(mutex_);
  if (!held_ || clock_.monotonic() >= relied_on_until_) return std::nullopt;
  return held_;
}

std::string Elector::leaderUrl() const {
  const std::lock_guard lock(mutex_);
  return leader_url_;
}

void Elector::wake() {
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void Elector::tryNow() {
  const std::lock_guard lock(mutex_);
  if (held_) return;
  next_ask_ = Nanos(0);
  try_again_ = asking_;
  changed_.notify_all();
}

// The caller holds mutex_. From here on lease() says no; everything else comes after.
std::optional<LeaderLease> Elector::standDown(const char* why) {
  auto lease = std::exchange(held_, std::nullopt);
  if (lease) {
    log_.warn("leads no more", {{"epoch", std::to_string(lease->epoch)}, {"reason", why}});
    leader_url_.clear();
    changed_.notify_all();
  }
  return lease;
}

void Elector::resign(std::function<void(Status)> done) {
  std::optional<LeaderLease> lease;
  {
    const std::lock_guard lock(mutex_);
    if (held_ && clock_.monotonic() < relied_on_until_) lease = standDown("resigned");
    if (lease) next_ask_ = clock_.monotonic() + options_.lease;
  }
  if (lease) {
    ballot_.resign(*lease, std::move(done));
  } else {
    done(tl::unexpected(notLeader(leaderUrl())));
  }
}

void Elector::retire() {
  std::optional<LeaderLease> lease;
  {
    const std::lock_guard lock(mutex_);
    retired_ = true;
    lease = standDown("stopping");
  }
  if (lease)
    callAndWait([&](Ballot::Answer<void> answer) { ballot_.resign(*lease, std::move(answer)); });
}

void Elector::stop() {
  retire();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (!thread_.joinable()) return;  // it never joined
  thread_.join();
  callAndWait([this](Ballot::Answer<void> answer) { ballot_.leave(std::move(answer)); });
}

// Won or kept when it could no longer be relied on: others need not wait until it runs out.
void Elector::giveBack(const LeaderLease& lease) {
  ballot_.resign(lease, [](const Status&) {});
}

// An outage is told of once.
void Elector::hear(const char* doing, const Error* fault) {
  if (fault != nullptr && !troubled_) log_.warn(doing, {{"detail", fault->detail}});
  if (fault == nullptr && troubled_) log_.info("the store answers again");
  troubled_ = fault != nullptr;
}

void Elector::know(const std::optional<Leader>& leader) {
  leader_url_ = leader ? leader->url : std::string();
}

void Elector::asked(Nanos since, const Result<Ballot::Standing>& answer) {
  std::optional<LeaderLease> too_late;
  {
    const std::lock_guard lock(mutex_);
    const Nanos now = clock_.monotonic();
    asking_ = false;
    next_ask_ = now + options_.renew;
    if (answer && answer->won) {
      const Nanos until = reliedOnUntil(since, options_.lease);
      if (retired_ || now >= until) {
        too_late = answer->won;
      } else {
        held_ = answer->won;
        relied_on_until_ = until;
        next_ask_ = since + options_.renew;
        know(answer->leader);
        log_.info("leads", {{"epoch", std::to_string(held_->epoch)}});
      }
    } else if (answer) {
      know(answer->leader);
      // Whoever leads may not renew: be there when the lease runs out.
      if (answer->leader) next_ask_ = std::min(next_ask_, now + Nanos(answer->left) + Millis(1));
      if (std::exchange(try_again_, false)) next_ask_ = now;
    }
    hear("could not try to lead", answer ? nullptr : &answer.error());
    changed_.notify_all();
  }
  if (too_late) giveBack(*too_late);
}

void Elector::renewed(Nanos since, const LeaderLease& held, const Result<bool>& answer) {
  bool too_late = false;
  {
    const std::lock_guard lock(mutex_);
    const Nanos now = clock_.monotonic();
    asking_ = false;
    if (held_ != held || now >= relied_on_until_) {
      too_late = answer && *answer;
      if (held_ == held) {
        standDown("the lease was not renewed in time");
        next_ask_ = now;
      }
    } else if (answer && !*answer) {
      standDown("the lease is another's");
      next_ask_ = now;
    } else if (answer) {
      relied_on_until_ = std::max(relied_on_until_, reliedOnUntil(since, options_.lease));
      next_ask_ = since + options_.renew;
    } else {
      // As long as the lease lasts there may be another chance, and soon.
      next_ask_ = now + options_.renew / 4;
    }
    hear("could not renew the lease", answer ? nullptr : &answer.error());
    changed_.notify_all();
  }
  if (too_late) giveBack(held);
}

void Elector::beaten(const Result<std::optional<Leader>>& answer) {
  const std::lock_guard lock(mutex_);
  beating_ = false;
  next_beat_ = clock_.monotonic() + options_.heartbeat;
  if (answer) {
    joined_ = true;
    if (!held_) know(*answer);
  } else {
    next_beat_ = clock_.monotonic() + std::min(options_.heartbeat, options_.renew / 4);
  }
  hear("heartbeat failed", answer ? nullptr : &answer.error());
  changed_.notify_all();
}

ElectorView Elector::view() const {
  ElectorView view;
  view.may_lead = mayLead(options_.role) && joined_ && !retired_;
  view.leads = held_.has_value();
  view.asking = asking_;
  view.beating = beating_;
  view.now = clock_.monotonic();
  view.relied_on_until = relied_on_until_;
  view.next_ask = next_ask_;
  view.next_beat = next_beat_;
  return view;
}

// Calls the store without holding the lock: its answer may come on this thread.
void Elector::ask(std::unique_lock<std::mutex>& lock, ElectorStep step) {
  const Nanos since = clock_.monotonic();
  if (step == ElectorStep::kBeat) {
    beating_ = true;
    lock.unlock();
    ballot_.beat([this](const Result<std::optional<Leader>>& answer) { beaten(answer); });
  } else if (step == ElectorStep::kRenew) {
    asking_ = true;
    const LeaderLease held = *held_;
    lock.unlock();
    ballot_.renew(
        held, [this, since, held](const Result<bool>& answer) { renewed(since, held, answer); });
  } else {
    asking_ = true;
    lock.unlock();
    ballot_.campaign(
        [this, since](const Result<Ballot::Standing>& answer) { asked(since, answer); });
  }
  lock.lock();
}

void Elector::loop() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const ElectorView now = view();
    const ElectorPlan plan = planElection(now);
    if (plan.step == ElectorStep::kStandDown) {
      standDown("the lease was not renewed in time");
      next_ask_ = now.now;
    } else if (plan.step != ElectorStep::kWait) {
      ask(lock, plan.step);
    } else if (plan.until) {
      changed_.wait_for(lock, *plan.until - now.now);
    } else {
      changed_.wait(lock);
    }
  }
}

}  // namespace muster
