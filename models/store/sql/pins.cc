// Who may take jobs with pins and keys: decided when they are pushed, unblocked and claimed.
#include "models/store/sql/pins.h"

#include <algorithm>
#include <map>

#include "models/json/job_json.h"
#include "models/store/sql/flow_rows.h"
#include "models/store/sql/holders.h"
#include "models/store/sql/job_sql.h"
#include "models/store/sql/jobs.h"
#include "models/store/sql/pools.h"
#include "models/worker.h"

namespace muster {
namespace {

#define MUSTER_PIN_COLUMNS                                                                 \
  MUSTER_JOB_COLUMNS                                                                       \
  ", l.placement, l.pin, p.affinity_seq, p.affinity_mode, p.ref_pin, p.ref_mode, p.mode, " \
  "p.wait_ms, p.unpin_at "
constexpr int kFirstPinColumn = 26;
constexpr Sql kPinnedJob{"SELECT " MUSTER_PIN_COLUMNS
                         "FROM job_pins p CROSS JOIN jobs j CROSS JOIN lanes l "
                         "WHERE p.seq = $1 AND j.seq = p.seq AND l.lane_id = j.lane_id"};
constexpr Sql kKeepPin{
    "INSERT INTO job_pins (seq, affinity_seq, affinity_mode, ref_pin, ref_mode, mode, wait_ms, "
    "unpin_at, runs_out, ended) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"};
constexpr Sql kKeyOfJob{
    "SELECT " MUSTER_AFFINITY_COLUMNS
    ", p.affinity_mode, p.ref_mode, p.unpin_at FROM job_pins p "
    "JOIN affinities a ON a.affinity_seq = p.affinity_seq WHERE p.seq = $1 /*for_update a*/"};
constexpr Sql kHoldersOfRefs{
    "SELECT r.resource_id, r.holder, r.stored, r.uri, r.size_bytes FROM job_refs f "
    "CROSS JOIN resources r WHERE f.job_seq = $1 AND r.resource_seq = f.resource_seq "
    "AND (r.holder LIKE 'host:%' OR r.holder LIKE 'worker:%')"};
constexpr Sql kBeginPin{
    "INSERT INTO job_pins (seq, affinity_seq, affinity_mode, ref_pin, ref_mode, mode, wait_ms, "
    "unpin_at, runs_out, ended) VALUES ($1, NULL, '', '', '', '', NULL, NULL, 0, 0) "
    "ON CONFLICT (seq) DO NOTHING"};
constexpr Sql kLinkPin{
    "UPDATE jobs SET links = coalesce(links, 0) | CAST($2 AS BIGINT) WHERE seq = $1"};
constexpr Sql kSetRefPin{"UPDATE job_pins SET ref_pin = $2, ref_mode = $3 WHERE seq = $1"};
constexpr Sql kModeOfWorker{"SELECT mode FROM workers WHERE worker_id = $1"};
constexpr Sql kKeyText{"SELECT affinity FROM job_payloads WHERE seq = $1"};
constexpr Sql kSetKey{"UPDATE job_pins SET affinity_seq = $2 WHERE seq = $1"};
constexpr Sql kFixUnpinAt{"UPDATE job_pins SET unpin_at = $2 WHERE seq = $1"};
constexpr Sql kAttachPins{
    "SELECT p.seq, l.pin, p.mode, p.unpin_at, p.wait_ms, p.affinity_mode "
    "FROM /*numbers $1*/ n CROSS JOIN job_pins p CROSS JOIN jobs j CROSS JOIN lanes l "
    "WHERE p.seq = n.c0 AND j.seq = p.seq AND l.lane_id = j.lane_id"};
constexpr Sql kEndPins{
    "UPDATE job_pins SET ended = 1, runs_out = 0 "
    "WHERE seq IN (SELECT c0 FROM /*numbers $1*/ n)"};
constexpr Sql kRevivePins{
    "UPDATE job_pins SET ended = 0 WHERE seq IN (SELECT c0 FROM /*numbers $1*/ n)"};
constexpr Sql kForgetFailures{
    "UPDATE affinities SET failures = 0 WHERE failures > 0 AND affinity_seq IN "
    "(SELECT p.affinity_seq FROM /*numbers $1*/ n CROSS JOIN job_pins p WHERE p.seq = n.c0)"};

bool isHolderOfJobs(const Holder& holder) {
  return holder.kind == Holder::Kind::kHost || holder.kind == Holder::Kind::kWorker;
}

std::string modeText(const std::optional<Pin>& pin) {
  return pin ? std::string(name(pin->mode)) : std::string();
}

}  // namespace

Pins::Pinned Pins::readPinned(const SqlRows& row) {
  Pinned job;
  job.row = Jobs::readRow(row, false);
  constexpr int kFirst = kFirstPinColumn;
  job.placement = row.string(kFirst);
  job.lane_pin = row.string(kFirst + 1);
  job.affinity = row.maybeInteger(kFirst + 2);
  job.affinity_mode = row.string(kFirst + 3);
  job.ref_pin = row.string(kFirst + 4);
  job.ref_mode = row.string(kFirst + 5);
  job.mode = row.string(kFirst + 6);
  if (const auto wait = row.maybeInteger(kFirst + 7)) job.wait = Millis(*wait);
  job.unpin_at = row.maybeTime(kFirst + 8);
  return job;
}

std::optional<Pins::Pinned> Pins::load(std::int64_t seq) {
  auto rows = s_.db.query(kPinnedJob, seq);
  return rows.next() ? std::optional(readPinned(*rows)) : std::nullopt;
}

PinQuestion Pins::questionOf(const Pinned& job, const AffinityRow* key) const {
  PinQuestion question;
  if (const auto holder = parseHolder(job.ref_pin)) {
    question.refs.push_back({.id = "", .pointer = "", .holder = *holder});
    question.refs.back().has_copy = job.ref_mode == name(PinMode::kPreferred);
  }
  if (key != nullptr) {
    question.key = key->affinity.key;
    if (key->isBound()) question.key_holder = key->affinity.holder;
  }
  question.key_mode = parsePinMode(job.affinity_mode).value_or(PinMode::kPreferred);
  question.placement = parsePlacement(job.placement);
  question.pool = job.row.job.pool;
  return question;
}

// A preferred pin whose time is over is none.
std::optional<Pin> Pins::inTime(std::optional<Pin> pin, const std::optional<Time>& unpin_at) const {
  const bool is_over = pin && pin->mode == PinMode::kPreferred && unpin_at && *unpin_at <= s_.now;
  return is_over ? std::nullopt : std::move(pin);
}

std::vector<PinRef> Pins::refsOf(const NewJob& job, std::span<const ResourceRefs::Found> found,
                                 const std::string& pointer) {
  std::vector<PinRef> refs;
  for (const ResourceRefs::Found& each : found) {
    const ResourceRef& given = job.refs[each.index];
    const Resource& resource = each.row.resource;
    PinRef ref;
    ref.id = each.isRegistered() ? resource.id : given.resource;
    ref.pointer = pointer + "/resource_refs/" + std::to_string(each.index);
    ref.worker = given.worker;
    if (each.isRegistered()) ref.holder = resource.holder;
    ref.has_copy = resource.stored || !resource.uri.empty();
    ref.bytes = resource.size_bytes.value_or(0);
    const bool ties = ref.holder ? isHolderOfJobs(*ref.holder) : !ref.worker.empty();
    if (ties) refs.push_back(std::move(ref));
  }
  return refs;
}

Status Pins::check(const Pool& pool, const NewJob& job, const std::string& tenant,
                   std::vector<PinRef> refs, const std::string& pointer) {
  if (job.affinity.empty() && refs.empty()) return {};
  PinQuestion question{.refs = std::move(refs), .key = job.affinity};
  question.key_mode = job.affinity_mode;
  question.pointer = pointer;
  question.placement = job.placement;
  question.pool = pool.id;
  if (!job.affinity.empty()) {
    const auto key = Affinities(s_).find(tenant, job.affinity);
    if (key && key->isBound()) question.key_holder = key->affinity.holder;
  }
  const auto decided =
      decidePin(question, [this](const Holder& holder) { return Holders(s_).facts(holder); });
  if (!decided) return tl::unexpected(decided.error());
  return {};
}

void Pins::wish(JobRow& row, const NewJob& job, std::vector<PinRef> refs) {
  row.wish = std::make_shared<PinWish>();
  row.wish->key = job.affinity;
  row.wish->key_mode = job.affinity_mode;
  row.wish->wait = job.pin_wait;
  row.wish->refs = std::move(refs);
  row.links |= job_link::kHasPin;
  if (!job.affinity.empty()) row.links |= job_link::kHasKey;
}

void Pins::choose(JobRow& row) {
  const auto pin = choosePin(row);
  const auto open = row.wish->key.empty() ? lane_pin::kNone : lane_pin::kOpenKey;
  row.wish->mode = modeText(pin);
  row.lane = Pools(s_).laneFor(row.job.pool, row.job.tenant, row.job.placement,
                               pin ? pin->holder.text() : std::string(open));
}

std::optional<Pin> Pins::choosePin(JobRow& row) {
  PinWish& wish = *row.wish;
  PinQuestion question{.refs = wish.refs, .key = wish.key};
  question.key_mode = wish.key_mode;
  question.placement = parsePlacement(row.job.placement);
  question.pool = row.job.pool;
  const auto facts = [this](const Holder& holder) { return Holders(s_).facts(holder); };
  if (const auto must = requiredPin(question)) {
    wish.ref_pin = must->holder.text();
    wish.ref_mode = name(PinMode::kRequired);
  }
  if (!wish.key.empty()) {
    const AffinityRow key = Affinities(s_).holdOrMake(row.job.tenant, wish.key);
    wish.affinity = key.seq;
    if (key.isBound()) question.key_holder = key.affinity.holder;
  }
  if (row.job.status != JobStatus::kPending) return std::nullopt;
  auto decided = decidePin(question, facts);
  if (!decided) {
    // It was there when the request was checked, or nobody has checked.
    wish.obstacle = describe(decided.error().code).name;
    return std::nullopt;
  }
  if (wish.ref_mode.empty() && *decided && !(*decided)->of_key) {
    wish.ref_pin = (*decided)->holder.text();
    wish.ref_mode = name(PinMode::kPreferred);
  }
  const bool may_run_out =
      wish.ref_mode == name(PinMode::kPreferred) ||
      (!wish.key.empty() && wish.key_mode == PinMode::kPreferred && wish.ref_mode.empty());
  if (may_run_out) {
    wish.unpin_at =
        std::max(s_.now, row.job.available_at) + wish.wait.value_or(s_.rules.affinities.wait);
    row.links |= job_link::kHasUnpinAt;
  }
  return inTime(*std::move(decided), wish.unpin_at);
}

void Pins::keep(JobRow& row) {
  const auto wish = std::exchange(row.wish, nullptr);
  const bool runs_out = wish->mode == name(PinMode::kPreferred);
  s_.db.post(
      kKeepPin, row.seq, wish->affinity,
      wish->key.empty() ? std::string_view() : name(wish->key_mode), wish->ref_pin, wish->ref_mode,
      wish->mode,
      wish->wait ? std::optional(static_cast<std::int64_t>(wish->wait->count())) : std::nullopt,
      wish->unpin_at, runs_out, isFinished(row.job.status));
  if (!wish->obstacle.empty()) Jobs(s_).poisonWaiting(row, wish->obstacle);
  attach({&row, 1});
}

std::optional<Holder> Pins::holderFor(const std::string& worker, const std::string& host) {
  auto rows = s_.db.query(kModeOfWorker, worker);
  if (!rows.next()) return std::nullopt;
  if (rows->text(0) == "loop") return Holder{Holder::Kind::kWorker, worker};
  if (host.empty()) return std::nullopt;
  return Holder{Holder::Kind::kHost, host};
}

bool Pins::mayTake(const JobRow& row, const std::string& worker, const std::string& host) {
  std::optional<AffinityRow> key;
  std::string mode, ref_mode;
  std::optional<Time> unpin_at;
  {
    auto rows = s_.db.query(kKeyOfJob, row.seq);
    if (!rows.next()) return true;
    key = Affinities::read(*rows);
    mode = rows->string(kAffinityColumns);
    ref_mode = rows->string(kAffinityColumns + 1);
    unpin_at = rows->maybeTime(kAffinityColumns + 2);
  }
  if (ref_mode == name(PinMode::kRequired)) return true;  // the key follows nobody there
  Affinities affinities(s_);
  const Holder& holder = key->affinity.holder;
  const bool is_mine = holder.kind == Holder::Kind::kWorker ? holder.name == worker
                                                            : !host.empty() && holder.name == host;
  if (key->isBound() && is_mine) {
    affinities.touch(*key);
    return true;
  }
  const bool is_over = unpin_at && *unpin_at <= s_.now && mode != name(PinMode::kRequired);
  if (key->isBound() && !is_over && place(row.seq)) return false;
  if (const auto me = holderFor(worker, host)) affinities.bind(*key, *me, worker, host, row.seq);
  return true;
}

std::optional<std::string> Pins::obstacle(const JobRow& row, const std::string& worker,
                                          const std::string& host) {
  if (!Pools(s_).hasPinned(row.job.pool)) return std::nullopt;
  const std::string pin = Pools(s_).pinOf(row.lane);
  const bool is_mine = lane_pin::isOpen(pin) ||
                       pin == Holder{Holder::Kind::kWorker, worker}.text() ||
                       (!host.empty() && pin == Holder{Holder::Kind::kHost, host}.text());
  if (is_mine) return std::nullopt;
  return "the job is pinned to " + pin;
}

std::string Pins::holderOf(const JobRow& row) {
  const auto now = load(row.seq);
  return now && !lane_pin::isOpen(now->lane_pin) ? now->lane_pin : "another holder";
}

void Pins::attach(std::span<JobRow> rows) {
  std::map<std::int64_t, JobRow*> wanted;
  for (JobRow& row : rows) {
    if ((row.links & job_link::kHasPin) != 0) wanted[row.seq] = &row;
  }
  if (wanted.empty()) return;
  std::vector<std::int64_t> seqs;
  seqs.reserve(wanted.size());
  for (const auto& [seq, row] : wanted) seqs.push_back(seq);
  auto found = s_.db.query(kAttachPins, numberList(seqs));
  while (found.next()) {
    auto pin = std::make_shared<JobPin>();
    if (const auto holder = found->text(1); !lane_pin::isOpen(holder)) pin->holder = holder;
    pin->mode = parsePinMode(found->text(2)).value_or(PinMode::kPreferred);
    pin->unpin_at = found->maybeTime(3);
    if (const auto wait = found->maybeInteger(4)) pin->wait = Millis(*wait);
    pin->affinity_mode = parsePinMode(found->text(5));
    wanted.at(found->integer(0))->job.pin = std::move(pin);
  }
}

std::vector<PinRef> Pins::readRefs(std::int64_t job) {
  std::vector<PinRef> refs;
  auto rows = s_.db.query(kHoldersOfRefs, job);
  while (rows.next()) {
    PinRef ref;
    ref.id = rows->string(0);
    ref.holder = parseHolder(rows->text(1));
    ref.has_copy = rows->integer(2) != 0 || !rows->text(3).empty();
    ref.bytes = rows->isNull(4) ? 0 : rows->integer(4);
    if (ref.holder) refs.push_back(std::move(ref));
  }
  return refs;
}

void Pins::placeReader(std::int64_t job) {
  if (readRefs(job).empty()) return;
  s_.db.post(kBeginPin, job);
  s_.db.post(kLinkPin, job, job_link::kHasPin);
  place(job);
}

bool Pins::place(std::int64_t seq) {
  auto job = load(seq);
  if (!job || job->row.job.status != JobStatus::kPending) return false;
  std::optional<AffinityRow> key;
  if (job->affinity) {
    key = Affinities(s_).holdAt(*job->affinity);
    if (!key) {  // it was forgotten while the job had ended
      auto text = s_.db.query(kKeyText, seq);
      const std::string name = text.next() ? text->string(0) : std::string();
      key = Affinities(s_).holdOrMake(job->row.job.tenant, name);
      s_.db.post(kSetKey, seq, key->seq);
    }
  }
  PinQuestion question = questionOf(*job, key ? &*key : nullptr);
  if ((job->row.links & job_link::kHasRefs) != 0) {
    auto refs = readRefs(seq);
    // What must run at a worker for the sake of something that nobody registered stays so.
    if (job->ref_mode == name(PinMode::kRequired)) refs.push_back(question.refs.front());
    question.refs = std::move(refs);
  }
  const auto facts = [this](const Holder& holder) { return Holders(s_).facts(holder); };
  const auto must = requiredPin(question);
  if (!must && !job->unpin_at) {
    job->unpin_at =
        std::max(s_.now, job->row.job.available_at) + job->wait.value_or(s_.rules.affinities.wait);
    s_.db.post(kFixUnpinAt, seq, job->unpin_at);
  }
  auto decided = decidePin(question, facts);
  if (!decided) {
    // What must run at a holder that may come back waits for that; else it can never run.
    const bool may_come_back = decided.error().code == ErrorCode::kUnavailable && must &&
                               facts(must->holder).presence != Presence::kGone;
    if (!may_come_back) {
      const bool is_lost = decided.error().code == ErrorCode::kUnavailable;
      Jobs(s_).poisonWaiting(job->row, !is_lost       ? describe(decided.error().code).name
                                       : must->of_key ? std::string_view("holder_lost")
                                                      : std::string_view("resource_lost"));
      return true;
    }
    decided = must;
  }
  if (const auto& by = *decided; by && !by->of_key && job->ref_pin != by->holder.text()) {
    s_.db.post(kSetRefPin, seq, by->holder.text(), name(by->mode));
  }
  const auto pin = inTime(*std::move(decided), job->unpin_at);
  std::vector<Move> moves{unpinned(*job)};
  if (pin) moves[0] = {&*job, pin->holder.text(), modeText(pin)};
  if (moves[0].pin == job->lane_pin) return false;
  moveAll(moves);
  return true;
}

void Pins::settle() {
  while (!s_.pins_moved.empty()) {
    std::map<std::int64_t, Session::MovedPin> jobs;
    for (const auto& moved : std::exchange(s_.pins_moved, {})) {
      const auto [known, fresh] = jobs.try_emplace(moved.job, moved);
      if (!fresh) known->second.to = moved.to;
    }
    std::vector<std::int64_t> ended, done, revived, to_place;
    for (const auto& [seq, moved] : jobs) {
      if (moved.to == JobStatus::kDone) done.push_back(seq);
      if (isFinished(moved.to) && !isFinished(moved.from)) ended.push_back(seq);
      if (isFinished(moved.from) && !isFinished(moved.to)) revived.push_back(seq);
      const bool waits_anew = moved.from != JobStatus::kPending && moved.to == JobStatus::kPending;
      if (waits_anew) to_place.push_back(seq);
    }
    if (!ended.empty()) s_.db.post(kEndPins, numberList(ended));
    if (!done.empty()) s_.db.post(kForgetFailures, numberList(done));
    if (!revived.empty()) s_.db.post(kRevivePins, numberList(revived));
    for (const std::int64_t seq : to_place) place(seq);
  }
}

}  // namespace muster
