// The schema of a PostgreSQL database, and its address.
#include <map>
#include <thread>

#include "models/store/postgres/postgres_storage.h"
#include "models/store_url.h"
#include "tests/store/store_fixture.h"
#include "tests/support/postgres_server.h"

namespace muster::test {
namespace {

TEST(PostgresMigrations, haveATwinForEachOfSqlite) {
  const auto names = [](const std::vector<EmbeddedFile>& files) {
    Names all;
    for (const EmbeddedFile& file : files) all.emplace_back(file.name);
    return all;
  };
  EXPECT_EQ(names(kPostgresMigrations), names(kSqliteMigrations));
}

TEST(PostgresMigrations, anEmptyDatabaseIsMadeReadyAndAnOlderOneIsNot) {
  PostgresDatabase database(true);
  StorageOptions options;
  options.url = database.url();
  const FakeClock clock;
  const auto planned = migratePostgres(database.url(), clock.now(), true);
  ASSERT_TRUE(planned) << planned.error();
  EXPECT_EQ(planned->pending.size(), kPostgresMigrations.size());
  EXPECT_EQ(database.value("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), "0");

  ASSERT_TRUE(openStorage(options, clock));
  ASSERT_TRUE(openStorage(options, clock)) << "a second time";
  EXPECT_TRUE(migratePostgres(database.url(), clock.now(), false)->pending.empty());

  database.execute(
      "DELETE FROM schema_migrations WHERE name = '0003_triggers'; DROP TABLE triggers; "
      "DROP TABLE hook_deliveries");
  const auto older = openStorage(options, clock);
  ASSERT_FALSE(older);
  EXPECT_NE(older.error().find("muster migrate"), std::string::npos) << older.error();
  EXPECT_NE(older.error().find("0003_triggers"), std::string::npos) << older.error();
  EXPECT_EQ(migratePostgres(database.url(), clock.now(), false)->pending, Names{"0003_triggers"});
  EXPECT_TRUE(openStorage(options, clock));
}

TEST(PostgresMigrations, aNewerOrAChangedSchemaIsRefused) {
  PostgresDatabase database(true);
  StorageOptions options;
  options.url = database.url();
  const FakeClock clock;
  ASSERT_TRUE(openStorage(options, clock));
  database.execute("INSERT INTO schema_migrations VALUES ('9999_tomorrow', 'x', 0)");
  EXPECT_NE(openStorage(options, clock).error().find("newer version"), std::string::npos);
  database.execute(
      "DELETE FROM schema_migrations WHERE name = '9999_tomorrow'; "
      "UPDATE schema_migrations SET checksum = 'x' WHERE name LIKE '0001%'");
  EXPECT_NE(openStorage(options, clock).error().find("another content"), std::string::npos);
}

TEST(PostgresMigrations, servicesThatStartTogetherOnAnEmptyDatabaseAllStart) {
  PostgresDatabase database(true);
  const FakeClock clock;
  std::vector<std::string> faults(6);
  {
    std::vector<std::jthread> threads;
    for (std::string& fault : faults) {
      threads.emplace_back([&] {
        StorageOptions options;
        options.url = database.url();
        if (const auto opened = openStorage(options, clock); !opened) fault = opened.error();
      });
    }
  }
  EXPECT_EQ(faults, std::vector<std::string>(6));
}

TEST(PostgresAddress, isCheckedAndShownWithoutItsPassword) {
  EXPECT_FALSE(postgresPlace("postgresql://h/d")->bouncer);
  const auto through = postgresPlace("postgresql://h/d?pgbouncer=on&sslmode=require");
  EXPECT_TRUE(through->bouncer);
  EXPECT_EQ(through->conninfo, "postgresql://h/d?sslmode=require");
  EXPECT_FALSE(postgresPlace("postgresql://h/d?pgbouncer=maybe"));
  EXPECT_FALSE(postgresPlace("postgresql://h/d?nonsense=1"));
  for (const auto& [url, shown] : std::map<std::string, std::string>{
           {"postgresql://u:se:cr@t@h:5432/d", "postgresql://u:***@h:5432/d"},
           {"postgresql://u@h/d", "postgresql://u@h/d"},
           {"postgresql://h:5432/d?user=u&password=secret&a=1",
            "postgresql://h:5432/d?user=u&password=***&a=1"},
           {"postgresql:///d?host=/run", "postgresql:///d?host=/run"},
           {"sqlite:a:b@c.db", "sqlite:a:b@c.db"}}) {
    EXPECT_EQ(withoutPassword(url), shown);
  }
}

}  // namespace
}  // namespace muster::test
