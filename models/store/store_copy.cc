#include "models/store/store_copy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>

#include "models/json/utf8.h"
#include "models/store/postgres/postgres_storage.h"
#include "models/store/random.h"
#include "models/store/sqlite/sqlite_file.h"
#include "models/store_url.h"

namespace muster {
namespace {

// What belongs to a database and to those who run on it, not to what they keep.
constexpr std::array<std::string_view, 4> kNotCopied = {"schema_migrations", "distributed_nodes",
                                                        "leader", "places"};
constexpr std::int64_t kTellEach = 1000;

constexpr Sql kTables{
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' "
    "ORDER BY name"};
constexpr Sql kColumns{"SELECT name, type, pk FROM pragma_table_info($1) ORDER BY cid"};
constexpr Sql kBlobsOfPlaces{
    "SELECT place_id, count(*), sum(size_bytes) FROM blobs GROUP BY place_id ORDER BY place_id"};
constexpr Sql kFetch{"FETCH 2000 FROM copied"};

enum class Kind { kInteger, kReal, kText };

struct Column {
  std::string name;
  Kind kind;
};

// One table on both sides, and the statements about it.
struct Table {
  std::string name;
  std::vector<Column> columns;
  std::string count, select, insert;
};

Kind columnKindOf(std::string_view type) {
  return type == "INTEGER" ? Kind::kInteger : type == "REAL" ? Kind::kReal : Kind::kText;
}

Table describe(SqlConnection& from, const std::string& name) {
  Table table;
  table.name = name;
  std::vector<std::string> names, marks;
  std::vector<std::pair<std::int64_t, std::string>> key;
  auto rows = from.query(kColumns, name);
  while (rows.next()) {
    table.columns.push_back({rows->string(0), columnKindOf(rows->text(1))});
    names.push_back(rows->string(0));
    marks.push_back(fmt::format("${}", names.size()));
    if (rows->integer(2) > 0) key.emplace_back(rows->integer(2), rows->string(0));
  }
  std::sort(key.begin(), key.end());
  std::vector<std::string> order;
  order.reserve(key.size());
  for (const auto& [place, column] : key) order.push_back(column);
  // Who wrote an event matters to those who run at that time, and they are gone.
  const bool of_events = name == "events";
  table.count = fmt::format("SELECT count(*) FROM {}", name);
  table.select = fmt::format("SELECT {} FROM {} ORDER BY {}", fmt::join(names, ", "), name,
                             fmt::join(order, ", "));
  table.insert = fmt::format("INSERT INTO {} ({}{}) OVERRIDING SYSTEM VALUE VALUES ({}{})", name,
                             fmt::join(names, ", "), of_events ? ", origin" : "",
                             fmt::join(marks, ", "), of_events ? ", 0" : "");
  return table;
}

// The rows that went by, as one number.
class Checksum {
 public:
  void add(std::span<const SqlValue> row) {
    text_.clear();
    for (const SqlValue& value : row) {
      if (const auto* number = std::get_if<std::int64_t>(&value)) {
        text_ += fmt::format("i{};", *number);
      } else if (const auto* real = std::get_if<double>(&value)) {
        text_ += fmt::format("r{};", *real);
      } else if (const auto* text = std::get_if<std::string_view>(&value)) {
        text_ += fmt::format("t{}:{};", text->size(), *text);
      } else {
        text_ += "n;";
      }
    }
    sum_ = sha256Hex(sum_, text_);
    ++rows_;
  }
  std::int64_t rows() const { return rows_; }
  const std::string& sum() const { return sum_; }
  bool operator==(const Checksum& other) const {
    return rows_ == other.rows_ && sum_ == other.sum_;
  }

 private:
  std::string text_;
  std::string sum_;
  std::int64_t rows_ = 0;
};

// The values of the row; `texts` keeps those that are not as PostgreSQL can hold them.
void readRow(const SqlRows& row, const Table& table, std::vector<SqlValue>& values,
             std::deque<std::string>& texts) {
  values.clear();
  texts.clear();
  for (int i = 0; i < static_cast<int>(table.columns.size()); ++i) {
    if (row.isNull(i)) {
      values.emplace_back();
      continue;
    }
    switch (table.columns[static_cast<std::size_t>(i)].kind) {
      case Kind::kInteger:
        values.emplace_back(row.integer(i));
        break;
      case Kind::kReal:
        values.emplace_back(row.real(i));
        break;
      case Kind::kText:
        values.emplace_back(std::string_view(texts.emplace_back(storableText(row.text(i)))));
        break;
    }
  }
}

std::int64_t countOf(SqlConnection& db, const Table& table) {
  auto rows = db.query(Sql{table.count.c_str()});
  rows.next();
  return rows->integer(0);
}

class Copier {
 public:
  Copier(SqlConnection& from, PostgresConnection& to, const CopyProgress& progress)
      : from_(from), to_(to), progress_(progress) {
    auto rows = from_.query(kTables);
    std::vector<std::string> names;
    while (rows.next()) names.push_back(rows->string(0));
    for (const std::string& name : names) {
      if (std::find(kNotCopied.begin(), kNotCopied.end(), name) == kNotCopied.end()) {
        tables_.push_back(describe(from_, name));
      }
    }
  }

