// The statements the store really runs must find their rows by an index, so that they cost the
// same at a thousand and at ten million jobs.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <map>
#include <set>

#include "models/clock.h"
#include "models/operations/artifacts.h"
#include "models/operations/jobs.h"
#include "models/operations/resources.h"
#include "models/store/sql/load_history.h"
#include "models/store/sql/resource_refs.h"
#include "models/store/storage.h"
#include "tests/store/backend.h"
#include "tests/store/flow_fixture.h"
#include "tests/store/flow_uses.h"
#include "tests/store/resource_uses.h"
#include "tests/store/sqlite_statement_log.h"

namespace muster::test {
namespace {

using Plan = std::vector<std::string>;

// One use of everything the store can do.
void useEverything(Storage& storage) {
  const PoolId p("p");
  const Status done = storage.writeAndWait([&](Store& s) {
    const auto pool = s.pools().findOrCreate(p).value();
    auto jobs = s.jobs();
    NewJob full{.data = "1", .tenant = "t", .unique_key = "u"};
    full.delay = Millis(5);
    full.expires_at = s.now() + Seconds(60);
    full.placement.max_parallel_per_node = 1;
    const JobId delayed = jobs.push(*pool, full).job.id;
    const JobId plain = jobs.push(*pool, {.data = "1"}).job.id;
    NewWorker worker;
    worker.id = WorkerId("w");
    worker.pool = "p";
    worker.host = "h";
    s.workers().registerWorker(worker), s.workers().registerWorker(worker);
    const WorkerTraits traits = s.workers().claimer(WorkerId("w"))->traits;
    const auto take = [&] { return jobs.claimOne(*pool, "w", traits, plain).value(); };
    const auto holder = [](const Job& job) { return Reporter{job.lease_token, ""}; };
    jobs.claim(*pool, "w", traits, 5);
    jobs.releaseByWorker("w", "released_by_worker");
    s.session.now += Seconds(2);
    jobs.release(plain, holder(take())).value();
    const Job held = take();
    jobs.renew(plain, held.lease_token, {}).value();
    jobs.progress(plain, held.lease_token, 0.5, "half").value();
    s.workers().heartbeat(WorkerId("w"), {}).value();
    jobs.cancel(plain, "").value();
    jobs.fail(plain, holder(held), {}).value();
    jobs.retry(plain).value();
    jobs.complete(plain, holder(take()), "1", "[]").value();
    jobs.cancel(delayed, "").value();
    jobs.retry(delayed).value();
    jobs.attempts(plain);
    jobs.retryMany(p, {.statuses = {JobStatus::kPoisoned}}, {}, 10, 10);
    jobs.nextDue(p);
    NewJob later{.data = "1"}, brief{.data = "1"};
    later.delay = Seconds(60);
    brief.expires_at = s.now() + Seconds(1);
    jobs.push(*pool, later), jobs.push(*pool, brief);
    s.session.now += Seconds(2);
    s.pools().stats(p);
    jobs.promoteDue(10), jobs.expirePending(10), jobs.expireLeases(10);
    s.workers().stale("", {}, true, 10), s.workers().stale("p", Seconds(1), false, 10);
    s.idempotency().remember({"a", "b", "c", "d", "e"}, {});
    s.idempotency().find({"a", "b", "c", "d", "e"}).value();
    s.idempotency().removeExpired(10);
    WorkerChange end;
    end.status = "terminated";
    s.workers().change(WorkerId("w"), end).value();
    JobFilter filter;
    filter.created_after = s.now() - Seconds(9);
    jobs.list(p, {}, "", 10), jobs.list(p, filter, "99", 10);
    EventFilter of_job;
    of_job.job = plain.str();
    s.events().list(0, {}, 10).value(), s.events().list(1, of_job, 10).value();
    s.events().latest({}, 10), s.events().latest(of_job, 10);
    s.workers().list({}, "", 10);
    LoadHistory history(s.session, p, s.now() - Seconds(9), s.now() + Seconds(9));
    history.jobs(0, 10), history.workers("", 10);
    s.pools().list("", 10);
    jobs.purgeMany(p, {.statuses = {JobStatus::kDone}}, {}, 10, 10);
    jobs.removeFinished(s.now(), 10);
    s.events().removeOld(s.now(), 10);
    s.workers().removeEnded(s.now(), 10);
    s.pools().removeEmptyLanes(10);
    auto launches = s.launches();
    auto scaling = s.scaling();
    scaling.limits(*pool, scaling.state(*pool));
    launches.judgeSurvivors(10), launches.giveUpStarting(10);
    launches.running(), launches.orphans(10), launches.localWorkers(10);
    s.pools().overview();
    auto load = s.load();
    LoadCounts counts;
    counts.added = 1;
    load.add({{{"p", s.now()}, counts}}), load.sample();
    load.recent(p, "wait"), load.sameHours(p, s.now(), 1);
    load.steps(p, s.now(), s.now()), load.gaugesBefore(p, s.now());
    load.removeOld(s.now(), 10), load.removeOf(p);
    auto webhooks = s.webhooks();
    const WebhookId w = webhooks.create({.url = "http://a"}, {}).value().id;
    const std::int64_t at = webhooks.find(w)->after_seq;
    webhooks.advance({w, at, at + 9, 0, s.events().latest({}, 3)});
    webhooks.readers(), webhooks.list("", 10), webhooks.pending();
    const auto due = webhooks.due(w, 10);
    webhooks.record(due.at(0), {}, {});
    webhooks.resend(w, due.at(0).id()).value();
    for (const char* status : {"", "pending", "delivered"}) webhooks.deliveries(w, {status}, 10);
    webhooks.removeOldDeliveries(s.now(), 10);
    EXPECT_TRUE(webhooks.remove(w));
  });
  ASSERT_TRUE(done) << done.error().detail;
}

// Refs, artifacts and inputs of flows, from push to the end of the job and beyond.
void useRefs(Storage& storage) {
  const auto unit = [&](const std::function<void(Store&)>& work) {
    const Status done = storage.writeAndWait(work);
    ASSERT_TRUE(done) << done.error().detail;
  };
  const PoolId pool("refs");
  std::vector<Job> held;
  const auto hold = [&](Store& s) {
    held = s.jobs().claim(*s.pools().find(pool), "w", {}, 10);
    ASSERT_FALSE(held.empty());
  };
  const auto put = [&](Store& s, const Job& job, const std::string& name) {
    NewResource given;
    given.type = "note";
    given.holder = {Holder::Kind::kExternal, ""};
    given.uri = "s3://b/" + name;
    run(RegisterArtifact{job.id, job.lease_token, name, given}, s).value();
  };
  unit([&](Store& s) {
    NewResource given;
    given.id = "r";
    given.type = "note";
    given.holder = {Holder::Kind::kExternal, ""};
    given.uri = "s3://b/r";
    run(RegisterResource{given}, s).value();
    NewJob job{.data = "1"};
    job.refs = {{"r", "", ""}};
    run(PushJobs{pool, {job}}, s).value();
  });
  unit(hold);
  unit([&](Store& s) {
    const Job& job = held.at(0);
    run(LeaseResource{.name = "r", .job = job.id, .lease_token = job.lease_token}, s).value();
    put(s, job, "a");
    s.jobs().fail(job.id, {job.lease_token, ""}, {}).value();
  });
  unit([&](Store& s) {
    const JobId id = held.at(0).id;
    s.jobs().cancel(id, "").value();
    s.jobs().retry(id).value();
    auto row = ResourceRows(s.session).find("r").value();
    ResourceRows(s.session).evict(row, resource_reason::kDeleted, true);
    EXPECT_EQ(ResourceRefs(s.session).endReaders(row.seq, 10), 1);
    EXPECT_FALSE(s.jobs().retry(id));
    EXPECT_TRUE(s.jobs().remove(id));
  });
  CreateFlow flow;
  flow.jobs = flowJobs("a @refs; b after a @refs");
  flow.jobs[1].inputs = {{"a", "", "", false}};
  FlowId made;
  unit([&](Store& s) { made = run(flow, s)->flow.id; });
  for (const std::string result : {"1", "2"}) {
    unit(hold);
    unit([&](Store& s) {
      put(s, held.at(0), "x");
      const std::string handed = R"([{"name":"n","inline":false,"resource_id":"none"}])";
      s.jobs().complete(held.at(0).id, {held.at(0).lease_token, ""}, result, handed).value();
      s.jobs().complete(held.at(0).id, {held.at(0).lease_token, ""}, result, handed).value();
    });
  }
  unit([&](Store& s) {
    while (run(SettleFlows{}, s)->more) continue;
    EXPECT_TRUE(run(DeleteFlow{made}, s));
    while (run(SettleFlows{}, s)->more) continue;
  });
}

class SqliteQueryPlanTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string file = folder_.file("muster.db");
    StatementLog log;
    {
      StorageOptions options;
      options.url = "sqlite:" + file;
      FakeBlobs blobs;
      options.rules.resources = rulesForUses(blobs);
      auto storage = openStorage(options, clock_).value();
      useEverything(*storage);
      useFlows(*storage, 3);
      useResources(*storage, blobs, 3);
      useRefs(*storage);
    }
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(file.c_str(), &db), SQLITE_OK);
    for (const std::string& sql : log.texts()) {
      const bool looks_for_rows = sql.find("WHERE") != std::string::npos;
      const bool of_schema =
          sql.find("CREATE ") != std::string::npos || sql.find("sqlite_") != std::string::npos;
      if (looks_for_rows && !of_schema) plans_[sql] = plan(db, sql);
    }
    sqlite3_close(db);
  }
  static Plan plan(sqlite3* db, const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    const std::string explain = "EXPLAIN QUERY PLAN " + sql;
    EXPECT_EQ(sqlite3_prepare_v2(db, explain.c_str(), -1, &statement, nullptr), SQLITE_OK) << sql;
    Plan lines;
    while (sqlite3_step(statement) == SQLITE_ROW) {
      lines.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(statement, 3)));
    }
    sqlite3_finalize(statement);
    return lines;
  }
  // The plan of the one statement whose text holds all the parts.
  Plan planOf(const std::vector<std::string>& parts) {
    std::vector<Plan> found;
    for (const auto& [sql, lines] : plans_) {
      if (std::all_of(parts.begin(), parts.end(), [&text = sql](const auto& part) {
            return text.find(part) != std::string::npos;
          })) {
        found.push_back(lines);
      }
    }
    EXPECT_EQ(found.size(), 1U) << parts.front();
    return found.empty() ? Plan{} : found.front();
  }

  Folder folder_;
  FakeClock clock_;
  std::map<std::string, Plan> plans_;
};

