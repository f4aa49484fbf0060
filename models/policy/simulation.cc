#include "models/policy/simulation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <list>
#include <utility>

#include "models/durations.h"
#include "models/policy/heap.h"

namespace muster {
namespace {

// As the checker and the tick have them.
constexpr Millis kMoment{30};
constexpr Millis kShortMoment{5};
constexpr Millis kRateWait{100};
constexpr Millis kTick = Seconds(5);
constexpr Time kNever = Time::max();

struct Worker;
using Workers = std::list<Worker>;
using WorkerPlace = Workers::iterator;  // good in whatever list the worker is

struct Worker {
  Time launched_at;
  Workers* home;             // the list it is in
  std::int64_t running = 0;  // jobs it has
  std::int64_t taken = 0;    // jobs it ever had
  std::int64_t free = 0;     // jobs it could take now
  Time free_since = {};
  Time last_taken_at = {};
  bool has_finished = false;  // a job
  bool is_draining = false;
};

// Something that comes at a time; of several at the same time, in the order they were foreseen.
template <class T>
struct Timed {
  Time at;
  std::int64_t number;
  T what;
};
struct Sooner {
  template <class T>
  bool operator()(const Timed<T>& a, const Timed<T>& b) const {
    return a.at != b.at ? a.at < b.at : a.number < b.number;
  }
};
template <class T>
using Agenda = Heap<Timed<T>, Sooner>;

// A job in a worker's hands.
struct Running {
  WorkerPlace worker;
  Millis wait;
  Millis run;
  RecordedJob job;
};

struct ClaimedFirst {
  bool operator()(const RecordedJob& a, const RecordedJob& b) const {
    return a.priority != b.priority ? a.priority > b.priority : a.order < b.order;
  }
};

// The latencies of the last five minutes, in slices that are forgotten as a whole.
class RecentLatencies {
 public:
  void add(Time now, Millis latency) {
    move(now);
    slices_[static_cast<std::size_t>(slice_ % kSlices)].add(latency);
    all_.add(latency);
  }
  // Looked up once a second, however many checks there are.
  double p95(Time now) {
    if (now < fresh_until_) return p95_;
    move(now);
    fresh_until_ = now + Seconds(1);
    return p95_ = all_.percentileMs(0.95);
  }

 private:
  static constexpr std::int64_t kSlices = 30;
  static constexpr Millis kSlice = Seconds(10);

  void move(Time now) {
    const std::int64_t current = toMillis(now) / kSlice.count();
    slice_ = std::max(slice_, current - kSlices);  // those before are all forgotten
    for (; slice_ < current;) {
      auto& oldest = slices_[static_cast<std::size_t>(++slice_ % kSlices)];
      if (oldest.count() == 0) continue;
      all_.subtract(oldest);
      oldest = {};
    }
  }

  std::array<Durations, kSlices> slices_;
  Durations all_;
  std::int64_t slice_ = 0;
  double p95_ = 0;
  Time fresh_until_{};
};

// What may be launched at a rate; a second's worth may be saved up.
class LaunchTokens {
 public:
  explicit LaunchTokens(double rate) : rate_(rate), tokens_(rate) {}
  std::int64_t available(Time now) {
    if (last_ && now > *last_) {
      const double seconds = std::chrono::duration<double>(now - *last_).count();
      tokens_ = std::min(rate_, tokens_ + seconds * rate_);
    }
    last_ = now;
    return static_cast<std::int64_t>(std::floor(tokens_));
  }
  void spend(std::int64_t count) { tokens_ -= static_cast<double>(count); }

 private:
  double rate_;
  double tokens_;
  std::optional<Time> last_;
};

class Simulation {
 public:
  Simulation(const NextJob& next, const SimulationRules& rules)
      : next_(next),
        rules_(rules),
        slots_(std::max<std::int64_t>(rules.config.slots, 1)),
        tokens_(rules.launch_rate) {
    if (rules_.config.adaptive) latencies_.emplace();
  }

  SimulationOutcome run() {
    pull();
    if (!rules_.from && !coming_) return outcome_;
    now_ = rules_.from ? *rules_.from : coming_->at;
    outcome_.from = now_;
    end_ = std::max(rules_.to, now_);
    next_tick_ = now_ + kTick;
    requestCheck(now_);
    constexpr std::int64_t kAskEach = 1024;
    for (std::int64_t round = 0;; ++round) {
      if (rules_.stopped && round % kAskEach == 0 && rules_.stopped()) break;
      const Time then = nextTime();
      const Time last = isServed() ? std::max(now_, end_) : end_ + kLongestTail;
      if (then > last) {
        now_ = last;
        break;
      }
      now_ = then;
      step();
    }
    conclude();
    return outcome_;
  }

 private:
  void pull() {
    coming_ = next_();
    if (coming_) ++outcome_.jobs;
  }

  // Every job that came has been served, and no more will come.
  bool isServed() const {
    return !coming_ && waiting_.empty() && retries_.empty() && running_.empty();
  }

