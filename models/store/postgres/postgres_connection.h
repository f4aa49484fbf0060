#pragma once

#include <libpq-fe.h>

#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/store/postgres/postgres_place.h"
#include "models/store/sql/sql_connection.h"
#include "models/store/storage.h"

namespace muster {

enum class PostgresAccess { kReadWrite, kReadOnly };

// A connection to PostgreSQL. Statements go out in one stream, without waiting for the answer of
// each where none is asked for (libpq's pipeline mode).
class PostgresConnection : public SqlConnection {
 public:
  // Throws StoreError when the database cannot be reached, or is not fit for Muster.
  PostgresConnection(const PostgresPlace& place, PostgresAccess access, Durability durability);
  ~PostgresConnection() override;

  void script(const std::string& sql) override;
  bool hasTable(const std::string& name) override;
  bool hasPeers() const override { return true; }
  std::vector<std::int64_t> reserveNumbers(std::size_t count) override;

  struct Begun {
    Time now;  // on the database's clock
    Session::Versions versions;
  };
  // Begins a transaction, in one round trip: one that only reads sees the database as it is now;
  // one that writes waits for those it must not run beside. It is for so many units: when there are
  // several, it soon gives up waiting for a row that another transaction holds (kConflict).
  Begun begin(Isolation isolation, std::size_t units);
  // Those who listen hear of the commit.
  void notify();
  // With kLost nobody knows whether it happened.
  void commit();
  // Never throws: what is left of the transaction is void in any case.
  void rollback() noexcept;

  // Between transactions: statements are planned anew, for tables as large as they are now.
  void replan();

  // False: it is of no use any more.
  bool alive() const;
  int backend() const { return PQbackendPID(connection_); }
  // For the listener: the descriptor that becomes readable, and what was notified.
  int socket() const { return PQsocket(connection_); }
  void listen();
  // Takes in what has arrived; whether a backend other than `ours` had told of a commit.
  bool heardOthers(const std::vector<int>& ours);

 private:
  class Statement;
  struct Freed {
    void operator()(PGresult* result) const { PQclear(result); }
  };
  using ResultPtr = std::unique_ptr<PGresult, Freed>;

  SqlRows& start(Sql sql, std::span<const SqlValue> values) override;
  std::int64_t run(Sql sql, std::span<const SqlValue> values) override;
  void runLater(Sql sql, std::span<const SqlValue> values) override;
  std::int64_t runInsert(Sql sql, std::span<SqlValue> values) override;

  void checkServer();
  void settle();
  Statement& statement(Sql sql);
  std::string adapted(std::string_view sql) const;
  void send(Sql sql, std::span<const SqlValue> values);
  ResultPtr ask(Sql sql, std::span<const SqlValue> values);
  ResultPtr receive();
  ResultPtr takeAll();
  void synchronise();
  void ensureInput();
  std::int64_t nextNumber();
  [[noreturn]] void raise(const PGresult* result);
  [[noreturn]] void lost(const std::string& why);

  PGconn* connection_ = nullptr;
  const PostgresAccess access_;
  const bool bouncer_;
  const Durability durability_;
  bool lost_ = false;
  bool failed_ = false;  // the transaction is void
  // The answers that are on their way, in order; those to a preparation name the statement.
  std::deque<Statement*> expected_;
  std::vector<std::int64_t> numbers_;  // reserved, the next one last
  std::size_t reserve_ = 1;            // so many at the next time
  std::unordered_map<const char*, std::unique_ptr<Statement>> statements_;
};

}  // namespace muster
