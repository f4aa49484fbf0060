// Jobs with pins go from lane to lane: when keys are bound and released, pins run out, and holders
// are lost.
#include <algorithm>
#include <unordered_map>

#include "models/json/json_writer.h"
#include "models/store/sql/flow_rows.h"
#include "models/store/sql/holders.h"
#include "models/store/sql/job_sql.h"
#include "models/store/sql/jobs.h"
#include "models/store/sql/pins.h"
#include "models/store/sql/pools.h"

namespace muster {
namespace {

#define MUSTER_SELECT_PINNED                                                               \
  "SELECT " MUSTER_JOB_COLUMNS                                                             \
  ", l.placement, l.pin, p.affinity_seq, p.affinity_mode, p.ref_pin, p.ref_mode, p.mode, " \
  "p.wait_ms, p.unpin_at FROM "
// The youngest first: a preferred pin of the others has run out sooner.
constexpr Sql kWaitingWithKey{
    MUSTER_SELECT_PINNED
    "(SELECT * FROM job_pins WHERE affinity_seq = $1 AND affinity_seq IS NOT NULL AND ended = 0 "
    "ORDER BY seq DESC LIMIT $2) p CROSS JOIN jobs j CROSS JOIN lanes l "
    "WHERE j.seq = p.seq AND j.status || '' = 'pending' AND l.lane_id = j.lane_id "
    "AND p.ref_mode <> 'required'"};
constexpr Sql kPinnedTo{
    MUSTER_SELECT_PINNED
    "lanes l CROSS JOIN jobs j CROSS JOIN job_pins p "
    "WHERE l.pin = $1 AND l.pin >= 'a' AND j.lane_id = l.lane_id AND j.status = 'pending' "
    "AND p.seq = j.seq AND p.mode = $2 LIMIT $3"};
constexpr Sql kRunOut{MUSTER_SELECT_PINNED
                      "(SELECT * FROM job_pins WHERE runs_out = 1 AND unpin_at <= $1 "
                      "ORDER BY unpin_at, seq LIMIT $2) p CROSS JOIN jobs j CROSS JOIN lanes l "
                      "WHERE j.seq = p.seq AND l.lane_id = j.lane_id"};
// $1: number, lane. The || keeps to the index of numbers.
constexpr Sql kMoveJobs{
    "UPDATE jobs SET lane_id = d.c1, version = version + 1 FROM /*rows $1 2*/ d "
    "WHERE jobs.seq = d.c0 AND jobs.status || '' IN ('pending', 'claimed') "
    "RETURNING jobs.seq, jobs.status"};
// $1: number, mode (0: none, 1: preferred, 2: required).
constexpr Sql kMovePins{
    "UPDATE job_pins SET mode = CASE d.c1 WHEN 0 THEN '' WHEN 1 THEN 'preferred' "
    "ELSE 'required' END, runs_out = CASE WHEN d.c1 = 1 THEN 1 ELSE 0 END "
    "FROM /*rows $1 2*/ d WHERE job_pins.seq = d.c0"};

int codeOf(std::string_view mode) {
  return mode.empty() ? 0 : mode == name(PinMode::kRequired) ? 2 : 1;
}

// Facts of holders, each looked up once.
std::function<HolderFacts(const Holder&)> rememberedFacts(Session& session) {
  auto known = std::make_shared<std::unordered_map<std::string, HolderFacts>>();
  return [&session, known](const Holder& holder) {
    const auto [facts, fresh] = known->try_emplace(holder.text());
    if (fresh) facts->second = Holders(session).facts(holder);
    return facts->second;
  };
}

}  // namespace

Pins::Move Pins::unpinned(Pinned& job) {
  const auto pin = job.affinity ? lane_pin::kOpenKey : lane_pin::kNone;
  return {&job, std::string(pin), ""};
}

void Pins::moveAll(std::vector<Move>& moves) {
  if (moves.empty()) return;
  std::sort(moves.begin(), moves.end(),
            [](const Move& a, const Move& b) { return a.job->row.seq < b.job->row.seq; });
  NumberRows lanes, pins;
  std::unordered_map<std::int64_t, std::pair<Move*, std::int64_t>> wanted;
  for (Move& move : moves) {
    const Job& job = move.job->row.job;
    const std::int64_t lane =
        Pools(s_).laneFor(job.pool, job.tenant, move.job->placement, move.pin);
    wanted[move.job->row.seq] = {&move, lane};
    lanes.add(move.job->row.seq, lane);
    pins.add(move.job->row.seq, codeOf(move.mode));
  }
  std::vector<std::pair<std::int64_t, JobStatus>> moved;
  {
    auto rows = s_.db.query(kMoveJobs, lanes.text());
    while (rows.next()) {
      moved.emplace_back(rows->integer(0),
                         parseJobStatus(rows->text(1)).value_or(JobStatus::kPending));
    }
  }
  s_.db.post(kMovePins, pins.text());
  std::sort(moved.begin(), moved.end());
  for (const auto& [seq, status] : moved) {
    const auto& [move, lane] = wanted.at(seq);
    JobRow& row = move->job->row;
    row.job.status = status;
    s_.countLane(row, lane, move->pin);
    row.lane = lane;
    row.job.version += 1;
    // So that others who may take it now hear of it.
    if (status == JobStatus::kPending && !lane_pin::isOpen(move->job->lane_pin)) {
      JsonWriter details;
      details.beginObject().field("holder", move->job->lane_pin).endObject();
      Jobs(s_).emit(event_type::kJobUnpinned, row, details.take());
    }
    move->job->lane_pin = move->pin;
  }
}

void Pins::free(std::vector<Pinned>& jobs) {
  std::vector<Move> moves;
  moves.reserve(jobs.size());
  for (Pinned& job : jobs) moves.push_back(unpinned(job));
  moveAll(moves);
}

void Pins::moveWaiting(const AffinityRow& key, std::int64_t but) {
  std::vector<Pinned> jobs;
  {
    auto rows = s_.db.query(kWaitingWithKey, key.seq, kMostMovedPins);
    while (rows.next()) jobs.push_back(readPinned(*rows));
  }
  const auto facts = rememberedFacts(s_);
  std::vector<Move> moves;
  std::vector<Pinned> freed;
  for (Pinned& job : jobs) {
    if (job.row.seq == but) continue;
    auto decided = decidePin(questionOf(job, &key), facts);
    if (!decided) continue;  // a claim that meets it sees to it
    const auto pin = inTime(*std::move(decided), job.unpin_at);
    if (pin && pin->holder.text() != job.lane_pin) {
      moves.push_back({&job, pin->holder.text(), std::string(name(pin->mode))});
    } else if (!pin && !lane_pin::isOpen(job.lane_pin)) {
      freed.push_back(std::move(job));
    }
  }
  moveAll(moves);
  free(freed);
}

int Pins::unpinPreferred(const Holder& holder) {
  std::vector<Pinned> jobs;
  {
    auto rows = s_.db.query(kPinnedTo, holder.text(), name(PinMode::kPreferred), kMostMovedPins);
    while (rows.next()) jobs.push_back(readPinned(*rows));
  }
  free(jobs);
  return static_cast<int>(jobs.size());
}

int Pins::endRequired(const Holder& holder, int limit) {
  std::vector<Pinned> jobs;
  {
    auto rows = s_.db.query(kPinnedTo, holder.text(), name(PinMode::kRequired), limit);
    while (rows.next()) jobs.push_back(readPinned(*rows));
  }
  for (Pinned& job : jobs) {
    const bool of_ref = job.ref_mode == name(PinMode::kRequired);
    Jobs(s_).poisonWaiting(job.row, of_ref ? "resource_lost" : "holder_lost");
  }
  return static_cast<int>(jobs.size());
}

int Pins::unpinDue(int limit) {
  std::vector<Pinned> jobs;
  {
    auto rows = s_.db.query(kRunOut, s_.now, limit);
    while (rows.next()) jobs.push_back(readPinned(*rows));
  }
  free(jobs);
  return static_cast<int>(jobs.size());
}

}  // namespace muster
