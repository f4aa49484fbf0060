// What jobs store beside their results.
#include "tests/store/ref_fixture.h"

namespace muster::test {
namespace {

class ArtifactTest : public RefFixture {
 protected:
  static FailureReport forGood() {
    auto report = failure("boom");
    report.retryable = false;
    return report;
  }
  Job again(const Job& job) {
    fail(job, with<FailureReport>([](auto& r) { r.retry_after = Millis(0); })).value();
    return claimId(job.id);
  }
  // The parts of an item that the service makes up are left out.
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
};
MUSTER_ON_EVERY_BACKEND(ArtifactTest);

TEST_P(ArtifactTest, what_was_put_belongs_to_the_job_when_its_try_completes) {
  const Job job = pushAndClaim(with<NewJob>([](auto& j) { j.data = "1", j.tenant = "t"; }));
  const std::string uid = put(job, "pages/1.txt");
  const Resource made = resource(uid);
  EXPECT_EQ(made.id, "jobs/" + job.id.str() + "/pages/1.txt");
  EXPECT_EQ(made.scope, "job:" + job.id.str());
  EXPECT_EQ(made.tenant, "t");
  EXPECT_EQ(made.job, job.id.str());
  EXPECT_EQ(made.attempt, 1);
  EXPECT_EQ(made.ttl, std::nullopt);
  EXPECT_EQ(made.expires_at, std::nullopt);
  EXPECT_EQ(artifactsOf(job.id), "[]");
  const Job done = complete(job, R"({"pages":1})").value();
  EXPECT_EQ(done.artifacts, R"([{"name":"pages/1.txt","attempt":1,"type":"file","inline":false,)"
                            R"("resource_id":")" +
                                made.id + R"(","uid":")" + uid + R"(","size_bytes":10,"sha256":")" +
                                std::string(64, 'a') + R"("}])");
  EXPECT_EQ(artifactsOf(job.id), done.artifacts);
  const auto found = read([&](Store& s) { return run(FindArtifact{job.id, "pages/1.txt"}, s); });
  EXPECT_EQ(found->uid, uid);
  EXPECT_EQ(found->value, "");
}

TEST_P(ArtifactTest, an_upload_under_way_keeps_the_job_claimed) {
  const Job job = pushAndClaim();
  const auto made = tryPut(job, "a").value();
  const auto refused = complete(job, "1");
  EXPECT_EQ(codeOf(refused), ErrorCode::kNotStored);
  EXPECT_TRUE(has(refused.error().detail, "'a'"));
  EXPECT_EQ(this->job(job.id).status, JobStatus::kClaimed);
  upload(made.uid).value();
  EXPECT_TRUE(complete(job, "1"));
}

TEST_P(ArtifactTest, only_the_holder_of_the_lease_puts) {
  Job job = pushAndClaim();
  job.lease_token = "other";
  EXPECT_EQ(codeOf(tryPut(job, "a")), ErrorCode::kLeaseLost);
  job.lease_token.clear();
  EXPECT_FALSE(tryPut(job, "a"));
  job.id = JobId("unknown");
  EXPECT_EQ(codeOf(tryPut(job, "a")), ErrorCode::kNotFound);
  const Job held = pushAndClaim();
  EXPECT_EQ(faultOf(tryPut(held, "../a")), "format /name");
}

TEST_P(ArtifactTest, an_item_of_the_report_adds_to_what_is_stored) {
  const Job job = pushAndClaim();
  put(job, "a");
  put(job, "b");
  const Job done = handIn(job, R"([{"name":"a","inline":false,"metadata":{"k":1},"extra":2},)"
                               R"({"name":"v","inline":true,"value":7},{"note":1}])")
                       .value();
  EXPECT_TRUE(has(done.artifacts, R"("metadata":{"k":1},"extra":2},{"name":"v")"))
      << done.artifacts;
  EXPECT_TRUE(has(done.artifacts, R"({"note":1},{"name":"b","attempt":1)")) << done.artifacts;
}

