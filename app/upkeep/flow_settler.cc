#include "app/upkeep/flow_settler.h"

#include <memory>
#include <string>
#include <utility>

namespace muster {
namespace {

// What the unit returned is part of its outcome.
Status outcomeOf(const Status& status, const auto& reply) {
  if (!status) return status;
  if (!reply) return tl::unexpected(reply.error());
  return {};
}

}  // namespace

void FlowSettler::request() {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    requested_ = true;
    if (std::exchange(settling_, true)) return;
  }
  settleOn();
}

void FlowSettler::look() {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_ || settling_ || std::exchange(looking_, true)) return;
  }
  const auto found = std::make_shared<Result<bool>>(false);
  storage_.read([found](Store& store) { *found = run(HasUnsettledFlows{}, store); },
                [this, found](const Status& status) {
                  {
                    const std::lock_guard lock(mutex_);
                    looking_ = false;
                  }
                  if (auto read = outcomeOf(status, *found); !read) return failed(read.error());
                  if (**found) request();
                });
}

void FlowSettler::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
}

void FlowSettler::settleOn() {
  {
    const std::lock_guard lock(mutex_);
    requested_ = false;
  }
  const auto reply = std::make_shared<Result<SettleFlows::Reply>>();
  storage_.note([reply](Store& store) { *reply = run(SettleFlows{}, store); },
                [this, reply](const Status& status) {
                  const Status outcome = outcomeOf(status, *reply);
                  done(outcome, outcome && (*reply)->more);
                });
}

void FlowSettler::done(const Status& status, bool more) {
  bool goes_on = false;
  {
    const std::lock_guard lock(mutex_);
    goes_on = status && (more || requested_) && !stopped_;
    settling_ = goes_on;
  }
  if (!status) failed(status.error());
  if (goes_on) settleOn();
}

void FlowSettler::failed(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
  }
  const auto left_out = errors_.pass();
  if (!left_out) return;
  log_.error(
      "flows were not settled; the next tick tries again",
      {{"detail", error.detail}, {"left_out", *left_out > 0 ? std::to_string(*left_out) : ""}});
}

}  // namespace muster