std::string joined(const Plan& plan) {
  std::string text;
  for (const std::string& line : plan) text += line + "\n";
  return text;
}

TEST_F(SqliteQueryPlanTest, claimAndUpkeepEachHaveTheirIndex) {
  struct Use {
    std::vector<std::string> parts;
    std::string index;
  };
  const Use uses[] = {
      {{"SELECT", "ORDER BY j.priority DESC"}, "jobs_ready"},
      {{"UPDATE jobs SET delayed = 0", "available_at <="}, "jobs_delayed "},
      {{"SELECT first.lane_id"}, "jobs_ready"},
      {{"SELECT l.lane_id", "j.created_at"}, "jobs_listed"},
      {{"SELECT tenant, claimed"}, "PRIMARY KEY"},
      {{"SELECT tenant, turn"}, "PRIMARY KEY"},
      {{"SELECT j.seq", "ORDER BY j.expires_at"}, "jobs_expiring"},
      {{"SELECT j.seq", "ORDER BY j.lease_expires_at"}, "jobs_leases"},
      {{"SELECT j.seq", "ORDER BY j.finished_at"}, "jobs_finished"},
      {{"SELECT j.seq", "j.claimed_by = "}, "jobs_holders"},
      {{"SELECT available_at", "pool_id ="}, "jobs_delayed_of_pool"},
      {{"SELECT available_at", "LIMIT 1)"}, "jobs_delayed\n"},
      {{"SELECT expires_at", "LIMIT 1)"}, "jobs_expiring"},
      {{"SELECT j.seq", "p.data", "j.unique_key ="}, "jobs_unique"},
      {{"DELETE FROM workers", "ended_at <"}, "workers_ended"},
      {{"last_heartbeat <"}, "workers_alive"},
      {{"count(*)", "launch_verdict = 'open'"}, "workers_open"},
      {{"count(*)", "exited_at IS NULL"}, "workers_running"},
      {{"DELETE FROM idempotency"}, "idempotency_expiry"},
      {{"DELETE FROM pool_load", "ORDER BY at"}, "pool_load_at"},
      {{"DELETE FROM pool_hours", "ORDER BY hour"}, "pool_hours_hour"},
      {{"max(at)"}, "pool_load_looks"},
      {{"SELECT r.resource_seq", "r.uid = ?1"}, "sqlite_autoindex_resources_1"},
      {{"SELECT r.resource_seq", "r.scope =", "ORDER BY r.resource_seq LIMIT"},
       "resources_of_scope"},
      {{"SELECT r.resource_seq", "r.holder = ?3"}, "resources_of_holder"},
      {{"SELECT r.resource_seq", "r.holder = ?1", "r.state = ?2"}, "resources_held "},
      {{"SELECT r.resource_seq", "r.holder = ?1", "r.resource_seq > ?2 AND r.resource_seq <="},
       "resources_of_holder"},
      {{"SELECT r.resource_seq", "r.holder = ?1", "ORDER BY r.last_used_at"},
       "resources_held_idle"},
      {{"SELECT r.resource_seq", "r.holder = ?1", "r.state = 'evicting'"}, "resources_held "},
      {{"SELECT worker_id, held_until"}, "workers_leaving"},
      {{"FROM hosts h WHERE h.host = ?1"}, "workers_of_host"},
      {{"SELECT r.resource_seq", "r.job_id ="}, "resources_of_job"},
      {{"SELECT r.resource_seq", "r.sha256 ="}, "resources_same"},
      {{"SELECT r.resource_seq", "ORDER BY r.expires_at"}, "resources_due"},
      {{"SELECT r.resource_seq", "r.place_id = ", "ORDER BY r.last_used_at"}, "resources_idle "},
      {{"SELECT r.resource_seq", "ORDER BY r.uploaded_at"}, "resources_uploads"},
      {{"DELETE FROM resources", "changed_at <"}, "resources_gone"},
      {{"sum(coalesce(size_bytes", "uploaded_at"}, "resources_uploads_of_place"},
      {{"sum(size_bytes)", "'evicting'"}, "resources_evicting"},
      {{"FROM blobs", "ORDER BY doomed_at"}, "blobs_doomed"},
      {{"DELETE FROM resource_leases", "ORDER BY expires_at"}, "resource_leases_due"},
      {{"DELETE FROM resource_leases", "worker_id ="}, "resource_leases_of_worker"},
      {{"webhook_deliveries", "ORDER BY next_at"}, "webhook_deliveries_due"},
      {{"webhook_deliveries", "status <> 'delivered'"}, "webhook_deliveries_open"},
      {{"DELETE FROM webhook_deliveries", "finished_at <"}, "webhook_deliveries_finished"},
  };
  for (const Use& use : uses) {
    const std::string plan = joined(planOf(use.parts));
    EXPECT_NE(plan.find(use.index), std::string::npos) << use.parts.back() << "\n" << plan;
    EXPECT_EQ(plan.find("TEMP B-TREE"), std::string::npos) << use.parts.back() << "\n" << plan;
  }
}