  Time nextTime() const {
    Time then = std::min(next_tick_, next_check_);
    if (coming_) then = std::min(then, coming_->at);
    if (!retries_.empty()) then = std::min(then, retries_.top().at);
    if (!boots_.empty()) then = std::min(then, boots_.top().at);
    if (!running_.empty()) then = std::min(then, running_.top().at);
    if (rules_.idle_timeout > Millis(0) && !idle_.empty()) {
      then = std::min(then, idle_.front().free_since + rules_.idle_timeout);
    }
    return std::max(then, now_);
  }

  // All that happens at this time. What it leads to at the same time is the next step.
  void step() {
    while (!running_.empty() && running_.top().at <= now_) endTry(running_.pop().what);
    while (!retries_.empty() && retries_.top().at <= now_) arrive(retries_.pop().what);
    while (coming_ && coming_->at <= now_) {
      arrive(*std::exchange(coming_, std::nullopt));
      pull();
    }
    while (!boots_.empty() && boots_.top().at <= now_) settle(boots_.pop().what);
    handOut();
    dismissIdle();
    if (next_tick_ <= now_) {
      next_tick_ += kTick;
      requestCheck(now_);
    }
    if (next_check_ <= now_) check();
  }

  void arrive(RecordedJob job) {
    job.at = now_;  // a clock may have been set back
    waiting_.push(std::move(job));
    requestCheck(now_);
  }

  void handOut() {
    while (!waiting_.empty()) {
      const auto longer = [](const Workers& a, const Workers& b) {
        return b.empty() || (!a.empty() && a.front().free_since <= b.front().free_since);
      };
      Workers& from = longer(idle_, partly_) ? idle_ : partly_;
      if (from.empty()) return;
      take(from.begin());
    }
  }

  void take(WorkerPlace worker) {
    Running begun{worker, Millis(0), Millis(0), waiting_.pop()};
    begun.wait = now_ - begun.job.at;
    begun.run = begun.job.run ? *begun.job.run : runs_.percentile(0.5);
    noteWait(begun.wait);
    ++outcome_.tries;
    ++worker->running;
    ++worker->taken;
    worker->last_taken_at = now_;
    settle(worker);
    const Time until = now_ + begun.run;
    running_.push({until, ++number_, std::move(begun)});
  }

  void endTry(Running ended) {
    if (ended.job.run) runs_.add(ended.run);
    if (latencies_) latencies_->add(now_, latencyOf(ended));
    outcome_.figures.finished_at = now_;
    ended.worker->has_finished = true;
    --ended.worker->running;
    settle(ended.worker);
    RecordedJob& job = ended.job;
    if (job.retries.empty()) return;
    const RecordedJob::Retry next = job.retries.front();
    job.retries.erase(job.retries.begin());
    job.run = next.run;
    const Time again = now_ + next.after;
    retries_.push({again, ++number_, std::move(job)});
  }

  Millis latencyOf(const Running& ended) const {
    if (rules_.latency == LatencySignal::kWait) return ended.wait;
    return rules_.latency == LatencySignal::kRun ? ended.run : ended.wait + ended.run;
  }

  bool mayTakeMore(const Worker& worker) const {
    if (worker.is_draining) return false;
    if (!rules_.config.loop) return !worker.has_finished;
    return rules_.worker_max_jobs == 0 || worker.taken < rules_.worker_max_jobs;
  }

  // Puts a worker where it belongs now; one that has nothing to do any more leaves.
  void settle(WorkerPlace worker) {
    const bool takes_more = mayTakeMore(*worker);
    if (!takes_more && worker->running == 0) return leave(worker);
    const std::int64_t free = takes_more ? std::max<std::int64_t>(slots_ - worker->running, 0) : 0;
    Workers& home = worker->is_draining   ? draining_
                    : free == 0           ? full_
                    : worker->running > 0 ? partly_
                                          : idle_;
    free_slots_ += free - std::exchange(worker->free, free);
    worker->free_since = now_;
    Workers& before = *std::exchange(worker->home, &home);
    home.splice(home.end(), before, worker);
  }

  void leave(WorkerPlace worker) {
    free_slots_ -= worker->free;
    outcome_.figures.worker_time += now_ - worker->launched_at;
    if (worker->taken == 0) ++outcome_.figures.wasted_starts;
    worker->home->erase(worker);
    has_free_place_ = true;
    requestCheck(now_);
  }

  // Once-workers that found no job go at once, loop workers when they have waited long enough.
  void dismissIdle() {
    const bool waits = rules_.config.loop;
    if (waits && rules_.idle_timeout == Millis(0)) return;
    const Millis patience = waits ? rules_.idle_timeout : Millis(0);
    while (!idle_.empty() && idle_.front().free_since + patience <= now_) leave(idle_.begin());
  }

  void requestCheck(Time at) {
    if (last_check_) at = std::max(at, *last_check_ + (has_free_place_ ? kShortMoment : kMoment));
    next_check_ = std::min(next_check_, at);
  }