TEST_P(ArtifactTest, a_value_cannot_have_the_name_of_what_is_stored) {
  const Job job = pushAndClaim();
  put(job, "a");
  EXPECT_EQ(faultOf(handIn(job, R"([{"name":"a","inline":true,"value":7}])")),
            "duplicate_name /artifacts/0/name");
  EXPECT_EQ(this->job(job.id).status, JobStatus::kClaimed);
}

TEST_P(ArtifactTest, the_same_report_again_is_answered_again) {
  const Job job = pushAndClaim();
  put(job, "a");
  const std::string handed = R"([{"name":"a","inline":false,"metadata":{"k":1}}])";
  const Job done = handIn(job, handed, "1").value();
  const auto repeated = handIn(job, handed, "1");
  ASSERT_TRUE(repeated);
  EXPECT_EQ(repeated->artifacts, done.artifacts);
  EXPECT_EQ(codeOf(handIn(job, "", "1")), ErrorCode::kAlreadyFinished);
}

TEST_P(ArtifactTest, a_later_try_replaces_by_name_and_drops_the_rest) {
  Job job = pushAndClaim();
  const std::string first = put(job, "a"), other = put(job, "b");
  job = again(job);
  EXPECT_EQ(seen(first), "active 0");
  const std::string second = put(job, "a");
  EXPECT_EQ(seen(first), "evicted replaced");
  const Job done = complete(job).value();
  EXPECT_EQ(seen(second), "active 0");
  EXPECT_EQ(seen(other), "evicted released");
  EXPECT_TRUE(has(done.artifacts, second));
  EXPECT_FALSE(has(done.artifacts, other));
}

TEST_P(ArtifactTest, a_poisoned_job_keeps_what_its_last_try_put) {
  Job job = pushAndClaim();
  const std::string first = put(job, "a");
  job = again(job);
  const std::string second = put(job, "b");
  fail(job, forGood()).value();
  EXPECT_EQ(seen(first), "evicted released");
  EXPECT_EQ(seen(second), "active 0");
  EXPECT_TRUE(has(artifactsOf(job.id), second));
}

TEST_P(ArtifactTest, asking_twice_for_an_upload_gives_one) {
  const Job job = pushAndClaim();
  const auto first = tryPut(job, "a").value(), second = tryPut(job, "a").value();
  EXPECT_EQ(first.uid, second.uid);
  upload(first.uid).value();
  const auto third = tryPut(job, "a").value();
  EXPECT_NE(first.uid, third.uid);
  EXPECT_EQ(seen(first.uid), "evicted replaced");
  upload(third.uid).value();
  complete(job).value();
}

TEST_P(ArtifactTest, what_is_replaced_in_use_gives_up_its_id) {
  const Job job = pushAndClaim();
  const std::string first = put(job, "a");
  const Job reader = pushRefs({first});
  const std::string second = put(job, "a");
  EXPECT_EQ(resource(first).id, first);
  EXPECT_EQ(seen(first), "evicting replaced");
  EXPECT_EQ(resource("jobs/" + job.id.str() + "/a").uid, second);
  complete(job).value();
  complete(claimId(reader.id)).value();
  EXPECT_EQ(seen(first), "evicted replaced");
}

TEST_P(ArtifactTest, artifacts_go_with_their_job_once_nobody_refers_to_them) {
  const Job job = pushAndClaim();
  const std::string plain = put(job, "a"), read_by_another = put(job, "b");
  const std::string own = put(job, "c", with<NewResource>([](auto& r) { r.ttl = Seconds(60); }));
  complete(job).value();
  const Job reader = pushRefs({read_by_another});
  EXPECT_TRUE(write([&](Store& s) { return s.jobs().remove(job.id); }));
  EXPECT_EQ(seen(plain), "evicted released");
  EXPECT_EQ(seen(read_by_another), "evicting released");
  EXPECT_EQ(seen(own), "active 0");
  complete(claimId(reader.id)).value();
  EXPECT_EQ(seen(read_by_another), "evicted released");
}