// Nothing has them in the order of lanes, so what is found is sorted; the rest is not looked at.
TEST_F(SqliteQueryPlanTest, whatIsDelayedOrExpiredIsCountedByItsIndex) {
  EXPECT_NE(joined(planOf({"GROUP BY 1", "delayed = 1"})).find("jobs_delayed_of_pool"),
            std::string::npos);
  EXPECT_NE(joined(planOf({"GROUP BY 1", "expires_at <="})).find("jobs_expiring"),
            std::string::npos);
}

TEST(SqliteStatementsTest, aCircuitIsOnlyLookedAtWhenJobsFail) {
  const Folder folder;
  const FakeClock clock;
  StatementLog log;
  StorageOptions options;
  options.url = "sqlite:" + folder.file("muster.db");
  const auto storage = openStorage(options, clock).value();
  const PoolId p("p");
  const auto write = [&](const Storage::Unit& unit) {
    const Status status = storage->writeAndWait(unit);
    ASSERT_TRUE(status) << status.error().detail;
  };
  const auto run = [&](bool well) {
    write([&](Store& s) {
      const auto pool = s.pools().find(p);
      auto jobs = s.jobs();
      jobs.push(*pool, {.data = "1"});
      for (const Job& job : jobs.claim(*pool, "w", {}, 10)) {
        const Reporter holder{job.lease_token, ""};
        if (well) {
          jobs.complete(job.id, holder, std::nullopt, "").value();
        } else {
          jobs.fail(job.id, holder, {}).value();
        }
      }
    });
  };
  write([&](Store& s) { s.pools().findOrCreate(p).value(); });
  run(true);
  const auto before = log.count("circuits");
  for (int i = 0; i < 10; ++i) run(i % 2 == 0);
  EXPECT_EQ(log.count("circuits"), before) << "there is none";
  write([&](Store& s) {
    PoolSettings settings;
    settings.circuit_failures = 3;
    s.pools().put(p, settings).value();
  });
  for (int i = 0; i < 10; ++i) run(true);
  EXPECT_EQ(log.count("circuits"), before) << "nothing failed";
  run(false);
  EXPECT_EQ(log.count("circuits"), before + 1) << "a failure is noted";
  run(true);
  EXPECT_EQ(log.count("circuits"), before + 2) << "and forgotten";
  for (int i = 0; i < 10; ++i) run(true);
  EXPECT_EQ(log.count("circuits"), before + 2);
}

