#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "models/clock.h"
#include "models/store/storage.h"
#include "tests/store/backend.h"

namespace muster {

inline void PrintTo(JobStatus status, std::ostream* out) { *out << name(status); }
inline void PrintTo(ErrorCode code, std::ostream* out) { *out << describe(code).name; }
template <class Tag>
void PrintTo(const Id<Tag>& id, std::ostream* out) {
  *out << id.str();
}

}  // namespace muster

namespace muster::test {

using namespace std::chrono_literals;
using Names = std::vector<std::string>;

// A store on the backend of the test, on a clock that stands still, with retries that are not
// jittered. After every test the counters must equal a recount.
class StoreTest : public testing::TestWithParam<Backend> {
 protected:
  StoreTest();
  void TearDown() override;

  // Stops the storage and opens the same place again, with `rules`.
  void reopen();

  // Runs `work` in one unit and gives what it returned. Throws when the unit fails.
  template <class Work>
  auto write(Work work) {
    return wait([this](const auto& unit) { return storage->writeAndWait(unit); }, work);
  }
  // The same beside others: what the service does so is done so here too.
  template <class Work>
  auto share(Work work) {
    return wait(
        [this](const auto& unit) { return storage->writeAndWait(unit, Isolation::kShared); }, work);
  }
  template <class Work>
  auto read(Work work) {
    return wait([this](const auto& unit) { return storage->readAndWait(unit); }, work);
  }

  // The verbs of the suite; each is one unit of work, in the pool `p` unless another is named.
  void setPool(const PoolSettings& settings, const std::string& pool = "p");
  Job push(const NewJob& job = {.data = "1"}, const std::string& pool = "p");
  Jobs::Pushed tryPush(const NewJob& job, const std::string& pool = "p");
  // As the claim request does it: with the traits of the registered worker, if it is one.
  std::vector<Job> claim(int max = 1, const std::string& worker = "w",
                         const std::string& pool = "p");
  Result<Job> claimOne(const JobId& id, const std::string& worker = "w");
  Job pushAndClaim(const NewJob& job = {.data = "1"}, const std::string& worker = "w");
  Result<Job> complete(const Job& job, std::optional<std::string> result = {});
  Result<Job> fail(const Job& job, const FailureReport& report = {});
  Result<Job> release(const Job& job);
  Job job(const JobId& id);
  std::vector<Attempt> attempts(const JobId& id);
  // Removes all jobs with these statuses.
  std::int64_t purge(const std::vector<JobStatus>& statuses, const std::string& pool = "p");
  Worker registerWorker(const NewWorker& worker);
  PoolStats stats(const std::string& pool = "p");

  std::int64_t lastEvent();
  std::vector<Event> eventsAfter(std::int64_t seq, const EventFilter& filter = {});
  Names eventTypesAfter(std::int64_t seq, const EventFilter& filter = {});

  // Every job of the pool, newest first, over all pages.
  std::vector<Job> allJobs(const std::string& pool = "p", const JobFilter& filter = {});
  void expectCountersEqualARecount();

  FakeClock clock;
  StoreRules rules;
  std::unique_ptr<Place> place = GetParam().make();
  std::unique_ptr<Storage> storage;

 private:
  template <class Run, class Work>
  auto wait(const Run& run, Work& work) {
    using Answer = std::invoke_result_t<Work&, Store&>;
    if constexpr (std::is_void_v<Answer>) {
      require(run([&work](Store& store) { work(store); }));
    } else {
      std::optional<Answer> answer;
      require(run([&work, &answer](Store& store) { answer.emplace(work(store)); }));
      return *std::move(answer);
    }
  }
  static void require(const Status& status);
};

Names idsOf(const std::vector<Job>& jobs);
// A T with some of its fields set: with<PoolSettings>([](auto& s) { s.paused = true; }).
template <class T, class Change>
T with(Change change) {
  T made;
  change(made);
  return made;
}
NewWorker newWorker(const std::string& id, const std::string& host = "",
                    const Names& capabilities = {}, const std::string& pool = "p");
FailureReport failure(const std::string& error);
std::optional<ErrorCode> codeOf(const Status& status);
template <class T>
std::optional<ErrorCode> codeOf(const Result<T>& result) {
  return result ? std::nullopt : std::optional(result.error().code);
}

}  // namespace muster::test
