// What flows cost, in statements: nothing for jobs outside of them, and for an end with downstream
// jobs a few for each commit, however many there are.
#include <sstream>

#include "tests/store/flow_fixture.h"
#include "tests/store/sqlite_statement_log.h"
#include "tests/support/postgres_server.h"

namespace muster::test {
namespace {

// Runs units on one store and says what statements each took.
class Counted {
 public:
  virtual ~Counted() = default;
  // Those of one unit, without what a begin and a commit need on both sides.
  virtual Names statements(const Storage::Unit& unit) = 0;

  void write(const Storage::Unit& unit, Isolation isolation = Isolation::kAlone) {
    const Status status = storage->writeAndWait(unit, isolation);
    ASSERT_TRUE(status) << status.error().detail;
  }
  std::unique_ptr<Storage> storage;
  FakeClock clock;
};

class CountedSqlite : public Counted {
 public:
  CountedSqlite() {
    StorageOptions options;
    options.url = "sqlite:" + folder_.file("muster.db");
    storage = openStorage(options, clock).value();
  }
  ~CountedSqlite() override { storage.reset(); }
  Names statements(const Storage::Unit& unit) override {
    log_.clear();
    write(unit, Isolation::kShared);
    return log_.all();
  }

 private:
  Folder folder_;
  StatementLog log_;
};

class CountedPostgres : public Counted {
 public:
  CountedPostgres() {
    // Each statement that runs is in the server's log, once.
    database_.execute("ALTER DATABASE " + database_.name() + " SET log_statement = 'all'");
    StorageOptions options;
    options.url = database_.url();
    options.own_clock = true;
    storage = openStorage(options, clock).value();
  }
  ~CountedPostgres() override {
    storage->stop();
    storage.reset();
    database_.execute("ALTER DATABASE " + database_.name() + " RESET log_statement");
  }
  Names statements(const Storage::Unit& unit) override {
    const std::size_t before = PostgresServer::shared().log().size();
    write(unit, Isolation::kShared);
    std::istringstream log(PostgresServer::shared().log().substr(before));
    Names all;
    for (std::string line; std::getline(log, line);) {
      const auto begin = line.find("LOG:  execute ");
      if (begin != std::string::npos) all.push_back(line.substr(line.find(':', begin + 14) + 2));
    }
    return all;
  }

 private:
  PostgresDatabase database_;
};

class FlowStatementsTest : public testing::TestWithParam<std::string> {
 protected:
  FlowStatementsTest() {
    if (GetParam() == "sqlite") {
      store_ = std::make_unique<CountedSqlite>();
    } else {
      store_ = std::make_unique<CountedPostgres>();
    }
    store_->write([](Store& s) { s.pools().findOrCreate(PoolId("p")).value(); });
    for (int i = 0; i < 3; ++i) completeSome(1, "");  // what is read once is read
  }

  // Statements of the unit, without events: each of those has one of its own on SQLite.
  Names run(const Storage::Unit& unit) {
    auto all = store_->statements(unit);
    std::erase_if(
        all, [](const std::string& text) { return text.find("INTO events") != std::string::npos; });
    return all;
  }
  // The jobs of the line, and so many plain ones if it is empty, are there; `many` are claimed.
  std::vector<Job> held(int many, const std::string& line) {
    std::vector<Job> jobs;
    store_->write([&](Store& s) {
      const auto pool = s.pools().find(PoolId("p"));
      for (int i = 0; line.empty() && i < many; ++i) s.jobs().push(*pool, {.data = "1"});
      if (!line.empty()) {
        CreateFlow flow;
        flow.jobs = flowJobs(line);
        muster::run(flow, s).value();
      }
    });
    store_->write(
        [&](Store& s) { jobs = s.jobs().claim(*s.pools().find(PoolId("p")), "w", {}, many); });
    EXPECT_EQ(jobs.size(), static_cast<std::size_t>(many));
    return jobs;
  }
  Names completeSome(int many, const std::string& line) {
    const auto jobs = held(many, line);
    const Names all = run([&](Store& s) {
      for (const Job& job : jobs) s.jobs().complete(job.id, {job.lease_token, ""}, "1", "").value();
    });
    // So that the next ones claim their own.
    store_->write([&](Store& s) {
      for (bool more = true; more;) more = muster::run(SettleFlows{}, s)->more;
      for (const Job& job : s.jobs().claim(*s.pools().find(PoolId("p")), "w", {}, 10'000)) {
        s.jobs().complete(job.id, {job.lease_token, ""}, "1", "").value();
      }
    });
    return all;
  }
  static std::string text(const Names& names) {
    std::string all;
    for (const std::string& name : names) all += name + "\n";
    return all;
  }
  void expectFew(int many, const std::string& line, std::size_t most) {
    const Names plain = completeSome(many, ""), with = completeSome(many, line);
    EXPECT_LE(with.size(), plain.size() + most) << many << " of " << line << "\nplain:\n"
                                                << text(plain) << "\nwith:\n"
                                                << text(with);
    EXPECT_GT(with.size(), plain.size()) << "nothing was counted";
  }

  std::unique_ptr<Counted> store_;
};
INSTANTIATE_TEST_SUITE_P(On, FlowStatementsTest, testing::Values("sqlite", "postgres"),
                         [](const auto& store) { return store.param; });

TEST_P(FlowStatementsTest, a_plain_job_runs_no_statement_of_flows_or_resources) {
  Job job;
  Names all = run([](Store& s) { s.jobs().push(*s.pools().find(PoolId("p")), {.data = "1"}); });
  const std::size_t pushed = all.size();
  const auto claimed =
      run([&](Store& s) { job = s.jobs().claim(*s.pools().find(PoolId("p")), "w", {}, 1).at(0); });
  const auto completed = run([&](Store& s) {
    s.jobs().complete(job.id, {job.lease_token, ""}, "1", "").value();
  });
  EXPECT_GT(pushed, 1U);
  EXPECT_GT(claimed.size(), 1U);
  EXPECT_GT(completed.size(), 1U);
  all.insert(all.end(), claimed.begin(), claimed.end());
  all.insert(all.end(), completed.begin(), completed.end());
  for (const std::string& text : all) {
    for (const char* table :
         {"flow", "job_refs", "resources", "INTO artifacts", "FROM artifacts"}) {
      EXPECT_EQ(text.find(table), std::string::npos) << text;
    }
  }
}

TEST_P(FlowStatementsTest, an_end_with_downstream_jobs_costs_four_statements_more) {
  expectFew(1, "a; b after a", 4);
  expectFew(1, "a; b after a; c after a; d any a; e after d", 4);
  expectFew(2, "a; b; c after a b", 4);
  std::string wide;
  for (int i = 0; i < 20; ++i) {
    wide +=
        "a" + std::to_string(i) + "; b" + std::to_string(i) + " after a" + std::to_string(i) + "; ";
  }
  expectFew(20, wide, 4);
}

TEST_P(FlowStatementsTest, one_of_many_upstream_jobs_costs_no_more) {
  std::string many, edges;
  for (int i = 0; i < 300; ++i) {
    many += "a" + std::to_string(i) + "; ";
    edges += " a" + std::to_string(i);
  }
  expectFew(1, many + "x after" + edges, 4);
}

TEST_P(FlowStatementsTest, cancels_cost_one_statement_more) {
  expectFew(1, "a; b failure a; c failure a", 5);
}

TEST_P(FlowStatementsTest, a_job_of_a_flow_without_edges_costs_no_more_either) {
  expectFew(1, "a; b", 4);
}

}  // namespace
}  // namespace muster::test
