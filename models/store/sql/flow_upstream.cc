#include "models/store/sql/flow_upstream.h"

#include <charconv>
#include <limits>
#include <set>

#include "models/json/flow_json.h"
#include "models/store/sql/flow_rows.h"
#include "models/store/sql/foresight.h"

namespace muster {
namespace {

#define MUSTER_UPSTREAM_COLUMNS_WITH(result)                                              \
  "f.seq, f.name, f.ended_as, f.children_open, f.children_failed, f.children_cancelled, " \
  "j.id, j.status, j.error, " result ", r.artifacts, j.links, f.flow_seq "
#define MUSTER_UPSTREAM_COLUMNS MUSTER_UPSTREAM_COLUMNS_WITH("r.result")
#define MUSTER_JOIN_RESULTS \
  "LEFT JOIN jobs j ON j.seq = f.seq LEFT JOIN job_results r ON r.seq = f.seq "
constexpr Sql kUpstreamFrom{"SELECT " MUSTER_UPSTREAM_COLUMNS
                            "FROM flow_edges e CROSS JOIN flow_jobs f " MUSTER_JOIN_RESULTS
                            "WHERE e.downstream_seq = $1 AND e.upstream_seq >= $2 "
                            "AND f.seq = e.upstream_seq ORDER BY e.upstream_seq LIMIT $3"};
// PostgreSQL: the first $2 of each job; of results that are longer than $3 only that they are.
#define MUSTER_IS_LONG "octet_length(r.result) > $3"
constexpr Sql kFirstUpstreamOfEach{"SELECT " MUSTER_UPSTREAM_COLUMNS_WITH(
    "CASE WHEN " MUSTER_IS_LONG
    " THEN NULL ELSE r.result END") ", d.c0, coalesce(" MUSTER_IS_LONG
                                    ", FALSE) FROM /*numbers $1*/ d CROSS JOIN LATERAL (SELECT "
                                    "o.upstream_seq FROM flow_edges o "
                                    "WHERE o.downstream_seq = d.c0 ORDER BY o.upstream_seq LIMIT "
                                    "$2) e "
                                    "CROSS JOIN flow_jobs f " MUSTER_JOIN_RESULTS
                                    "WHERE f.seq = e.upstream_seq ORDER BY d.c0, e.upstream_seq"};
constexpr int kJobColumn = 13, kIsLongColumn = 14;
constexpr std::int64_t kLongResult = 8192;
constexpr Sql kChildrenAfter{"SELECT " MUSTER_UPSTREAM_COLUMNS
                             "FROM flow_jobs f " MUSTER_JOIN_RESULTS
                             "WHERE f.flow_seq = $1 AND f.parent_seq = $2 AND f.name > $3 "
                             "ORDER BY f.name LIMIT $4"};
constexpr Sql kCountUpstream{"SELECT count(*) FROM flow_edges WHERE downstream_seq = $1"};
constexpr Sql kCountChildren{
    "SELECT count(*) FROM flow_edges e CROSS JOIN flow_jobs u CROSS JOIN flow_jobs f "
    "WHERE e.downstream_seq = $1 AND u.seq = e.upstream_seq AND f.flow_seq = u.flow_seq "
    "AND f.parent_seq = u.seq"};

// Jobs that run, have children that run, or are not told of yet.
constexpr Sql kOpenUpstream{
    "SELECT f.name FROM flow_edges e CROSS JOIN flow_jobs f LEFT JOIN jobs j ON j.seq = f.seq "
    "WHERE e.downstream_seq = $1 AND f.seq = e.upstream_seq AND (f.children_open > 0 "
    "OR f.todo <> 0 OR j.status IN ('blocked', 'pending', 'claimed')) "
    "ORDER BY e.upstream_seq LIMIT $2"};

constexpr int kMostNamed = 3;
constexpr int kReadAtOnce = 20;  // results may be large
constexpr int kMostInlined = 100;

std::size_t sizeOf(const UpstreamItem& item) {
  return 200 + (item.result ? item.result->size() : 0) + item.artifacts.size() + item.error.size();
}

std::int64_t countOf(Session& s, Sql sql, std::int64_t job) {
  auto rows = s.db.query(sql, job);
  return rows.next() ? rows->integer(0) : 0;
}

// The number of a job that is gone is negative.
constexpr std::int64_t kFirstNumber = std::numeric_limits<std::int64_t>::min();

}  // namespace

FlowUpstream::Found FlowUpstream::readFound(const SqlRows& row) {
  Found found;
  UpstreamItem& item = found.item;
  found.seq = row.integer(0);
  found.flow = row.integer(12);
  item.name = row.string(1);
  const auto ended_as = static_cast<EndedAs>(row.integer(2));
  const LevelCounts children{row.integer(3), row.integer(4), row.integer(5)};
  found.may_have_children = true;
  if (row.isNull(6)) {  // it is gone
    item.status = ended_as == EndedAs::kGoneDone       ? JobStatus::kDone
                  : ended_as == EndedAs::kGonePoisoned ? JobStatus::kPoisoned
                                                       : JobStatus::kCancelled;
  } else {
    item.job = JobId(row.string(6));
    item.status = parseJobStatus(row.text(7)).value_or(JobStatus::kPending);
    item.error = row.string(8);
    if (!row.isNull(9)) item.result = row.string(9);
    item.artifacts = row.string(10);
    found.may_have_children = !row.isNull(11) && (row.integer(11) & job_link::kHasChildren) != 0;
  }
  item.verdict = verdictOf(item.status, ended_as, children);
  return found;
}

void FlowUpstream::readAhead(std::span<const std::int64_t> jobs) {
  if (!s_.db.hasPeers() || jobs.size() < 2) return;
  std::set<std::int64_t> long_ones;  // are read one job at a time
  for (const std::int64_t job : jobs) first_[job];
  auto rows = s_.db.query(kFirstUpstreamOfEach, numberList(jobs), kReadAtOnce, kLongResult);
  while (rows.next()) {
    const std::int64_t job = rows->integer(kJobColumn);
    first_[job].push_back(readFound(*rows));
    if (rows->text(kIsLongColumn) == "t") long_ones.insert(job);
  }
  for (const std::int64_t job : long_ones) first_.erase(job);
}

std::vector<FlowUpstream::Found> FlowUpstream::upstreamFrom(std::int64_t job, std::int64_t number) {
  if (const auto first = first_.find(job); number == kFirstNumber && first != first_.end()) {
    return std::move(first_.extract(first).mapped());
  }
  std::vector<Found> upstream;
  auto rows = s_.db.query(kUpstreamFrom, job, number, kReadAtOnce);
  while (rows.next()) upstream.push_back(readFound(*rows));
  return upstream;
}

// NUMBER, NUMBER:, or NUMBER:NAME.
FlowUpstream::Place FlowUpstream::parse(const std::string& cursor) {
  Place place;
  const char* const end = cursor.data() + cursor.size();
  const auto [at, fault] = std::from_chars(cursor.data(), end, place.upstream);
  if (fault != std::errc() || at == end || *at != ':') return {};
  place.has_shown = true;
  place.child.assign(at + 1, end);
  return place;
}

FlowUpstream::Page FlowUpstream::page(std::int64_t job, const std::string& cursor, int limit,
                                      std::size_t bytes) {
  Page page;
  Place place = parse(cursor);
  if (cursor.empty()) place.upstream = kFirstNumber;
  std::size_t used = 0;
  const auto take = [&](Found& found, const std::string& parent) {
    used += sizeOf(found.item);
    const bool full = page.items.size() == static_cast<std::size_t>(limit);
    if (full || (used > bytes && !page.items.empty())) return false;
    found.item.parent = parent;
    page.items.push_back(std::move(found.item));
    return true;
  };
  const auto leave = [&] {
    page.next_cursor = std::to_string(place.upstream) + ":" + place.child;
    return page;
  };
  for (;;) {
    std::vector<Found> upstream = upstreamFrom(job, place.upstream);
    for (Found& found : upstream) {
      const std::string parent = found.item.name;
      if (!(place.has_shown && place.upstream == found.seq)) {
        if (!take(found, "")) return leave();
        place = {found.seq, true, ""};
      }
      while (found.may_have_children) {
        std::vector<Found> children;
        {
          auto rows = s_.db.query(kChildrenAfter, found.flow, found.seq, place.child, kReadAtOnce);
          while (rows.next()) children.push_back(readFound(*rows));
        }
        for (Found& child : children) {
          std::string child_name = child.item.name;
          if (!take(child, parent)) return leave();
          place.child = std::move(child_name);
        }
        if (children.size() < kReadAtOnce) break;
      }
    }
    if (upstream.size() < kReadAtOnce) return page;
    place.upstream += 1;
    place.has_shown = false;
    place.child.clear();
  }
}

std::string FlowUpstream::open(std::int64_t job, std::int64_t count) {
  std::string names;
  auto rows = s_.db.query(kOpenUpstream, job, kMostNamed);
  for (int i = 0; rows.next(); ++i) names += (i > 0 ? ", " : "") + rows->string(0);
  if (count == 1) return names.empty() ? "1 job" : "job " + names;
  return std::to_string(count) + " jobs: " + names + (count > kMostNamed ? ", …" : "");
}

std::string FlowUpstream::inlined(std::int64_t job, std::size_t bytes) {
  const Page found = page(job, "", kMostInlined, bytes);
  JsonWriter out;
  out.beginObject().key("items").beginArray();
  std::int64_t count = 0;
  for (const UpstreamItem& item : found.items) {
    // page() gives the first whatever its size; a claim does without one that is too large.
    if (out.size() + sizeOf(item) > bytes) break;
    writeUpstreamItem(out, item);
    ++count;
  }
  const bool truncated =
      !found.next_cursor.empty() || count < static_cast<std::int64_t>(found.items.size());
  const std::int64_t all =
      truncated ? countOf(s_, kCountUpstream, job) + countOf(s_, kCountChildren, job) : count;
  out.endArray().field("count", all).field("truncated", truncated).endObject();
  return out.take();
}

}  // namespace muster
