#include "tests/store/flow_fixture.h"

#include <algorithm>
#include <sstream>

#include "tests/store/flow_recount.h"

namespace muster::test {
namespace {

constexpr int kMostUnits = 200'000;  // more means that settling goes in a circle

EventFilter ofType(const std::string& type) {
  EventFilter filter;
  filter.types = {type};
  return filter;
}

}  // namespace

std::vector<NewFlowJob> flowJobs(const std::string& line) {
  std::vector<NewFlowJob> jobs;
  std::istringstream parts(line);
  for (std::string part; std::getline(parts, part, ';');) {
    std::istringstream words(part);
    NewFlowJob job;
    job.job.data = "1";
    job.pool = PoolId("p");
    EdgeCondition when = EdgeCondition::kAfter;
    std::map<EdgeCondition, std::size_t> places;
    std::string word;
    if (!(words >> job.name)) continue;
    if (job.name.ends_with('?')) {
      job.name.pop_back();
      job.may_fail = true;
    }
    while (words >> word) {
      if (word == "after") {
        when = EdgeCondition::kAfter;
      } else if (word == "failure") {
        when = EdgeCondition::kAfterFailure;
      } else if (word == "any") {
        when = EdgeCondition::kAfterAny;
      } else if (word.starts_with('@')) {
        job.pool = PoolId(word.substr(1));
      } else {
        job.edges.push_back({word, when, places[when]++});
      }
    }
    jobs.push_back(std::move(job));
  }
  return jobs;
}

void FlowTest::TearDown() {
  settle();
  expectNoCounterFaults();
  StoreTest::TearDown();
}

void FlowTest::expectNoCounterFaults() {
  for (const std::string& fault : read([](Store& s) { return flowCounterFaults(s); })) {
    ADD_FAILURE() << fault;
  }
}

void FlowTest::remember(const std::string& prefix, const FlowJobsAdded& added) {
  for (const FlowJobAdded& job : added.jobs) {
    const std::string name = prefix + job.name;
    const auto known = ids_.find(name);
    if (known != ids_.end() && known->second == job.id) continue;
    ids_[name] = job.id;
    held_.erase(name);  // of another flow
    std::erase(added_, name);
    added_.push_back(name);
  }
}

FlowJobsAdded FlowTest::start(const std::string& line, CreateFlow options) {
  options.jobs = flowJobs(line);
  return start(std::move(options));
}

FlowJobsAdded FlowTest::start(CreateFlow flow) {
  auto made = tryStart(flow);
  if (!made) throw std::runtime_error("no flow: " + made.error().detail);
  flow_ = made->flow.id;
  added_.clear();
  remember("", *made);
  return *std::move(made);
}

Result<FlowJobsAdded> FlowTest::tryStart(const CreateFlow& flow) {
  return write([&](Store& s) { return run(flow, s); });
}

Result<FlowJobsAdded> FlowTest::add(const std::string& line) { return add(flowJobs(line)); }

Result<FlowJobsAdded> FlowTest::add(std::vector<NewFlowJob> jobs) {
  const AddFlowJobs op{flow_, std::move(jobs)};
  auto added = write([&](Store& s) { return run(op, s); });
  if (added) remember("", *added);
  return added;
}

Result<FlowJobsAdded> FlowTest::addChildren(const std::string& parent, const std::string& line) {
  AddChildren op;
  op.jobs = flowJobs(line);
  return addChildren(parent, std::move(op));
}

Result<FlowJobsAdded> FlowTest::addChildren(const std::string& parent, AddChildren op) {
  if (!held_.contains(parent)) take(parent);
  op.parent = held(parent).id;
  if (op.lease_token.empty()) op.lease_token = held(parent).lease_token;
  auto added = write([&](Store& s) { return run(op, s); });
  if (added) remember(parent + "/", *added);
  return added;
}

Result<Flow> FlowTest::close() {
  return write([&](Store& s) { return run(CloseFlow{flow_}, s); });
}

Result<Flow> FlowTest::cancelFlow(const std::string& reason) {
  return write([&](Store& s) { return run(CancelFlow{flow_, reason}, s); });
}

Result<RetryFlow::Reply> FlowTest::retryFlow(std::optional<Names> jobs,
                                             std::optional<Millis> deadline) {
  RetryFlow op{flow_, {}, deadline};
  if (jobs) {
    op.jobs.emplace();
    for (const std::string& job : *jobs) op.jobs->push_back(id(job));
  }
  return write([&](Store& s) { return run(op, s); });
}

Status FlowTest::removeFlow() {
  return write([&](Store& s) { return run(DeleteFlow{flow_}, s); });
}

std::int64_t FlowTest::endOverdue() {
  return write([](Store& s) { return run(EndOverdueFlows{}, s); }).value();
}

SettleFlows::Reply FlowTest::settleOnce(int most) {
  const auto step = write([&](Store& s) { return run(SettleFlows{most}, s); }).value();
  EXPECT_LE(step.settled, most);
  return step;
}

int FlowTest::settle(int most) {
  for (int units = 1; units < kMostUnits; ++units) {
    if (!settleOnce(most).more) {
      EXPECT_FALSE(unsettled()) << "it said there is no more";
      return units;
    }
  }
  ADD_FAILURE() << "settling comes to no end";
  return kMostUnits;
}

bool FlowTest::unsettled() {
  return read([](Store& s) { return run(HasUnsettledFlows{}, s); }).value();
}

Job FlowTest::take(const std::string& name, const std::string& worker) {
  const PoolId pool = find(name).pool;
  auto taken = share([&](Store& s) {
    const auto claimer = s.workers().claimer(WorkerId(worker)).value();
    return s.jobs().claimOne(*s.pools().find(pool), worker, claimer.traits, id(name));
  });
  if (!taken) throw std::runtime_error(name + " cannot be claimed: " + taken.error().detail);
  return held_[name] = *std::move(taken);
}

Job FlowTest::letGo(const std::string& name) {
  if (!held_.contains(name)) take(name);
  return held_.extract(name).mapped();
}

void FlowTest::done(const std::string& name, std::optional<std::string> result) {
  complete(letGo(name), std::move(result)).value();
}

void FlowTest::poison(const std::string& name, const std::string& error) {
  auto report = failure(error);
  report.retryable = false;
  fail(letGo(name), report).value();
}

void FlowTest::stop(const std::string& name) {
  FailureReport report;
  report.cancelled = true;
  fail(letGo(name), report).value();
}

void FlowTest::giveBack(const std::string& name) { release(letGo(name)).value(); }

void FlowTest::cancel(const std::string& name, const std::string& reason) {
  write([&](Store& s) { return s.jobs().cancel(id(name), reason); }).value();
}

Result<Job> FlowTest::retry(const std::string& name) {
  return write([&](Store& s) { return s.jobs().retry(id(name)); });
}

void FlowTest::removePool(const std::string& pool) {
  write([&](Store& s) { purgePool(s, pool); });
}

void FlowTest::purgePool(Store& store, const std::string& pool) {
  const BulkFilter all{.statuses = {JobStatus::kBlocked, JobStatus::kPending, JobStatus::kClaimed,
                                    JobStatus::kDone, JobStatus::kPoisoned, JobStatus::kCancelled}};
  while (store.jobs().purgeMany(PoolId(pool), all, {}, 1000, 1'000'000, true).next) {
  }
  const Status removed = store.pools().remove(PoolId(pool));
  EXPECT_TRUE(removed) << removed.error().detail;
}

std::string FlowTest::state(const std::string& name) {
  const auto found = read([&](Store& s) { return s.jobs().find(id(name)); });
  if (!found) return "gone";
  std::string text(muster::name(found->status));
  if (found->status == JobStatus::kCancelled) text += ":" + found->reason;
  return text;
}

std::string FlowTest::states() {
  std::string all;
  for (const std::string& name : added_) {
    all += (all.empty() ? "" : " ") + name + "=" + state(name);
  }
  return all;
}

FlowShown FlowTest::shown() {
  return read([&](Store& s) { return run(FindFlow{flow_}, s); }).value();
}

std::string FlowTest::flowState() {
  const Flow seen = flow();
  return std::string(muster::name(seen.status)) + (seen.reason.empty() ? "" : ":" + seen.reason);
}

std::string FlowTest::nameOf(const JobId& wanted) const {
  for (const auto& [name, id] : ids_) {
    if (id == wanted) return name;
  }
  return wanted.str();
}

Names FlowTest::claimable() {
  Names names;
  const Status undone = storage->writeAndWait([&](Store& s) {
    names.clear();
    const auto pool = s.pools().find(PoolId("p"));
    for (const Job& job : s.jobs().claim(*pool, "w", {}, 10'000)) names.push_back(nameOf(job.id));
    throw std::runtime_error("undo it all");
  });
  EXPECT_FALSE(undone);
  return names;
}

std::vector<Event> FlowTest::flowEvents(std::int64_t after) {
  auto events = eventsAfter(after);
  std::erase_if(events, [](const Event& event) { return !event.type.starts_with("flow."); });
  return events;
}

std::int64_t FlowTest::count(const std::string& type, std::int64_t after) {
  return static_cast<std::int64_t>(eventsAfter(after, ofType(type)).size());
}

}  // namespace muster::test