TEST_F(SqliteQueryPlanTest, noStatementReadsAWholeTableOrSortsIt) {
  // Tables with a row for each pool, tenant, node, host or webhook may be looked through, live
  // workers, deliveries that are pending, what is left to settle, and a piece that was cut before
  // or came with the statement.
  const std::set<std::string> small = {"l", "lanes",    "tenants",   "pools", "distributed_nodes",
                                       "w", "CONSTANT", "json_each", "piece", "held",
                                       "e", "h",        "n"};
  ASSERT_GT(plans_.size(), 50U) << "the log saw too little";
  for (const auto& [sql, lines] : plans_) {
    for (const std::string& line : lines) {
      const bool of_live = line.find("USING INDEX workers_alive") != std::string::npos ||
                           line.find("USING INDEX workers_running") != std::string::npos ||
                           line.find("INDEX flow_jobs_todo") != std::string::npos ||
                           line.find("INDEX flows_todo") != std::string::npos ||
                           line.find("INDEX resources_missed") != std::string::npos ||
                           line.find("INDEX webhook_deliveries_due") != std::string::npos;
      // In the order of an index, and no further than the first.
      const bool of_one = sql.starts_with("SELECT (SELECT available_at") &&
                          (line == "SCAN jobs USING INDEX jobs_delayed" ||
                           line == "SCAN jobs USING INDEX jobs_expiring");
      if (line.starts_with("SCAN ") && !of_live && !of_one) {
        const std::string table = line.substr(5, line.find(' ', 5) - 5);
        EXPECT_TRUE(small.contains(table)) << line << "\n  " << sql;
      }
      const bool of_workers = sql.find("FROM workers") != std::string::npos;
      const bool by_lane = sql.find("GROUP BY 1") != std::string::npos;
      EXPECT_TRUE(of_workers || by_lane || line.find("TEMP B-TREE") == std::string::npos)
          << line << "\n  " << sql;
    }
  }
}

}  // namespace
}  // namespace muster::test
