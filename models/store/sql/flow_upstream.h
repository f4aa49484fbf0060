#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/flow.h"
#include "models/store/sql/session.h"

namespace muster {

// What a job waited for: its upstream jobs in the order of their numbers, each followed by its
// direct children in the order of their names.
class FlowUpstream {
 public:
  explicit FlowUpstream(Session& session) : s_(session) {}

  struct Page {
    std::vector<UpstreamItem> items;
    std::string next_cursor;  // empty: that was the last page
  };
  // At most `limit`, and, but for the first, no more than `bytes` of results. A cursor that this
  // class did not make is taken for the beginning.
  Page page(std::int64_t job, const std::string& cursor, int limit, std::size_t bytes);

  // Of several jobs that are asked for next, what each asks for first; one step on PostgreSQL.
  void readAhead(std::span<const std::int64_t> jobs);

  // "job left", "2 jobs: left, right": those it still waits for, of which there are `count`.
  std::string open(std::int64_t job, std::int64_t count);

  // {"items": […], "count", "truncated"}: what a claim of the job carries.
  std::string inlined(std::int64_t job, std::size_t bytes);

 private:
  // The next ones in that order, after a place; an upstream job comes before its children.
  struct Place {
    std::int64_t upstream = 0;
    bool has_shown = false;  // the upstream job itself
    std::string child;       // the last one shown, empty: none
  };
  static Place parse(const std::string& cursor);
  // An upstream job or a child, with what page() must know of it.
  struct Found {
    std::int64_t seq = 0, flow = 0;
    bool may_have_children = false;
    UpstreamItem item;
  };
  static Found readFound(const SqlRows& row);
  // From this number on, up to kReadAtOnce.
  std::vector<Found> upstreamFrom(std::int64_t job, std::int64_t number);

  Session& s_;
  std::unordered_map<std::int64_t, std::vector<Found>> first_;  // by job: its first ones
};

}  // namespace muster