  tl::expected<CopiedStore, std::string> run() {
    to_.begin(Isolation::kAlone, 1);
    for (const Table& table : tables_) {
      if (const std::int64_t rows = countOf(to_, table); rows > 0) {
        return tl::unexpected(
            fmt::format("the database is not empty: its table {} has {} rows. Copy into a new one",
                        table.name, rows));
      }
    }
    CopiedStore copied;
    for (const Table& table : tables_) {
      const Checksum written = copy(table);
      if (const Checksum there = readBack(table); !(there == written)) {
        return tl::unexpected(fmt::format("the table {} came out differently: {} rows of {}",
                                          table.name, there.rows(), written.rows()));
      }
      copied.tables.push_back({table.name, written.rows(), written.sum()});
    }
    goOnNumbering();
    countBlobs(copied);
    to_.commit();
    return copied;
  }

 private:
  Checksum copy(const Table& table) {
    Checksum sum;
    const std::int64_t total = countOf(from_, table);
    auto rows = from_.query(Sql{table.select.c_str()});
    while (rows.next()) {
      readRow(*rows, table, values_, texts_);
      sum.add(values_);
      to_.postRow(Sql{table.insert.c_str()}, values_);
      if (sum.rows() % kTellEach == 0) progress_(table.name, sum.rows(), total);
    }
    progress_(table.name, sum.rows(), total);
    return sum;
  }

  Checksum readBack(const Table& table) {
    Checksum sum;
    to_.script("DECLARE copied NO SCROLL CURSOR FOR " + table.select);
    for (bool more = true; more;) {
      more = false;
      auto rows = to_.query(kFetch);
      while (rows.next()) {
        more = true;
        readRow(*rows, table, values_, texts_);
        sum.add(values_);
      }
    }
    to_.script("CLOSE copied");
    return sum;
  }

  void countBlobs(CopiedStore& copied) {
    auto rows = from_.query(kBlobsOfPlaces);
    while (rows.next()) {
      copied.places.push_back(rows->string(0));
      copied.blobs += rows->integer(1);
      copied.blob_bytes += rows->integer(2);
    }
  }

  // New rows get numbers behind those that were copied.
  void goOnNumbering() {
    to_.script(
        "SELECT setval('row_numbers', (SELECT 1 + GREATEST((SELECT COALESCE(max(seq), 0) FROM "
        "jobs), (SELECT COALESCE(max(seq), 0) FROM flow_jobs), "
        "(SELECT COALESCE(max(flow_seq), 0) FROM flows), "
        "(SELECT COALESCE(max(lane_id), 0) FROM lanes), "
        "(SELECT COALESCE(max(resource_seq), 0) FROM resources), "
        "(SELECT COALESCE(max(affinity_seq), 0) FROM affinities), "
        "(SELECT COALESCE(max(decision_id), 0) FROM decisions))))");
    to_.script(
        "SELECT setval(pg_get_serial_sequence('attempts', 'attempt_id'), "
        "(SELECT 1 + COALESCE(max(attempt_id), 0) FROM attempts))");
    to_.script(
        "UPDATE store_clock SET last_event = (SELECT COALESCE(max(seq), 0) FROM events), "
        "catalog = catalog + 1");
  }

  SqlConnection& from_;
  PostgresConnection& to_;
  const CopyProgress& progress_;
  std::deque<Table> tables_;  // its texts stay where they are: they are statements
  std::vector<SqlValue> values_;
  std::deque<std::string> texts_;
};

}  // namespace

tl::expected<CopiedStore, std::string> copyStore(const std::string& from_url,
                                                 const std::string& to_url, Time now,
                                                 const CopyProgress& progress) {
  const auto path = sqlitePath(from_url);
  if (!path || *path == ":memory:") {
    return tl::unexpected(fmt::format("--from {}: expected sqlite:PATH", from_url));
  }
  if (!isPostgres(to_url)) {
    return tl::unexpected(fmt::format("--to {}: expected postgresql://…", to_url));
  }
  const auto place = postgresPlace(to_url);
  if (!place) return tl::unexpected(place.error());
  if (place->bouncer) {
    return tl::unexpected(std::string("copy to the server itself, not through PgBouncer"));
  }
  if (!std::filesystem::exists(*path)) {
    return tl::unexpected(fmt::format("there is no file {}", *path));
  }
  const auto file = SqliteFile::open(*path);
  if (!file) return tl::unexpected(file.error());
  const auto source = openSqlite(*path, Durability::kFull, now, true);
  if (!source) return tl::unexpected(source.error());
  if (!source->plan.pending.empty()) {
    return tl::unexpected(fmt::format("{} lacks {}: run 'muster migrate --store {}' first", *path,
                                      fmt::join(source->plan.pending, ", "), from_url));
  }
  if (const auto plan = migratePostgres(to_url, now, false); !plan) {
    return tl::unexpected(plan.error());
  }
  try {
    PostgresConnection to(*place, PostgresAccess::kReadWrite, Durability::kFull);
    Copier copier(*source->connection, to, progress);
    auto copied = copier.run();
    if (!copied) to.rollback();
    return copied;
  } catch (const StoreError& error) {
    return tl::unexpected(std::string(error.what()));
  }
}

}  // namespace muster
