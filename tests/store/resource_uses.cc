#include "tests/store/resource_uses.h"

#include "models/operations/hosts.h"
#include "models/store/sql/hosts.h"
#include "models/store/sql/resource_rows.h"

namespace muster::test {
namespace {

class ResourceUse {
 public:
  ResourceUse(Storage& storage, FakeBlobs& blobs, int count)
      : storage_(storage), blobs_(blobs), count_(count) {}

  void make() {
    write([&](Store& s) {
      EXPECT_TRUE(run(AnnouncePlace{"", "http://here"}, s));
      NewWorker worker = newWorker("rw", "rh");
      worker.mode = "loop";
      s.workers().registerWorker(worker);
      for (int i = 0; i < count_; ++i) put(s, {Holder::Kind::kExternal, ""}, i);
      put(s, {Holder::Kind::kHost, "rh"}, 0);
      put(s, {Holder::Kind::kWorker, "rw"}, 0);
    });
    for (int i = 0; i < 4; ++i) upload(std::string(64, static_cast<char>('a' + i)), 300);
    upload(std::string(64, 'a'), 300);
  }
  void use() {
    write([&](Store& s) {
      const auto pool = s.pools().findOrCreate(PoolId("r")).value();
      const JobId id = s.jobs().push(*pool, {.data = "1"}).job.id;
      const auto traits = s.workers().claimer(WorkerId("rw"))->traits;
      const Job job = s.jobs().claimOne(*pool, "rw", traits, id).value();
      const ResourceCaller rw{.worker = "rw"};
      const auto lease = run(LeaseResource{.name = names_[0], .worker = "rw"}, s).value();
      EXPECT_TRUE(run(LeaseResource{.name = names_[0], .worker = "rw"}, s));
      EXPECT_TRUE(run(ReleaseResource{names_[0], lease.lease_id}, s));
      EXPECT_TRUE(
          run(LeaseResource{.name = names_[0], .job = id, .lease_token = job.lease_token}, s));
      EXPECT_TRUE(run(TouchResource{names_[0]}, s));
      EXPECT_TRUE(run(ReleaseScope{"job:" + id.str(), rw}, s));
      EXPECT_FALSE(run(ReleaseScope{"flow:none", rw}, s));
      EXPECT_FALSE(run(FindResource{names_[0], rw}, s));
      ResourceRows resources(s.session);
      auto row = resources.find(names_[1]).value();
      resources.addUses(row, 1, 0);
      EXPECT_FALSE(run(FindResource{names_[1], rw}, s)) << "asks for its readers";
      EXPECT_TRUE(run(FindResource{names_[1]}, s));
      resources.addUses(row, -1, 0);
      s.jobs().complete(id, {job.lease_token, ""}, "1", "").value();
    });
    const Status seen = storage_.readAndWait([&](Store& s) {
      for (const ListResources& op :
           {ListResources{}, ListResources{.resource_id = names_[0]},
            ListResources{.scope = "scope"}, ListResources{.holder = "external"},
            ListResources{.job = "none"}, ListResources{.state = ResourceState::kEvicted}}) {
        EXPECT_TRUE(run(op, s));
      }
      EXPECT_TRUE(run(FindContent{uids_.back()}, s));
      EXPECT_TRUE(run(FindStrayUploads{uids_}, s));
      EXPECT_TRUE(run(CountResources{}, s));
    });
    EXPECT_TRUE(seen) << seen.error().detail;
  }
  void tellOfHolders() {
    SyncHost sync{.host = "rh", .folder_id = "f", .data_dir = "/d"};
    sync.disk_bytes_in_use = 1'000'000;
    write([&](Store& s) {
      const std::string uid = run(FindResource{ofHost()}, s).value().uid;
      sync.resources = {{uid, 3, ""}, {"u~none", 3, ""}};
      EXPECT_EQ(run(sync, s).value().unknown, Names{"u~none"});
      sync.complete = true;
      EXPECT_EQ(run(sync, s).value().evict, Names{uid});
      EXPECT_TRUE(run(TendHolders{}, s));
    });
    write([this](Store& s) {
      WorkerChange beat;
      beat.metrics = "{}";
      beat.use.mem_bytes = std::int64_t{1} << 50;
      EXPECT_EQ(s.workers().heartbeat(WorkerId("rw"), beat).value().commands.size(), 1U);
      beat.use = {};
      beat.removed = {ofWorker()};
      EXPECT_TRUE(s.workers().heartbeat(WorkerId("rw"), beat).value().commands.empty());
    });
    write([this](Store& s) {
      put(s, {Holder::Kind::kWorker, "rw"}, 2);
      Worker silent = s.workers().find(WorkerId("rw")).value();
      s.workers().end(silent, worker_status::kLost, "no heartbeat");
      EXPECT_TRUE(run(TendHolders{}, s));
      NewWorker again = newWorker("rw", "rh");
      again.mode = "loop";
      s.workers().registerWorker(again);
      put(s, {Holder::Kind::kWorker, "rw"}, 3), put(s, {Holder::Kind::kHost, "rh"}, 3);
    });
    const Status seen = storage_.readAndWait([](Store& s) {
      EXPECT_TRUE(run(ListHosts{}, s));
      EXPECT_TRUE(run(FindHost{"rh"}, s));
      EXPECT_TRUE(run(SumWorkerResources{}, s));
      EXPECT_EQ(Hosts(s.session).stateOf("nowhere"), HostState::kLost);
    });
    EXPECT_TRUE(seen) << seen.error().detail;
    write([](Store& s) {
      EXPECT_TRUE(run(ForgetHost{"rh"}, s));
      EXPECT_TRUE(run(TendHolders{}, s));
      EXPECT_TRUE(run(RemoveOldHosts{s.now()}, s));
    });
  }
  void end() {
    write([&](Store& s) {
      EXPECT_TRUE(run(DeleteResource{names_[0]}, s));
      EXPECT_TRUE(run(ReleaseScope{"scope"}, s));
      EXPECT_GE(run(TendPlace{{std::string(64, 'f')}}, s).value().evicted, 1);
      s.session.now += Seconds(9000);
      EXPECT_TRUE(run(ExpireResources{}, s));
      EXPECT_GE(run(TendPlace{}, s).value().removed, 1);
      WorkerChange end;
      end.status = "terminated";
      s.workers().change(WorkerId("rw"), end).value();
      EXPECT_GE(run(RemoveGoneResources{s.now() + Seconds(1), 10'000}, s).value(), 1);
    });
  }

 private:
  // What make() registered behind the external ones.
  const std::string& ofHost() const { return names_[static_cast<std::size_t>(count_)]; }
  const std::string& ofWorker() const { return names_[static_cast<std::size_t>(count_) + 1]; }
  void put(Store& s, const Holder& holder, int number) {
    NewResource given;
    given.id = holder.text() + "/" + std::to_string(number);
    given.type = "file";
    given.holder = holder;
    if (number % 2 == 0) given.scope = "scope";
    const auto made = run(RegisterResource{given}, s);
    ASSERT_TRUE(made) << made.error().detail;
    names_.push_back(made->resource.id);
  }
  void upload(const std::string& sha256, std::int64_t bytes) {
    std::string uid;
    write([&](Store& s) {
      NewResource given;
      given.type = "file";
      given.tenant = "t";
      uid = run(RegisterResource{given}, s).value().resource.uid;
      EXPECT_TRUE(run(BeginPart{uid, 0, bytes}, s));
      EXPECT_TRUE(run(AdvanceUpload{uid, 0, 1}, s));
      EXPECT_TRUE(run(BeginPart{uid, {}, bytes}, s));
      blobs_.uploads.insert(uid);
      EXPECT_TRUE(run(FinishUpload{uid, bytes, sha256}, s));
      given.sha256 = sha256;
      given.size_bytes = bytes;
      EXPECT_TRUE(run(RegisterResource{given}, s));
      given.sha256.clear();
      EXPECT_TRUE(run(RegisterResource{given}, s)) << "an upload that does not come";
    });
    uids_.push_back(uid);
  }
  void write(const Storage::Unit& unit) {
    const Status status = storage_.writeAndWait(unit);
    ASSERT_TRUE(status) << status.error().detail;
  }

  Storage& storage_;
  FakeBlobs& blobs_;
  const int count_;
  Names names_, uids_;
};

}  // namespace

ResourceRules rulesForUses(FakeBlobs& blobs) {
  ResourceRules rules;
  rules.blobs = &blobs;
  rules.max_disk_bytes = 1300;
  rules.tenant_max_disk_bytes = 1'000'000;
  return rules;
}

void useResources(Storage& storage, FakeBlobs& blobs, int count) {
  ResourceUse use(storage, blobs, count);
  use.make();
  use.use();
  use.tellOfHolders();
  use.end();
}

}  // namespace muster::test
