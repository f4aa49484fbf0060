#include "tests/store/flow_uses.h"

#include <gtest/gtest.h>

#include "models/operations/flows.h"
#include "models/store/storage.h"
#include "tests/store/flow_fixture.h"

namespace muster::test {
namespace {

class FlowUse {
 public:
  FlowUse(Storage& storage, int wide) : storage_(storage), wide_(wide) {}

  void create() {
    std::string upstream, names;
    for (int i = 0; i < wide_; ++i) {
      const std::string n = std::to_string(i);
      upstream += "u" + n + "; d" + n + " after first; ";
      names += " u" + n;
    }
    CreateFlow flow;
    flow.name = "uses";
    flow.tenant = "";
    flow.open = true;
    flow.deadline = Seconds(60);
    flow.callbacks = R"([{"when":"ended","job":{"pool_id":"callbacks","data":1}}])";
    flow.callback_pools = {PoolId("callbacks")};
    flow.jobs = flowJobs("first; " + upstream + "join after" + names + "; never failure first; x");
    flow.jobs[0].job.unique_key = "first of a flow";
    write([&](Store& s) {
      const auto made = run(flow, s).value();
      flow_ = made.flow.id;
      jobs_.clear();
      for (const FlowJobAdded& job : made.jobs) jobs_[job.name] = job.id;
    });
    write([&](Store& s) { run(AddFlowJobs{flow_, flowJobs("y after x; x; z any y")}, s).value(); });
  }
  void work() {
    write([&](Store& s) {
      auto jobs = s.jobs();
      const auto pool = s.pools().find(PoolId("p"));
      const Job first = jobs.claimOne(*pool, "flower", {}, jobs_["first"]).value();
      AddChildren op{first.id, first.lease_token, true, flowJobs("child; second after child")};
      run(op, s).value();
      run(op, s).value();
      jobs.complete(first.id, {first.lease_token, ""}, "1", "").value();
    });
    settle();
    for (bool more = true; more;) {
      write([&](Store& s) {
        const auto held = s.jobs().claim(*s.pools().find(PoolId("p")), "flower", {}, 50);
        for (const Job& job : held) {
          s.jobs().complete(job.id, {job.lease_token, ""}, "1", "").value();
        }
        more = held.size() == 50U;
      });
    }
    settle();
    write([&](Store& s) { s.jobs().cancel(jobs_["join"], ""); });
  }
  void look() {
    read([&](Store& s) {
      EXPECT_TRUE(run(FindFlow{flow_}, s));
      EXPECT_TRUE(poolsOfFlow(flow_, s));
      for (const auto status : {std::optional<FlowStatus>(), std::optional(FlowStatus::kRunning)}) {
        for (const char* name : {"", "uses"}) EXPECT_TRUE(run(ListFlows{status, name}, s));
      }
      for (const auto status : {std::optional<JobStatus>(), std::optional(JobStatus::kDone)}) {
        for (const std::string& parent : {std::string(), jobs_["first"].str()}) {
          EXPECT_TRUE(run(ListFlowJobs{flow_, status, parent}, s));
        }
      }
      EXPECT_TRUE(run(ListFlowEdges{flow_}, s));
      EXPECT_TRUE(run(ListUpstream{jobs_["join"], "", 10}, s));
      EXPECT_TRUE(run(HasUnsettledFlows{}, s));
      EXPECT_TRUE(run(CountFlows{}, s));
      EXPECT_TRUE(s.jobs().find(jobs_["join"]));
      s.jobs().list(PoolId("p"), {}, "", 10);
      s.pools().stats(PoolId("p"));
    });
  }
  void end() {
    write([&](Store& s) { EXPECT_TRUE(run(CloseFlow{flow_}, s)); });
    write([&](Store& s) { run(CancelFlow{flow_, "enough"}, s); });
    settle();
    write([&](Store& s) { EXPECT_TRUE(run(RetryFlow{flow_, {}, Seconds(1)}, s)); });
    settle();
    write([&](Store& s) {
      s.session.now += Seconds(2);
      EXPECT_GE(run(EndOverdueFlows{}, s).value(), 1);
    });
    settle();
    write([&](Store& s) { static_cast<void>(s.jobs().retry(jobs_["join"])); });
    settle();
    write([&](Store& s) { run(CancelFlow{flow_}, s); });
    settle();
    write([&](Store& s) { EXPECT_TRUE(run(DeleteFlow{flow_}, s)); });
    settle();
    write([&](Store& s) { run(RemoveOldFlows{s.now() + Seconds(9)}, s).value(); });
    settle();
  }

 private:
  void write(const Storage::Unit& unit) {
    const Status status = storage_.writeAndWait(unit);
    ASSERT_TRUE(status) << status.error().detail;
  }
  void read(const Storage::Unit& unit) {
    const Status status = storage_.readAndWait(unit);
    ASSERT_TRUE(status) << status.error().detail;
  }
  void settle() {
    for (bool more = true; more;) {
      write([&](Store& s) { more = run(SettleFlows{}, s).value().more; });
    }
  }

  Storage& storage_;
  const int wide_;
  FlowId flow_;
  std::map<std::string, JobId> jobs_;
};

}  // namespace

void useFlows(Storage& storage, int wide) {
  FlowUse use(storage, wide);
  use.create();
  use.work();
  use.look();
  use.end();
}

}  // namespace muster::test
