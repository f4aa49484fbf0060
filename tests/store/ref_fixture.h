#pragma once

#include <optional>
#include <string>

#include "models/operations/artifacts.h"
#include "models/operations/jobs.h"
#include "models/operations/resources.h"
#include "models/store/sql/resource_rows.h"
#include "tests/store/flow_fixture.h"
#include "tests/store/ref_recount.h"
#include "tests/store/resource_fixture.h"
#include "tests/store/resource_recount.h"

namespace muster::test {

// Jobs and flows that refer to resources. After every test the counts must equal a recount.
class RefFixture : public FlowTest {
 protected:
  RefFixture() {
    rules.resources.blobs = &blobs;
    reopen();
    EXPECT_TRUE(write([](Store& s) { return run(AnnouncePlace{"", "http://here"}, s); }));
  }
  void TearDown() override {
    FlowTest::TearDown();
    EXPECT_EQ(read(refFaults), Names());
    EXPECT_EQ(read(resourceCounterFaults), Names());
    storage.reset();  // its threads know the place
  }

  // An active one with this id, without bytes unless `change` says more; its uid.
  template <class Change>
  std::string make(const std::string& id, Change change) {
    return write([&](Store& s) {
      ResourceRow row;
      row.resource.uid = std::string(kUidPrefix) + s.session.ids.next(s.now());
      row.resource.id = id;
      row.resource.type = "file";
      change(row.resource);
      ResourceRows(s.session).insert(row);
      return row.resource.uid;
    });
  }
  std::string make(const std::string& id) {
    return make(id, [](Resource&) {});
  }
  Resource resource(const std::string& name) {
    return read([&](Store& s) { return ResourceRows(s.session).find(name)->resource; });
  }
  // "active 2", "evicted released": the state, with the count of refs or the reason.
  std::string seen(const std::string& name) {
    const Resource found = resource(name);
    const std::string state(muster::name(found.state));
    if (!found.reason.empty()) return state + " " + found.reason;
    return state + " " + std::to_string(found.ref_count);
  }
  void evict(const std::string& name, std::string_view reason = resource_reason::kDeleted,
             bool force = false) {
    write([&](Store& s) {
      s.settleEnded();
      auto row = ResourceRows(s.session).find(name).value();
      ResourceRows(s.session).evict(row, reason, force);
    });
  }

  static NewJob referring(const Names& resources) {
    NewJob job{.data = "1"};
    for (const std::string& each : resources) job.refs.push_back({each, "", ""});
    return job;
  }
  Result<PushJobs::Reply> pushAll(const PushJobs& op) {
    return write([&](Store& s) { return run(op, s); });
  }
  Result<Job> tryPushRefs(const NewJob& job, const std::string& pool = "p") {
    auto pushed = pushAll({PoolId(pool), {job}});
    if (!pushed) return tl::unexpected(pushed.error());
    return std::move(pushed->front().job);
  }
  Job pushRefs(const Names& resources) { return tryPushRefs(referring(resources)).value(); }
  Job claimId(const JobId& id) { return claimOne(id).value(); }

  // The artifact of a claimed job, without its content.
  Result<Resource> tryPut(const Job& job, const std::string& name, NewResource given = {}) {
    if (given.type.empty()) given.type = "file";
    return write([&](Store& s) {
      return run(RegisterArtifact{job.id, job.lease_token, name, given}, s);
    });
  }
  Result<Resource> upload(const std::string& uid, char sum = 'a') {
    return write([&](Store& s) -> Result<Resource> {
      auto begun = run(BeginPart{uid, {}, 10}, s);
      if (!begun) return begun;
      blobs.uploads.insert(begun->uid);
      return run(FinishUpload{begun->uid, 10, std::string(64, sum)}, s);
    });
  }
  // With content; its uid.
  std::string put(const Job& job, const std::string& name, const NewResource& given = {}) {
    return upload(tryPut(job, name, given).value().uid).value().uid;
  }
  Result<Job> handIn(const Job& job, const std::string& artifacts,
                     std::optional<std::string> result = {}) {
    return write([&](Store& s) {
      return s.jobs().complete(job.id, {job.lease_token, ""}, result, artifacts);
    });
  }
  std::string artifactsOf(const JobId& id) {
    return read([&](Store& s) { return run(ListArtifacts{id}, s); })->items;
  }

  FakeBlobs blobs;
};

// "code /pointer" of the first field, or the code.
template <class T>
std::string faultOf(const Result<T>& result) {
  if (result) return "";
  const Error& error = result.error();
  if (error.fields.empty()) return std::string(describe(error.code).name);
  return error.fields[0].code + " " + error.fields[0].pointer;
}

}  // namespace muster::test