  ScaleState state() {
    ScaleState state;
    state.runnable = size(waiting_);
    state.pending = state.runnable + size(retries_);
    state.claimed = size(running_);
    state.free_slots = free_slots_;
    state.starting = size(starting_);
    state.busy = size(partly_) + size(full_);
    state.idle = state.drainable = size(idle_);
    state.terminating = size(draining_);
    memory_.recallInto(state, now_);
    if (latencies_) state.p95_latency_ms = latencies_->p95(now_);
    state.scheduled_floor = scheduledFloor();
    return state;
  }

  std::int64_t scheduledFloor() {
    if (!rules_.scheduled_floor) return 0;
    const auto minute = std::chrono::floor<std::chrono::minutes>(now_);
    if (!floor_minute_ || *floor_minute_ != minute) {
      floor_minute_ = minute;
      floor_ = rules_.scheduled_floor(now_);
    }
    return floor_;
  }

  std::int64_t there() const {
    return size(starting_) + size(idle_) + size(partly_) + size(full_) + size(draining_);
  }

  void check() {
    next_check_ = kNever;
    last_check_ = now_;
    has_free_place_ = false;
    ++outcome_.checks;
    ScaleLimits limits;
    limits.launch_tokens = tokens_.available(now_);
    if (rules_.host_slots) limits.host_slots = *rules_.host_slots - there();
    const ScaleDecision decision = decideScale(state(), limits, rules_.config);
    memory_.note(decision, rules_.config, now_);
    if (decision.to_launch > 0) launch(decision.to_launch);
    if (decision.to_drain > 0) drain(decision.to_drain, decision.drains_busy);
    if (decision.binding_limit == binding_limit::kLaunchRate) requestCheck(now_ + kRateWait);
  }

  void launch(std::int64_t count) {
    tokens_.spend(count);
    outcome_.figures.launches += count;
    for (; count > 0; --count) {
      starting_.push_back({now_, &starting_});
      const Time up = now_ + nextBootTime();
      boots_.push({up, ++number_, std::prev(starting_.end())});
    }
    outcome_.figures.peak_workers = std::max(outcome_.figures.peak_workers, there());
  }

  Millis nextBootTime() {
    if (rules_.boot_times.empty()) return Millis(0);
    return rules_.boot_times[boot_++ % rules_.boot_times.size()];
  }

  // Idle ones first, the longest idle before the others, then those with the youngest job.
  void drain(std::int64_t count, bool busy_too) {
    for (; count > 0 && !idle_.empty(); --count) leave(idle_.begin());
    for (; count > 0 && busy_too; --count) {
      std::optional<WorkerPlace> youngest;
      for (Workers* list : {&partly_, &full_}) {
        for (auto worker = list->begin(); worker != list->end(); ++worker) {
          if (!youngest || worker->last_taken_at > (*youngest)->last_taken_at) youngest = worker;
        }
      }
      if (!youngest) return;
      (*youngest)->is_draining = true;
      settle(*youngest);
    }
  }

  void noteWait(Millis wait) {
    waits_.add(wait);
    outcome_.figures.max_wait = std::max(outcome_.figures.max_wait, wait);
  }

  // Counts what is still there.
  void conclude() {
    LoadFigures& figures = outcome_.figures;
    for (const Workers* list : {&starting_, &idle_, &partly_, &full_, &draining_}) {
      for (const Worker& worker : *list) figures.worker_time += now_ - worker.launched_at;
    }
    figures.unfinished = size(waiting_) + size(retries_) + size(running_);
    while (!waiting_.empty()) noteWait(now_ - waiting_.pop().at);
    for (; coming_; pull()) ++figures.unfinished;
    figures.p50_wait = std::min(waits_.percentile(0.5), figures.max_wait);
    figures.p95_wait = std::min(waits_.percentile(0.95), figures.max_wait);
  }

  template <class Container>
  static std::int64_t size(const Container& container) {
    return static_cast<std::int64_t>(container.size());
  }

  const NextJob& next_;
  const SimulationRules& rules_;
  const std::int64_t slots_;
  SimulationOutcome outcome_;
  Time now_{};
  Time end_{};

  std::optional<RecordedJob> coming_;        // the next to arrive
  Heap<RecordedJob, ClaimedFirst> waiting_;  // may run now
  Agenda<RecordedJob> retries_;              // may run later
  Agenda<Running> running_;                  // by their end
  Agenda<WorkerPlace> boots_;                // by when they will have started
  Workers starting_, idle_, partly_, full_, draining_;
  std::int64_t free_slots_ = 0;  // of those in idle_ and partly_
  std::int64_t number_ = 0;
  std::size_t boot_ = 0;

  Time next_tick_{};
  Time next_check_ = kNever;
  std::optional<Time> last_check_;
  bool has_free_place_ = false;  // a worker has left since the last check
  LaunchTokens tokens_;
  ScaleMemory memory_;
  std::optional<RecentLatencies> latencies_;
  std::optional<std::chrono::sys_time<std::chrono::minutes>> floor_minute_;
  std::int64_t floor_ = 0;
  Durations waits_;
  Durations runs_;
};

}  // namespace

SimulationOutcome simulate(const NextJob& next, const SimulationRules& rules) {
  return Simulation(next, rules).run();
}

}  // namespace muster
