#include "tests/support/postgres_server.h"

#include <fcntl.h>
#include <grp.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "models/store/postgres/postgres_storage.h"
#include "tests/support/eventually.h"

namespace muster::test {
namespace {

namespace fs = std::filesystem;

// Where Debian puts the programs of the newest version, or wherever they are found.
std::string program(const std::string& name) {
  std::set<fs::path> found;
  std::error_code none;
  for (const auto& version : fs::directory_iterator("/usr/lib/postgresql", none)) {
    const fs::path candidate = version.path() / "bin" / name;
    if (fs::exists(candidate)) found.insert(candidate);
  }
  return found.empty() ? name : found.rbegin()->string();
}

// PostgreSQL refuses to run as root.
const passwd* serverUser() {
  if (::geteuid() != 0) return nullptr;
  const passwd* const user = ::getpwnam("postgres");
  if (user == nullptr) throw std::runtime_error("there is no user 'postgres': run scripts/setup");
  return user;
}

pid_t spawn(const std::vector<std::string>& command, const fs::path& log) {
  std::vector<char*> arguments;
  for (const std::string& part : command) arguments.push_back(const_cast<char*>(part.c_str()));
  arguments.push_back(nullptr);
  const passwd* const user = serverUser();
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child != 0) return child;
  if (user != nullptr && (::setgroups(0, nullptr) != 0 || ::setgid(user->pw_gid) != 0 ||
                          ::setuid(user->pw_uid) != 0)) {
    ::_exit(126);
  }
  ::prctl(PR_SET_PDEATHSIG, SIGQUIT);  // it must not outlive the tests
  if (::getppid() != parent) ::_exit(125);
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  for (int fd = 3; fd < 256; ++fd) ::close(fd);
  if (::chdir("/") != 0) ::_exit(124);
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

std::string contentOf(const fs::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// Databases that were used and can be used again: emptying one is faster than making one.
std::vector<std::string>& unused() {
  static std::vector<std::string> names;
  return names;
}

constexpr const char* kEmptyIt = R"(
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid();
DO $$
DECLARE t TEXT;
BEGIN
  FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = 'public'
    AND tablename NOT IN ('schema_migrations', 'store_clock') LOOP
    EXECUTE 'DELETE FROM ' || t;
  END LOOP;
END $$;
UPDATE store_clock SET last_event = 0, catalog = 0)";

struct Connection {
  explicit Connection(const std::string& url) : db(PQconnectdb(url.c_str())) {
    if (PQstatus(db) != CONNECTION_OK) {
      const std::string why = PQerrorMessage(db);
      PQfinish(db);
      throw std::runtime_error(why);
    }
  }
  ~Connection() { PQfinish(db); }
  PGconn* db;
};

std::string run(const std::string& url, const std::string& sql) {
  const Connection connection(url);
  PGresult* const result = PQexec(connection.db, sql.c_str());
  const auto status = PQresultStatus(result);
  const std::string fault =
      status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK ? "" : PQerrorMessage(connection.db);
  const std::string value = PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "";
  PQclear(result);
  if (!fault.empty()) throw std::runtime_error(sql + ": " + fault);
  return value;
}

}  // namespace

PostgresServer& PostgresServer::shared() {
  static PostgresServer server;
  return server;
}

PostgresServer::PostgresServer() {
  std::string name = (fs::temp_directory_path() / "muster-pg-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp " + name);
  folder_ = name;
  if (const passwd* const user = serverUser()) {
    if (::chown(name.c_str(), user->pw_uid, user->pw_gid) != 0) {
      throw std::runtime_error("chown " + name);
    }
  }
  const fs::path log = folder_ / "initdb.log";
  const pid_t initdb = spawn({program("initdb"), "--no-sync", "--auth=trust", "--username=postgres",
                              "--encoding=UTF8", "--no-locale", "-D", (folder_ / "data").string()},
                             log);
  int status = 0;
  ::waitpid(initdb, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw std::runtime_error("initdb failed (run scripts/setup): " + contentOf(log));
  }
  start();
}

PostgresServer::~PostgresServer() {
  stop();
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void PostgresServer::start() {
  const fs::path log = folder_ / "postgres.log";
  // A commit is in the kernel when it is acknowledged, so that it outlives the server. That it
  // would outlive the machine is not what is tested.
  server_ = spawn({program("postgres"), "-D", (folder_ / "data").string(), "-k", folder_.string(),
                   "-c", "listen_addresses=", "-c", "fsync=off", "-c", "full_page_writes=off", "-c",
                   "max_connections=300", "-c", "shared_buffers=64MB"},
                  log);
  const std::string address = url("postgres");
  const bool up = eventually(kPatience, [&] {
    return PQping(address.c_str()) == PQPING_OK || ::waitpid(server_, nullptr, WNOHANG) != 0;
  });
  if (!up || PQping(address.c_str()) != PQPING_OK) {
    throw std::runtime_error("the PostgreSQL server did not start: " + contentOf(log));
  }
}

void PostgresServer::stop() {
  if (server_ <= 0) return;
  ::kill(server_, SIGQUIT);
  ::waitpid(server_, nullptr, 0);
  server_ = 0;
}

std::string PostgresServer::log() const { return contentOf(folder_ / "postgres.log"); }

std::string PostgresServer::url(const std::string& database) const {
  return "postgresql://postgres@/" + database + "?host=" + folder_.string();
}

void PostgresServer::execute(const std::string& database, const std::string& sql) {
  run(url(database), sql);
}

std::string PostgresServer::value(const std::string& database, const std::string& sql) {
  return run(url(database), sql);
}

PostgresDatabase::PostgresDatabase(bool empty, PostgresServer& server)
    : server_(server), reusable_(!empty && &server == &PostgresServer::shared()) {
  static std::atomic<int> last = 0;
  if (reusable_ && !unused().empty()) {
    name_ = unused().back();
    unused().pop_back();
    server_.execute(name_, kEmptyIt);
    return;
  }
  name_ = "muster_" + std::to_string(++last);
  if (empty) {
    server_.execute("postgres", "CREATE DATABASE " + name_);
    return;
  }
  static const bool migrated = [&server] {
    server.execute("postgres", "CREATE DATABASE muster_template");
    const auto plan = migratePostgres(server.url("muster_template"), fromMillis(1), false);
    if (!plan) throw std::runtime_error(plan.error());
    return true;
  }();
  if (migrated)
    server_.execute("postgres", "CREATE DATABASE " + name_ + " TEMPLATE muster_template");
}

PostgresDatabase::~PostgresDatabase() {
  if (reusable_) {
    unused().push_back(name_);
    return;
  }
  try {
    server_.execute("postgres", "DROP DATABASE " + name_ + " WITH (FORCE)");
  } catch (const std::exception&) {  // the server may have been stopped by the test
  }
}

}  // namespace muster::test
