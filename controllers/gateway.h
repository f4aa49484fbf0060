#pragma once

#include <drogon/HttpResponse.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "app/log/log.h"
#include "app/log/log_throttle.h"
#include "app/metrics/metrics.h"
#include "controllers/access.h"
#include "controllers/buffer_budget.h"
#include "controllers/head_check.h"
#include "controllers/rate_limits.h"
#include "controllers/router.h"
#include "models/clock.h"
#include "models/store/storage.h"

namespace muster {

// Where continuations of a request run: the event loop its connection lives on.
Executor& currentLoop();

// Whether it is a change that the audit keeps, if it succeeds.
bool isAudited(const Request& request);

// Every request passes here: identified, checked against host, origin, token and limits, routed,
// run in the store, answered, counted. Called on the event loops; never blocks.
class Gateway {
 public:
  using Callback = std::function<void(const drogon::HttpResponsePtr&)>;

  struct Parts {
    const Router& router;
    const Access& access;
    RateLimits& limits;
    Storage& storage;
    Metrics& metrics;
    const Log& log;
    const Clock& clock;
    const HeadCheck& head_check;
    BufferBudget& buffers;
    // Whether this node takes writes; empty: it always does.
    std::function<Status()> admit_write = {};
  };
  explicit Gateway(Parts parts);

  void handle(const drogon::HttpRequestPtr& raw, Callback callback);

  // Runs the work and responds; under an Idempotency-Key a repeated request gets the first answer.
  // A token for some pools, or of a worker, is looked at first where only the store can tell.
  void write(const RequestPtr& request, Work unguarded, Respond respond,
             Isolation isolation = Isolation::kAlone, Wish wish = {});
  void read(const RequestPtr& request, Work unguarded, Respond respond);

  // From now on only workers and readers are answered, and others refused with `draining`.
  void admitWorkersOnly() { admits_ = Admits::kWorkers; }
  // From now on everybody is refused.
  void drain() { admits_ = Admits::kNobody; }
  // Whether the service is about to stop, and whether nobody is to be kept waiting any more.
  bool stopping() const { return admits_ != Admits::kAll; }
  bool draining() const { return admits_ == Admits::kNobody; }
  std::int64_t inFlight() const { return in_flight_; }

 private:
  enum class Admits { kAll, kWorkers, kNobody };
  struct Exchange;
  using ExchangePtr = std::shared_ptr<Exchange>;
  void findRoute(Exchange& exchange) const;
  Status admit(Exchange& exchange);
  static Status admitScope(const Request& request, Scope scope);
  Status admitBody(Exchange& exchange, CallerKind caller);
  Status admitWrite(const Exchange& exchange) const;
  static Work guarded(const RequestPtr& request, Work work);
  void dispatch(const ExchangePtr& exchange);
  void answer(const ExchangePtr& exchange, Outcome outcome);
  void send(const ExchangePtr& exchange, Reply reply);
  drogon::HttpResponsePtr render(const Exchange& exchange, Reply reply,
                                 drogon::HttpResponsePtr response) const;
  std::string requestId(const std::string& given);
  void logFailure(const Request& request, std::string_view code, std::string_view detail);

  const Parts parts_;
  const std::string id_prefix_;
  LogThrottle failure_lines_;
  std::atomic<std::uint64_t> last_id_ = 0;
  std::atomic<std::int64_t> in_flight_ = 0;
  std::atomic<Admits> admits_ = Admits::kAll;
};

}  // namespace muster
