#pragma once

#include <optional>
#include <string>

#include "models/operations/jobs.h"
#include "models/store/sql/resource_rows.h"
#include "tests/store/flow_fixture.h"
#include "tests/store/ref_recount.h"

namespace muster::test {

// Jobs and flows that refer to resources. After every test the counts must equal a recount.
class RefFixture : public FlowTest {
 protected:
  void TearDown() override {
    settle();
    for (const std::string& fault : read([](Store& s) { return refFaults(s); })) {
      ADD_FAILURE() << fault;
    }
    FlowTest::TearDown();
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
