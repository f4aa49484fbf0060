// Artifacts of upstream jobs become what a job of a flow refers to.
#include "tests/store/ref_fixture.h"

namespace muster::test {
namespace {

using Input = NewFlowJob::Input;

class FlowInputTest : public RefFixture {
 protected:
  static Input from(const std::string& job, const std::string& artifact = "",
                    const std::string& as = "", bool optional = false) {
    return {job, artifact, as, optional};
  }
  // The last job of the line has these inputs.
  void startWith(const std::string& line, std::vector<Input> inputs, CreateFlow flow = {}) {
    flow.jobs = flowJobs(line);
    flow.jobs.back().inputs = std::move(inputs);
    start(std::move(flow));
  }
  void doneWith(const std::string& name, const Names& artifacts) {
    const Job job = take(name);
    for (const std::string& each : artifacts) put(job, each);
    done(name);
  }
  Names inputsOf(const std::string& name) {
    Names all;
    for (const JobInput& input : take(name).inputs) {
      const std::string& id = input.resource.id;
      all.push_back(input.as + "=" + id.substr(id.find('/', 5) + 1));
    }
    return all;
  }
};
MUSTER_ON_EVERY_BACKEND(FlowInputTest);

TEST_P(FlowInputTest, artifacts_of_an_upstream_job_become_inputs) {
  startWith("draw; count after draw", {from("draw")});
  doneWith("draw", {"data.json", "pages/1"});
  EXPECT_EQ(state("count"), "pending");
  EXPECT_EQ(resource("jobs/" + id("draw").str() + "/pages/1").ref_count, 1);
  EXPECT_EQ(inputsOf("count"), (Names{"data.json=data.json", "pages/1=pages/1"}));
  done("count");
  EXPECT_EQ(resource("jobs/" + id("draw").str() + "/pages/1").ref_count, 0);
}

TEST_P(FlowInputTest, names_are_changed_as_asked_for) {
  startWith("a; b; c after a b",
            {from("a", "x", "one"), from("a", "", "all"), from("b"), from("a", "none", "", true)});
  doneWith("a", {"x", "y"});
  EXPECT_EQ(state("c"), "blocked");
  doneWith("b", {"one", "z"});
  EXPECT_EQ(inputsOf("c"), (Names{"all/x=x", "all/y=y", "b/one=one", "one=x", "z=z"}));
}

TEST_P(FlowInputTest, artifacts_of_children_appear_under_their_names) {
  startWith("a; b after a", {from("a")});
  addChildren("a", "k").value();
  put(held("a"), "x");
  done("a");
  EXPECT_EQ(state("b"), "blocked");
  doneWith("a/k", {"y"});
  settle();
  EXPECT_EQ(inputsOf("b"), (Names{"k/y=y", "x=x"}));
}

TEST_P(FlowInputTest, a_job_that_finds_nothing_is_poisoned) {
  startWith("a; b after a", {from("a")});
  done("a");
  EXPECT_EQ(state("b"), "poisoned");
  EXPECT_EQ(find("b").reason, "input_missing");
  settle();
  EXPECT_EQ(flowState(), "failed:job_failed");
}

TEST_P(FlowInputTest, what_waits_for_a_job_without_inputs_is_told) {
  CreateFlow flow;
  flow.jobs = flowJobs("a; b after a; c after b; d failure b");
  flow.jobs[1].inputs = {from("a")};
  start(flow);
  done("a");
  settle();
  EXPECT_EQ(states(), "a=done b=poisoned c=cancelled:upstream_failed d=pending");
}

TEST_P(FlowInputTest, a_flow_that_fails_fast_fails_for_an_input_too) {
  startWith("a; z; b after a", {from("a")}, with<CreateFlow>([](auto& f) { f.fail_fast = true; }));
  done("a");
  settle();
  EXPECT_EQ(flowState(), "failed:fail_fast");
  EXPECT_EQ(state("z"), "cancelled:fail_fast");
}

TEST_P(FlowInputTest, what_is_optional_may_be_missing) {
  startWith("a; b after a", {from("a", "", "", true)});
  done("a");
  EXPECT_EQ(inputsOf("b"), Names());
}

TEST_P(FlowInputTest, what_was_evicted_says_so) {
  startWith("a; x after a; b after a x", {from("a")});
  doneWith("a", {"f"});
  evict("jobs/" + id("a").str() + "/f");
  done("x");
  EXPECT_EQ(state("b"), "poisoned");
  EXPECT_EQ(find("b").reason, "resource_evicted");
}

TEST_P(FlowInputTest, a_job_that_waits_for_nothing_finds_its_inputs_at_once) {
  CreateFlow flow;
  flow.open = true;
  flow.jobs = flowJobs("a");
  start(flow);
  doneWith("a", {"f"});
  settle();
  auto jobs = flowJobs("b after a; c after a");
  jobs[0].inputs = {from("a")};
  jobs[1].inputs = {from("a", "none")};
  const auto added = add(jobs).value();
  EXPECT_EQ(added.jobs[0].status, JobStatus::kPending);
  EXPECT_EQ(added.jobs[1].status, JobStatus::kPoisoned);
  EXPECT_EQ(inputsOf("b"), Names{"f=f"});
  close().value();
}

TEST_P(FlowInputTest, a_retry_looks_for_inputs_anew) {
  startWith("a; b after a", {from("a")});
  doneWith("a", {"f"});
  poison("b");
  settle();
  EXPECT_EQ(resource("jobs/" + id("a").str() + "/f").ref_count, 0);
  retryFlow().value();
  EXPECT_EQ(state("b"), "pending");
  EXPECT_EQ(resource("jobs/" + id("a").str() + "/f").ref_count, 1);
  EXPECT_EQ(inputsOf("b"), Names{"f=f"});
  poison("b");
  settle();
  evict("jobs/" + id("a").str() + "/f");
  retryFlow().value();
  settle();
  EXPECT_EQ(state("b"), "poisoned");
  EXPECT_EQ(find("b").reason, "resource_evicted");
  EXPECT_EQ(flowState(), "failed:job_failed");
}

TEST_P(FlowInputTest, artifacts_go_with_their_flow) {
  startWith("a; b after a", {from("a")});
  doneWith("a", {"f"});
  make("kept", [this](Resource& r) { r.scope = "flow:" + flow_.str(); });
  done("b");
  settle();
  EXPECT_EQ(resource("jobs/" + id("a").str() + "/f").scope, "flow:" + flow_.str());
  EXPECT_TRUE(removeFlow());
  settle();
  EXPECT_EQ(seen("jobs/" + id("a").str() + "/f"), "evicted released");
  EXPECT_EQ(seen("kept"), "evicted scope_released");
}

TEST_P(FlowInputTest, an_input_comes_from_an_upstream_job) {
  CreateFlow flow;
  flow.jobs = flowJobs("a; b; c after a");
  flow.jobs[2].inputs = {from("a"), from("b")};
  EXPECT_EQ(faultOf(tryStart(flow)), "unknown_dependency /jobs/2/inputs/1/from");
}

TEST_P(FlowInputTest, the_same_name_with_other_inputs_is_another_job) {
  CreateFlow flow;
  flow.open = true;
  flow.jobs = flowJobs("a; b after a");
  flow.jobs[1].inputs = {from("a")};
  start(flow);
  auto jobs = flowJobs("b after a");
  EXPECT_EQ(codeOf(add(jobs)), ErrorCode::kNameTaken);
  jobs[0].inputs = {from("a")};
  EXPECT_TRUE(add(jobs));
  cancelFlow().value();
}

}  // namespace
}  // namespace muster::test