TEST_P(ArtifactTest, a_loop_worker_registers_what_it_holds_with_its_report) {
  registerWorker(with<NewWorker>([](auto& w) { w = newWorker("w1"), w.mode = "loop"; }));
  registerWorker(newWorker("w2"));
  const auto item = [](const std::string& worker) {
    return R"([{"name":"s","inline":false,"resource_id":"run/s")" +
           (worker.empty() ? "" : R"(,"worker_id":")" + worker + "\"") + "}]";
  };
  const Job job = pushAndClaim({.data = "1"}, "w1");
  EXPECT_EQ(faultOf(handIn(job, item("w2"))), "unknown_resource /artifacts/0/resource_id");
  const Job done = handIn(job, item("w1")).value();
  EXPECT_TRUE(has(done.artifacts, resource("run/s").uid)) << done.artifacts;
  EXPECT_EQ(resource("run/s").holder.text(), "worker:w1");
  EXPECT_EQ(resource("run/s").job, job.id.str());
  EXPECT_TRUE(handIn(job, item("w1"))) << "the same report again";

  const Job once = pushAndClaim({.data = "1"}, "w2");
  EXPECT_EQ(faultOf(handIn(once, R"([{"name":"s","inline":false,"resource_id":"x",)"
                                 R"("worker_id":"w2"}])")),
            "unknown_resource /artifacts/0/resource_id");
  const std::string note = R"([{"name":"s","inline":false,"resource_id":"x"}])";
  EXPECT_EQ(handIn(once, note)->artifacts, note);
  setPool(with<PoolSettings>([](auto& s) { s.strict_refs = true; }));
  EXPECT_EQ(faultOf(handIn(pushAndClaim(), note)), "unknown_resource /artifacts/0/resource_id");
}

TEST_P(ArtifactTest, an_item_can_name_what_is_registered) {
  const std::string uid = make("host/file");
  const Job job = pushAndClaim();
  const Job done =
      handIn(job, R"([{"name":"f","inline":false,"resource_id":"host/file"}])").value();
  EXPECT_TRUE(has(done.artifacts, uid)) << done.artifacts;
  EXPECT_TRUE(write([&](Store& s) { return s.jobs().remove(job.id); }));
  EXPECT_EQ(seen("host/file"), "active 0") << "the job did not make it";
}

TEST_P(ArtifactTest, a_pool_can_have_artifacts_in_its_results) {
  registerWorker(with<NewWorker>([](auto& w) { w = newWorker("w1"), w.mode = "loop"; }));
  setPool(with<PoolSettings>([](auto& s) { s.payload_refs = true; }));
  const std::string result =
      R"({"summary":"s","artifacts":[{"resourceId":"run/f","workerId":"w1","sizeBytes":5}]})";
  const Job job = pushAndClaim({.data = "1"}, "w1");
  const Job done = handIn(job, "", result).value();
  EXPECT_EQ(done.result, result);
  EXPECT_EQ(resource("run/f").size_bytes, 5);
  EXPECT_TRUE(has(done.artifacts, R"("name":"run/f")")) << done.artifacts;
  EXPECT_TRUE(handIn(job, "", result)) << "the same report again";
}

TEST_P(ArtifactTest, leases_of_a_try_end_with_it) {
  make("a");
  const Job job = pushAndClaim();
  write([&](Store& s) {
    return run(LeaseResource{.name = "a", .job = job.id, .lease_token = job.lease_token}, s);
  }).value();
  EXPECT_EQ(resource("a").lease_count, 1);
  release(job).value();
  EXPECT_EQ(resource("a").lease_count, 0);
}

}  // namespace
}  // namespace muster::test
