#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/flow.h"
#include "models/policy/verdict.h"
#include "models/result.h"
#include "models/store/sql/foresight.h"
#include "models/store/sql/session.h"

namespace muster {

// What is left to do for a flow; the numbers are those of flows.todo.
enum class FlowTodo { kNothing = 0, kEnd = 1, kCancel = 2, kRetry = 3, kRemove = 4 };

// A flow as the store keeps it.
struct FlowRow {
  std::int64_t seq = 0;
  Flow flow;
  std::string cause;  // cancel, deadline, fail_fast; empty: it is not cancelled
  std::string pools;  // of its jobs, separated by spaces
  LevelCounts top;
  FlowTodo todo = FlowTodo::kNothing;
  std::int64_t todo_after = 0;

  std::vector<std::string> poolList() const;
};

inline tl::unexpected<Error> noFlow(const FlowId& id) {
  return fail(ErrorCode::kNotFound, "there is no flow '" + id.str() + "'");
}

// Reads flows, and what of a flow belongs to a job.
class FlowRows {
 public:
  explicit FlowRows(Session& session) : s_(session) {}

  // Those that are being removed are not there any more.
  std::optional<FlowRow> find(const FlowId& id);
  std::optional<FlowRow> at(std::int64_t seq);
  // The first one of which this is left to do.
  std::optional<FlowRow> firstWith(FlowTodo todo);
  std::optional<FlowRow> ofJob(std::int64_t job);

  // Newest first, below a number.
  std::vector<FlowRow> list(std::optional<FlowStatus> status, const std::string& name,
                            std::int64_t below, int limit);

  // Sets Job::flow where the job has to do with one.
  void attach(std::span<JobRow> rows);
  void attach(JobRow& row) { attach({&row, 1}); }
  // Also what the jobs waited for, as far as the rules let one claim have it.
  void attachClaimed(std::span<JobRow> rows);

  // `took` is how long this round ran.
  void emit(std::string_view type, const FlowRow& row, Millis took = Millis(0));
  // After this transaction there is something to settle: whoever settles is told.
  void leaveUnsettled();

 private:
  Session& s_;
};

// [[1,2],[3,4]] of rows of whole numbers, for the marker /*rows $N K*/.
class NumberRows {
 public:
  template <class... Numbers>
  void add(Numbers... numbers) {
    text_ += text_.size() > 1 ? ",[" : "[";
    bool first = true;
    ((text_ += first ? "" : ",", text_ += std::to_string(static_cast<std::int64_t>(numbers)),
      first = false),
     ...);
    text_ += ']';
    ++count_;
  }
  std::size_t count() const { return count_; }
  bool empty() const { return count_ == 0; }
  std::string text() const { return text_ + ']'; }

 private:
  std::string text_ = "[";
  std::size_t count_ = 0;
};

// [1,2,3], for the marker /*numbers $N*/.
std::string numberList(std::span<const std::int64_t> numbers);
// ["a","b"], for the marker /*texts $N*/.
std::string textList(std::span<const std::string> texts);

}  // namespace muster
