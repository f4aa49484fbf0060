#include "models/operations/flows.h"
#include "tests/store/resource_fixture.h"

namespace muster::test {
namespace {

// Who may hold a resource, and who may see it.
class ResourceHolderTest : public ResourceTest {
 protected:
  void loopWorker(const std::string& id, const std::string& host) {
    NewWorker worker = newWorker(id, host);
    worker.mode = "loop";
    registerWorker(worker);
  }
  static Holder host(const std::string& name) { return {Holder::Kind::kHost, name}; }
  static Holder worker(const std::string& id) { return {Holder::Kind::kWorker, id}; }
  Result<RegisterResource::Reply> put(const std::string& id, const Holder& holder,
                                      const std::string& by = "") {
    return act(RegisterResource{held(id, holder), {.worker = by}});
  }
};

TEST_P(ResourceHolderTest, a_worker_that_stays_may_hold_a_resource) {
  loopWorker("w", "h");
  registerWorker(newWorker("once", "h"));
  const Resource made = put("r", worker("w")).value().resource;
  EXPECT_EQ(made.worker, "w");
  EXPECT_EQ(made.host, "h");
  EXPECT_EQ(made.state, ResourceState::kActive);
  const auto refused = put("s", worker("once"));
  EXPECT_EQ(codeOf(refused), ErrorCode::kInvalid);
  EXPECT_EQ(refused.error().fields.at(0).code, "holder_too_short_lived");
  EXPECT_EQ(codeOf(put("s", worker("nobody"))), ErrorCode::kUnavailable);
  WorkerChange change;
  change.status = "terminating";
  write([&](Store& store) { store.workers().change(WorkerId("w"), change).value(); });
  EXPECT_EQ(codeOf(put("s", worker("w"))), ErrorCode::kUnavailable);
  EXPECT_TRUE(put("s", worker("w")).error().retry_after);
}

TEST_P(ResourceHolderTest, a_host_holds_a_resource_while_it_is_up) {
  EXPECT_EQ(codeOf(put("r", host("h"))), ErrorCode::kUnavailable);
  registerWorker(newWorker("w", "h"));
  EXPECT_EQ(put("r", host("h")).value().resource.host, "h");
  WorkerChange end;
  end.status = "terminated";
  write([&](Store& store) { store.workers().change(WorkerId("w"), end).value(); });
  EXPECT_EQ(codeOf(put("s", host("h"))), ErrorCode::kUnavailable);
  write([](Store& store) {
    store.cluster().join(with<Node>([](Node& n) { n.id = "n", n.host = "h"; }), "i");
  });
  EXPECT_TRUE(put("s", host("h"))) << "a node is there";
}

TEST_P(ResourceHolderTest, what_is_held_elsewhere_goes_when_its_holder_says_so) {
  registerWorker(newWorker("w", "h"));
  put("r", host("h")).value();
  EXPECT_EQ(act(DeleteResource{"r"}).value().state, ResourceState::kEvicting);
  EXPECT_EQ(act(ExpireResources{}).value(), 0);
  EXPECT_EQ(find("r").state, ResourceState::kEvicting);
}

TEST_P(ResourceHolderTest, a_worker_registers_for_itself_and_its_own_host) {
  loopWorker("w", "h");
  loopWorker("v", "g");
  EXPECT_TRUE(put("a", worker("w"), "w"));
  EXPECT_EQ(codeOf(put("b", worker("v"), "w")), ErrorCode::kForbidden);
  EXPECT_EQ(put("c", host("h"), "w").value().resource.worker, "w");
  EXPECT_EQ(codeOf(put("d", host("g"), "w")), ErrorCode::kForbidden);
  EXPECT_EQ(act(RegisterResource{stored("e"), {.worker = "w"}}).value().resource.worker, "w");
}

TEST_P(ResourceHolderTest, a_worker_sees_what_its_jobs_name_and_what_it_has) {
  loopWorker("w", "h");
  loopWorker("v", "g");
  put("on-h", host("h")).value(), put("on-g", host("g")).value();
  put("in-w", worker("w")).value(), put("in-v", worker("v")).value();
  keep("named"), keep("other");
  const ResourceCaller w{.worker = "w"};
  const auto sees = [&](const std::string& name) {
    return look(FindResource{name, w}).has_value() ||
           codeOf(look(FindResource{name, w})) != ErrorCode::kNotFound;
  };
  EXPECT_TRUE(sees("on-h"));
  EXPECT_TRUE(sees("in-w"));
  for (const char* name : {"on-g", "in-v", "named", "other"}) EXPECT_FALSE(sees(name)) << name;
  const Job job = push();
  refer(job.id, "named");
  EXPECT_FALSE(sees("named")) << "the job is not its own yet";
  claimOne(job.id, "w").value();
  EXPECT_TRUE(sees("named"));
  EXPECT_TRUE(look(FindContent{"named", w}));
  EXPECT_EQ(codeOf(look(FindContent{"other", w})), ErrorCode::kNotFound);
  EXPECT_TRUE(look(FindContent{"other", w, true})) << "the address was signed";
  EXPECT_EQ(codeOf(act(DeleteResource{"other", false, w})), ErrorCode::kNotFound);
  EXPECT_EQ(codeOf(act(TouchResource{"other", {}, w})), ErrorCode::kNotFound);
  EXPECT_EQ(codeOf(act(BeginPart{"other", {}, 1, w})), ErrorCode::kNotFound);
  EXPECT_EQ(codeOf(act(LeaseResource{.name = "other", .by = w})), ErrorCode::kNotFound);
  EXPECT_EQ(codeOf(act(LeaseResource{.name = "named", .worker = "v", .by = w})),
            ErrorCode::kForbidden);
  Names listed;
  const auto page = look(ListResources{.by = w}).value();
  for (const Resource& each : page.resources) {
    listed.push_back(each.id);
  }
  EXPECT_EQ(listed, Names({"named", "in-w", "on-h"}));
  forget(job.id, "named");
}

TEST_P(ResourceHolderTest, a_worker_is_not_told_of_the_id_of_another) {
  loopWorker("w", "h");
  act(RegisterResource{stored("r", 1)}).value();
  EXPECT_EQ(codeOf(act(RegisterResource{stored("r", 1), {.worker = "w"}})),
            ErrorCode::kResourceExists);
}

TEST_P(ResourceHolderTest, a_worker_releases_the_scopes_of_its_jobs) {
  registerWorker(newWorker("w"));
  const Job job = pushAndClaim();
  const ResourceCaller w{.worker = "w"};
  EXPECT_TRUE(act(ReleaseScope{"job:" + job.id.str(), w}));
  for (const std::string scope : {"job:other", "flow:other", "anything"}) {
    EXPECT_EQ(codeOf(act(ReleaseScope{scope, w})), ErrorCode::kForbidden) << scope;
  }
  CreateFlow flow;
  flow.jobs.push_back(with<NewFlowJob>([](NewFlowJob& each) {
    each.name = "a";
    each.pool = PoolId("p");
    each.job.data = "1";
  }));
  const auto made = act(flow).value();
  const std::string scope = "flow:" + made.flow.id.str();
  EXPECT_EQ(codeOf(act(ReleaseScope{scope, w})), ErrorCode::kForbidden);
  ASSERT_EQ(claim(1, "w").size(), 1U);
  EXPECT_TRUE(act(ReleaseScope{scope, w}));
}

MUSTER_ON_EVERY_BACKEND(ResourceHolderTest);

}  // namespace
}  // namespace muster::test
