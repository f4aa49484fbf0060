// Refs on PostgreSQL, where several services push, end and try jobs again at the same time.
#include <random>
#include <thread>

#include "models/operations/jobs.h"
#include "models/store/sql/resource_refs.h"
#include "tests/store/flow_fixture.h"
#include "tests/store/flow_recount.h"
#include "tests/store/ref_recount.h"
#include "tests/store/resource_recount.h"
#include "tests/support/postgres_server.h"

namespace muster::test {
namespace {

constexpr int kResources = 8;

class RefPostgresTest : public testing::Test {
 protected:
  RefPostgresTest() {
    for (auto& storage : services_) {
      StorageOptions options;
      options.url = database_.url();
      options.own_clock = true;
      auto opened = openStorage(options, clock_);
      if (!opened) throw std::runtime_error(opened.error());
      storage = *std::move(opened);
    }
    on(0, Isolation::kAlone, [](Store& s) {
      s.pools().findOrCreate(PoolId("p")).value();
      for (int i = 0; i < kResources; ++i) make(s, i);
    });
  }
  void TearDown() override {
    Names faults;
    EXPECT_TRUE(services_[0]->readAndWait([&](Store& s) {
      faults = refFaults(s);
      for (auto& more : resourceCounterFaults(s)) faults.push_back(more);
      for (auto& more : flowCounterFaults(s)) faults.push_back(more);
    }));
    EXPECT_EQ(faults, Names());
    EXPECT_EQ(PostgresServer::shared().log().substr(log_begin_).find("deadlock detected"),
              std::string::npos);
  }

  static std::string nameOf(int i) { return "r" + std::to_string(i); }
  static void make(Store& s, int i) {
    ResourceRow row;
    row.resource.uid = std::string(kUidPrefix) + s.session.ids.next(s.now());
    row.resource.id = nameOf(i);
    row.resource.type = "file";
    row.resource.ttl = Seconds(3600);
    ResourceRows(s.session).insert(row);
  }
  void on(std::size_t service, Isolation isolation, const std::function<void(Store&)>& work) {
    const Status status = services_[service % 2]->writeAndWait(work, isolation);
    if (!status) throw std::runtime_error(status.error().detail);
  }

  // One client: it pushes jobs that refer to a few resources, and ends them in every way.
  void walk(std::size_t service, unsigned seed, int steps) {
    std::mt19937 random(seed);
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    std::vector<Job> held;
    std::vector<JobId> mine;
    const auto any = [&] {
      return mine[static_cast<std::size_t>(below(static_cast<int>(mine.size())))];
    };
    for (int step = 0; step < steps; ++step) {
      const int act = mine.empty() ? 0 : below(10);
      if (act < 3) {
        PushJobs op{PoolId("p"), {}, true};
        for (int i = 0; i <= below(3); ++i) {
          NewJob job{.data = "1"};
          for (int k = 0; k <= below(4); ++k)
            job.refs.push_back({nameOf(below(kResources)), "", ""});
          op.jobs.push_back(std::move(job));
        }
        Result<PushJobs::Reply> pushed;
        on(service, Isolation::kAlone, [&](Store& s) { pushed = muster::run(op, s); });
        if (!pushed) continue;  // one of them is on its way out
        for (const auto& each : *pushed) mine.push_back(each.job.id);
      } else if (act < 5) {
        std::vector<Job> got;
        const std::string worker = "w" + std::to_string(seed);
        on(service, Isolation::kShared,
           [&](Store& s) { got = s.jobs().claim(*s.pools().find(PoolId("p")), worker, {}, 3); });
        for (Job& job : got) held.push_back(std::move(job));
      } else if (act < 7 && !held.empty()) {
        std::vector<Job> ending;
        std::swap(ending, held);
        const int how = below(3);
        on(service, Isolation::kShared, [&](Store& s) {
          for (const Job& job : ending) {
            const Reporter by{job.lease_token, ""};
            FailureReport report;
            report.retryable = how == 1;
            if (how == 0) s.jobs().complete(job.id, by, "1", "");
            if (how > 0) s.jobs().fail(job.id, by, report);
          }
        });
      } else if (act == 7) {
        on(service, Isolation::kShared, [&](Store& s) { s.jobs().cancel(any(), ""); });
      } else if (act == 8) {
        on(service, Isolation::kAlone, [&](Store& s) {
          const JobId id = any();
          if (below(2) == 0) {
            s.jobs().retry(id);
          } else {
            s.jobs().remove(id);
          }
        });
      } else {
        on(service, Isolation::kAlone, [&](Store& s) { evictOne(s, below(kResources), below(4)); });
      }
    }
    on(service, Isolation::kShared, [&](Store& s) {
      for (const Job& job : held) s.jobs().complete(job.id, {job.lease_token, ""}, "1", "");
    });
  }
  // One that is gone is made anew; by force its readers end.
  static void evictOne(Store& s, int i, int force) {
    auto row = ResourceRows(s.session).findLiving(nameOf(i));
    if (!row) return make(s, i);
    ResourceRows(s.session).evict(*row, resource_reason::kDeleted, force == 0);
    if (force == 0) ResourceRefs(s.session).endReaders(row->seq, 1000);
  }

  const std::size_t log_begin_ = PostgresServer::shared().log().size();
  PostgresDatabase database_;
  FakeClock clock_;
  std::unique_ptr<Storage> services_[2];
};

TEST_F(RefPostgresTest, counts_are_right_whatever_happens_at_the_same_time) {
  {
    std::vector<std::jthread> clients;
    for (unsigned i = 0; i < 4; ++i) {
      clients.emplace_back([this, i] { walk(i, 100 + i, 150); });
    }
  }
  const auto value = [this](const std::string& sql) { return std::stoll(database_.value(sql)); };
  EXPECT_GT(value("SELECT count(*) FROM jobs WHERE status = 'done'"), 0);
  EXPECT_GT(value("SELECT count(*) FROM resources WHERE state = 'evicted'"), 0);
}

}  // namespace
}  // namespace muster::test
