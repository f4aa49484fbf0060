#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>

namespace muster::test {

// A PostgreSQL server of this test program alone, on a socket in a folder of its own. Started when
// it is first asked for; it ends, and its folder goes away, with the program. Throws when it does
// not come up: a test that needs it fails.
class PostgresServer {
 public:
  // The one of this program.
  static PostgresServer& shared();

  PostgresServer();
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  void start();
  // As a crash or a power cut would, or as `pg_ctl restart` does: all connections are lost.
  void stop();

  std::string url(const std::string& database) const;
  // What the server has written.
  std::string log() const;
  // Runs a statement in the database; throws with the server's message.
  void execute(const std::string& database, const std::string& sql);
  // The first column of the first row.
  std::string value(const std::string& database, const std::string& sql);

 private:
  std::filesystem::path folder_;
  pid_t server_ = 0;
};

// A database of its own on a server, with Muster's schema unless it is to be empty.
class PostgresDatabase {
 public:
  explicit PostgresDatabase(bool empty = false, PostgresServer& server = PostgresServer::shared());
  ~PostgresDatabase();
  PostgresDatabase(const PostgresDatabase&) = delete;
  PostgresDatabase& operator=(const PostgresDatabase&) = delete;

  std::string url() const { return server_.url(name_); }
  const std::string& name() const { return name_; }
  void execute(const std::string& sql) { server_.execute(name_, sql); }
  std::string value(const std::string& sql) { return server_.value(name_, sql); }

 private:
  PostgresServer& server_;
  const bool reusable_;
  std::string name_;
};

}  // namespace muster::test
