#include "models/store/postgres/postgres_connection.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cstdlib>

#include "models/json/utf8.h"
#include "models/store/sql/list_markers.h"

namespace muster {
namespace {

constexpr int kOldest = 130000;
constexpr int kAnswerMs = 60'000;           // the server cancels a statement before that
constexpr std::size_t kMostExpected = 500;  // answers that nobody takes fill buffers
constexpr std::size_t kMostReserved = 512;

constexpr Sql kPostgresBegin{"BEGIN ISOLATION LEVEL READ COMMITTED"};
constexpr Sql kBeginRead{"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"};
// How a transaction that writes begins: with the lock of its isolation and what holds until its
// end, in one statement. The number is arbitrary and the same in every Muster; advisory locks are
// of one database. Only after the lock does it become impatient with others, where it is a batch
// ($1).
//
// A commit that waited for the disk would make all others wait for it that write events. So it does
// not, and a second one, which has nothing to do but that, brings to the disk what it left behind:
// that of many connections at once. What a unit saw may not be there yet either. A standby that is
// to have it too is waited for by that commit alone, so it is made wherever there is one.
#define MUSTER_WITH_LOCK(lock)                                                                  \
  "SELECT " lock                                                                                \
  "(7815279120117), set_config('synchronous_commit', 'off', true), set_config('lock_timeout', " \
  "CASE WHEN CAST($1 AS BOOLEAN) THEN '100ms' ELSE current_setting('lock_timeout') END, true)"
constexpr Sql kLockAlone{MUSTER_WITH_LOCK("pg_advisory_xact_lock")};
constexpr Sql kLockShared{MUSTER_WITH_LOCK("pg_advisory_xact_lock_shared")};
constexpr Sql kFlush{
    "SELECT CASE WHEN pg_current_wal_flush_lsn() < pg_current_wal_insert_lsn() "
    "OR current_setting('synchronous_standby_names') <> '' "
    "THEN pg_logical_emit_message(true, 'muster', '') END"};
constexpr Sql kNow{
    "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT), "
    "catalog, circuits FROM store_clock"};
constexpr Sql kListen{"LISTEN muster_events"};
constexpr Sql kNotify{"NOTIFY muster_events"};
constexpr Sql kForgetPlans{"DISCARD PLANS"};
constexpr Sql kPostgresCommit{"COMMIT"};
constexpr Sql kRollback{"ROLLBACK"};
constexpr Sql kNumbers{"SELECT nextval('row_numbers') FROM generate_series(1, CAST($1 AS BIGINT))"};
constexpr Sql kPostgresHasTable{"SELECT 1 WHERE to_regclass($1) IS NOT NULL"};
constexpr Sql kEncoding{"SELECT current_setting('server_encoding')"};

// Every statement walks an index. A new database has no statistics that would tell the planner so,
// and one plan per statement is enough. $1 is false for the session, true for the transaction.
constexpr Sql kSettings{
    "SELECT set_config('enable_seqscan', 'off', CAST($1 AS BOOLEAN)), "
    "set_config('enable_bitmapscan', 'off', CAST($1 AS BOOLEAN)), "
    "set_config('enable_hashjoin', 'off', CAST($1 AS BOOLEAN)), "
    "set_config('enable_mergejoin', 'off', CAST($1 AS BOOLEAN)), "
    "set_config('jit', 'off', CAST($1 AS BOOLEAN)), "
    "set_config('plan_cache_mode', 'force_generic_plan', CAST($1 AS BOOLEAN)), "
    "set_config('statement_timeout', '30s', CAST($1 AS BOOLEAN)), "
    "set_config('idle_in_transaction_session_timeout', '10s', CAST($1 AS BOOLEAN)), "
    "set_config('synchronous_commit', CASE WHEN CAST($2 AS BOOLEAN) THEN 'off' "
    "WHEN current_setting('synchronous_commit') = 'off' THEN 'on' "
    "ELSE current_setting('synchronous_commit') END, CAST($1 AS BOOLEAN))"};

StoreError::Kind kindOf(std::string_view state) {
  using Kind = StoreError::Kind;
  if (state == "40001" || state == "40P01" || state == "55P03" || state == "23505") {
    return Kind::kConflict;
  }
  if (state == "53100") return Kind::kFull;
  if (state == "25006") return Kind::kReadOnly;
  if (state.starts_with("XX")) return Kind::kCorrupt;
  if (state == "57014" || state.starts_with("53")) return Kind::kBusy;
  if (state.empty() || state.starts_with("08") || state.starts_with("57P") || state == "25P03") {
    return Kind::kLost;
  }
  return Kind::kOther;
}

// libpq ends its messages with a newline.
std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// PostgreSQL keeps text that is UTF-8 without NUL, and nothing else.
bool isStorable(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = text[at] == '\0' ? 0 : utf8Length(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

// Parameters as libpq takes them: texts that end with NUL.
class Parameters {
 public:
  explicit Parameters(std::span<const SqlValue> values) {
    texts_.reserve(values.size());
    for (const SqlValue& value : values) {
      std::string& text = texts_.emplace_back();
      if (const auto* number = std::get_if<std::int64_t>(&value)) {
        text = fmt::to_string(*number);
      } else if (const auto* given = std::get_if<std::string_view>(&value)) {
        text = isStorable(*given) ? std::string(*given) : storableText(*given);
      } else if (const auto* real = std::get_if<double>(&value)) {
        text = fmt::format("{}", *real);
      } else {
        pointers_.push_back(nullptr);
        continue;
      }
      pointers_.push_back(text.c_str());
    }
  }
  int count() const { return static_cast<int>(pointers_.size()); }
  const char* const* data() const { return pointers_.data(); }

 private:
  std::vector<std::string> texts_;  // reserved in full: their places stay
  std::vector<const char*> pointers_;
};

}  // namespace

class PostgresConnection::Statement final : public SqlRows {
 public:
  explicit Statement(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  bool prepared() const { return prepared_; }
  void setPrepared(bool is) { prepared_ = is; }
  void open(ResultPtr result) {
    result_ = std::move(result);
    row_ = -1;
  }

  bool next() override { return ++row_ < PQntuples(result_.get()); }
  bool isNull(int column) const override { return PQgetisnull(result_.get(), row_, column) != 0; }
  std::int64_t integer(int column) const override {
    return std::strtoll(PQgetvalue(result_.get(), row_, column), nullptr, 10);
  }
  double real(int column) const override {
    return std::strtod(PQgetvalue(result_.get(), row_, column), nullptr);
  }
  std::string_view text(int column) const override {
    return {PQgetvalue(result_.get(), row_, column),
            static_cast<std::size_t>(PQgetlength(result_.get(), row_, column))};
  }
  void close() override { result_.reset(); }

 private:
  const std::string name_;
  bool prepared_ = false;
  ResultPtr result_;
  int row_ = -1;
};

PostgresConnection::PostgresConnection(const PostgresPlace& place, PostgresAccess access,
                                       Durability durability)
    : access_(access), bouncer_(place.bouncer), durability_(durability) {
  // What stands in the address counts before what stands here; a dead server is noticed in time.
  const char* const keywords[] = {"connect_timeout",  "keepalives_idle",  "keepalives_interval",
                                  "keepalives_count", "tcp_user_timeout", "application_name",
                                  "dbname",           "client_encoding",  nullptr};
  const char* const values[] = {"5",    "10",   "5", "3", "15000", "muster", place.conninfo.c_str(),
                                "UTF8", nullptr};
  connection_ = PQconnectdbParams(keywords, values, 1);
  if (connection_ == nullptr || PQstatus(connection_) != CONNECTION_OK) {
    const std::string why = connection_ == nullptr ? "out of memory" : PQerrorMessage(connection_);
    PQfinish(connection_);
    throw StoreError(StoreError::Kind::kLost, "cannot connect to PostgreSQL: " + trimmed(why));
  }
  try {
    PQsetNoticeProcessor(
        connection_, [](void*, const char*) {}, nullptr);
    PQenterPipelineMode(connection_);
    checkServer();
  } catch (...) {
    PQfinish(connection_);
    throw;
  }
}

PostgresConnection::~PostgresConnection() {
  statements_.clear();
  PQfinish(connection_);
}

void PostgresConnection::checkServer() {
  if (PQserverVersion(connection_) < kOldest) {
    throw StoreError(StoreError::Kind::kOther,
                     fmt::format("the server is PostgreSQL {}; Muster needs 13 or newer",
                                 PQparameterStatus(connection_, "server_version")));
  }
  {
    auto encoding = query(kEncoding);
    if (encoding.next() && encoding->text(0) != "UTF8") {
      throw StoreError(
          StoreError::Kind::kOther,
          fmt::format("the database has the encoding {}; create one with UTF8", encoding->text(0)));
    }
  }
  if (!bouncer_) settle();
  synchronise();
}

void PostgresConnection::settle() { post(kSettings, bouncer_, durability_ == Durability::kNormal); }

bool PostgresConnection::alive() const { return !lost_ && PQstatus(connection_) == CONNECTION_OK; }

void PostgresConnection::lost(const std::string& why) {
  lost_ = true;
  throw StoreError(StoreError::Kind::kLost, why);
}

void PostgresConnection::raise(const PGresult* result) {
  const char* const state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* const primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  const std::string message = trimmed(primary != nullptr ? primary : PQerrorMessage(connection_));
  const auto kind = kindOf(state != nullptr ? state : "");
  failed_ = true;
  // A server that has become a standby: another connection may find the one that writes.
  if (kind == StoreError::Kind::kLost ||
      (kind == StoreError::Kind::kReadOnly && access_ == PostgresAccess::kReadWrite)) {
    lost_ = true;
  }
  throw StoreError(
      kind, fmt::format("{} (PostgreSQL state {})", message, state != nullptr ? state : "unknown"));
}

// Waits until the next answer can be taken without waiting.
void PostgresConnection::ensureInput() {
  while (PQisBusy(connection_) != 0) {
    if (PQflush(connection_) < 0) lost(trimmed(PQerrorMessage(connection_)));
    pollfd waiting{PQsocket(connection_), POLLIN, 0};
    const int ready = ::poll(&waiting, 1, kAnswerMs);
    if (ready == 0) lost("PostgreSQL does not answer");
    if (ready > 0 && PQconsumeInput(connection_) == 0) {
      lost(trimmed(PQerrorMessage(connection_)));
    }
  }
}

// The next answer of the stream.
PostgresConnection::ResultPtr PostgresConnection::receive() {
  ensureInput();
  ResultPtr result(PQgetResult(connection_));
  if (!result) lost("PostgreSQL sent no answer");
  const auto status = PQresultStatus(result.get());
  if (status == PGRES_PIPELINE_SYNC) return result;
  ensureInput();
  const ResultPtr end(PQgetResult(connection_));  // nothing: the end of this answer
  if (!expected_.empty()) {
    Statement* const prepared = expected_.front();
    expected_.pop_front();
    if (prepared != nullptr) prepared->setPrepared(status == PGRES_COMMAND_OK);
  }
  return result;
}

// Takes all answers that are on their way; the last of them.
PostgresConnection::ResultPtr PostgresConnection::takeAll() {
  ResultPtr last, fault;
  while (!expected_.empty()) {
    last = receive();
    if (PQresultStatus(last.get()) == PGRES_FATAL_ERROR && !fault) fault = std::move(last);
    if (!alive()) break;
  }
  if (fault) raise(fault.get());
  if (!alive()) lost("the connection to PostgreSQL is lost");
  return last;
}

PostgresConnection::Statement& PostgresConnection::statement(Sql sql) {
  auto& known = statements_[sql.text];
  if (!known) known = std::make_unique<Statement>(fmt::format("s{}", statements_.size()));
  return *known;
}

// The statement with its markers replaced. Those that only read take no locks.
std::string PostgresConnection::adapted(std::string_view sql) const {
  std::string text = withListMarkers(sql, [](const ListMarker& list) {
    using Kind = ListMarker::Kind;
    if (list.kind == Kind::kTexts) {
      return fmt::format(
          "(SELECT t.v COLLATE \"C\" AS c0 FROM json_array_elements_text(CAST({} AS JSON)) AS t "
          "(v))",
          list.parameter);
    }
    // Arrays are read faster than JSON. OFFSET 0: once, and no row carries the whole array along.
    const std::string array =
        fmt::format("CAST(translate({}, '[]', '{{}}') AS BIGINT[])", list.parameter);
    if (list.kind == Kind::kNumbers) return fmt::format("(SELECT unnest({}) AS c0)", array);
    std::string columns;
    for (int i = 0; i < list.columns; ++i) {
      columns += fmt::format("{}a.v[i][{}] AS c{}", i > 0 ? ", " : "", i + 1, i);
    }
    return fmt::format(
        "(SELECT {} FROM (SELECT {} AS v OFFSET 0) AS a CROSS JOIN "
        "LATERAL generate_subscripts(a.v, 1) AS i OFFSET 0)",
        columns, array);
  });
  constexpr std::string_view kLockBy = "/*lock_by ";
  for (std::size_t at; (at = text.find(kLockBy)) != std::string::npos;) {
    const std::size_t end = text.find("*/", at);
    const std::string column = text.substr(at + kLockBy.size(), end - at - kLockBy.size());
    text.replace(
        at, end + 2 - at,
        fmt::format("ORDER BY {} FOR UPDATE OF {}", column, column.substr(0, column.find('.'))));
  }
  for (const std::string_view marker : {"/*for_update ", "/*skip_locked "}) {
    for (std::size_t at; (at = text.find(marker)) != std::string::npos;) {
      const std::size_t name = at + marker.size();
      const std::size_t end = text.find("*/", name);
      std::string lock;
      if (access_ == PostgresAccess::kReadWrite) {
        lock = "FOR UPDATE OF " + text.substr(name, end - name);
        if (marker == "/*skip_locked ") lock += " SKIP LOCKED";
      }
      text.replace(at, end + 2 - at, lock);
    }
  }
  return text;
}

void PostgresConnection::send(Sql sql, std::span<const SqlValue> values) {
  if (!alive()) lost("the connection to PostgreSQL is lost");
  if (failed_) throw StoreError(StoreError::Kind::kOther, "the transaction has failed already");
  if (expected_.size() >= kMostExpected) {
    PQsendFlushRequest(connection_);
    takeAll();
  }
  const Parameters parameters(values);
  int sent = 1;
  if (bouncer_) {
    sent = PQsendQueryParams(connection_, adapted(sql.text).c_str(), parameters.count(), nullptr,
                             parameters.data(), nullptr, nullptr, 0);
  } else {
    Statement& prepared = statement(sql);
    if (!prepared.prepared()) {
      sent = PQsendPrepare(connection_, prepared.name().c_str(), adapted(sql.text).c_str(), 0,
                           nullptr);
      prepared.setPrepared(true);
      expected_.push_back(&prepared);
    }
    if (sent == 1) {
      sent = PQsendQueryPrepared(connection_, prepared.name().c_str(), parameters.count(),
                                 parameters.data(), nullptr, nullptr, 0);
    }
  }
  if (sent != 1) lost(trimmed(PQerrorMessage(connection_)));
  expected_.push_back(nullptr);
}

PostgresConnection::ResultPtr PostgresConnection::ask(Sql sql, std::span<const SqlValue> values) {
  send(sql, values);
  if (PQsendFlushRequest(connection_) != 1) lost(trimmed(PQerrorMessage(connection_)));
  return takeAll();
}

SqlRows& PostgresConnection::start(Sql sql, std::span<const SqlValue> values) {
  Statement& rows = statement(sql);
  rows.open(ask(sql, values));
  return rows;
}

std::int64_t PostgresConnection::run(Sql sql, std::span<const SqlValue> values) {
  const auto result = ask(sql, values);
  return std::strtoll(PQcmdTuples(result.get()), nullptr, 10);
}

void PostgresConnection::runLater(Sql sql, std::span<const SqlValue> values) { send(sql, values); }

// Numbers are reserved some at a time, more and more within a transaction, and what is left of them
// at its end is given up: whoever begins later has higher ones.
std::int64_t PostgresConnection::nextNumber() {
  if (numbers_.empty()) {
    auto rows = query(kNumbers, static_cast<std::int64_t>(reserve_));
    while (rows.next()) numbers_.push_back(rows->integer(0));
    std::sort(numbers_.rbegin(), numbers_.rend());
    reserve_ = std::min(reserve_ * 4, kMostReserved);
  }
  const std::int64_t number = numbers_.back();
  numbers_.pop_back();
  return number;
}

std::vector<std::int64_t> PostgresConnection::reserveNumbers(std::size_t count) {
  // Those that are left of an earlier reservation are lower than all that follow.
  std::vector<std::int64_t> numbers;
  while (numbers.size() < count) {
    if (numbers_.empty()) reserve_ = std::max(reserve_, count - numbers.size());
    numbers.push_back(nextNumber());
  }
  return numbers;
}

std::int64_t PostgresConnection::runInsert(Sql sql, std::span<SqlValue> values) {
  const std::int64_t number = nextNumber();
  values[0] = number;
  send(sql, values);
  return number;
}

// Brings both sides to the same point, also after a fault.
void PostgresConnection::synchronise() {
  if (PQpipelineSync(connection_) != 1) lost(trimmed(PQerrorMessage(connection_)));
  ResultPtr fault;
  for (;;) {
    auto result = receive();
    const auto status = PQresultStatus(result.get());
    if (status == PGRES_PIPELINE_SYNC) break;
    if (status == PGRES_FATAL_ERROR && !fault) fault = std::move(result);
    if (!alive()) break;
  }
  failed_ = false;
  if (fault) raise(fault.get());
  if (!alive()) lost("the connection to PostgreSQL is lost");
}

PostgresConnection::Begun PostgresConnection::begin(Isolation isolation, std::size_t units) {
  numbers_.clear();
  reserve_ = std::clamp<std::size_t>(units, 1, kMostReserved);
  if (access_ == PostgresAccess::kReadOnly) {
    post(kBeginRead);
    if (bouncer_) settle();
  } else {
    post(kPostgresBegin);
    if (bouncer_) settle();
    post(isolation == Isolation::kAlone ? kLockAlone : kLockShared, units > 1);
  }
  auto rows = query(kNow);
  rows.next();
  return {rows->time(0), {rows->integer(1), rows->integer(2)}};
}

void PostgresConnection::commit() {
  post(kPostgresCommit);
  if (durability_ == Durability::kFull) post(kFlush);
  synchronise();
}

void PostgresConnection::rollback() noexcept {
  try {
    try {
      if (alive()) synchronise();
    } catch (const StoreError&) {  // of the transaction, which is void anyway
      failed_ = false;
    }
    if (!alive() || PQtransactionStatus(connection_) == PQTRANS_IDLE) return;
    post(kRollback);
    synchronise();
  } catch (const StoreError&) {
    lost_ = true;
  }
}

void PostgresConnection::script(const std::string& sql) {
  synchronise();
  PQexitPipelineMode(connection_);
  const ResultPtr result(PQexec(connection_, sql.c_str()));
  PQenterPipelineMode(connection_);
  const auto status = PQresultStatus(result.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
    const char* const state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
    throw StoreError(kindOf(state != nullptr ? state : ""),
                     trimmed(PQresultErrorMessage(result.get())));
  }
}

bool PostgresConnection::hasTable(const std::string& name) {
  const bool has = query(kPostgresHasTable, name).next();
  synchronise();
  return has;
}

void PostgresConnection::listen() {
  post(kListen);
  synchronise();
}

bool PostgresConnection::heardOthers(const std::vector<int>& ours) {
  if (PQconsumeInput(connection_) == 0) lost(trimmed(PQerrorMessage(connection_)));
  bool others = false;
  while (PGnotify* const note = PQnotifies(connection_)) {
    others = others || std::find(ours.begin(), ours.end(), note->be_pid) == ours.end();
    PQfreemem(note);
  }
  return others;
}

void PostgresConnection::notify() { post(kNotify); }

void PostgresConnection::replan() {
  if (bouncer_) return;  // nothing is kept there
  post(kForgetPlans);
  synchronise();
}

}  // namespace muster
