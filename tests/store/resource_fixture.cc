#include "tests/store/resource_fixture.h"

#include "models/store/sql/resource_rows.h"
#include "tests/store/resource_recount.h"

namespace muster::test {

ResourceTest::ResourceTest() {
  rules.resources.blobs = &blobs;
  reopen();
  announce();
}

void ResourceTest::TearDown() {
  StoreTest::TearDown();
  expectRecount();
  storage.reset();  // its threads know the place
}

void ResourceTest::expectRecount() {
  EXPECT_EQ(read(resourceCounterFaults), Names());
  std::string cursor;
  do {
    const auto page = look(ListResources{.cursor = cursor}).value();
    for (const Resource& resource : page.resources) {
      if (!resource.stored || resource.place != blobs.id) continue;
      EXPECT_TRUE(blobs.has(resource.sha256)) << resource.id << " is not in the place";
    }
    cursor = page.next_cursor;
  } while (!cursor.empty());
}

NewResource ResourceTest::stored(const std::string& id, std::optional<std::int64_t> bytes,
                                 const std::string& sha256, const std::string& tenant) {
  NewResource made;
  made.id = id;
  made.type = "file";
  made.size_bytes = bytes;
  made.sha256 = sha256;
  made.tenant = tenant;
  return made;
}

NewResource ResourceTest::held(const std::string& id, const Holder& holder) {
  NewResource made;
  made.id = id;
  made.type = "file";
  made.holder = holder;
  if (holder.kind == Holder::Kind::kExternal) made.uri = "s3://b/" + id;
  return made;
}

Result<Resource> ResourceTest::upload(const std::string& name, const std::string& sha256,
                                      std::int64_t bytes) {
  const auto begun = act(BeginPart{name, {}, bytes});
  if (!begun) return begun;
  blobs.uploads.insert(begun->uid);
  return act(FinishUpload{begun->uid, bytes, sha256});
}

Resource ResourceTest::keep(const std::string& id, const std::string& sha256, std::int64_t bytes,
                            const std::string& tenant) {
  const auto made = act(RegisterResource{stored(id, {}, "", tenant)}).value();
  return upload(made.resource.uid, sha256, bytes).value();
}

void ResourceTest::refer(const JobId& job, const std::string& name) {
  constexpr static Sql kRefer{
      "INSERT INTO job_refs (job_seq, resource_seq, name, is_input) VALUES ($1, $2, 'in', 0)"};
  constexpr static Sql kMark{"UPDATE jobs SET links = coalesce(links, 0) | 4 WHERE seq = $1"};
  write([&](Store& store) {
    ResourceRows resources(store.session);
    auto row = resources.find(name).value();
    const std::int64_t seq = store.jobs().load(job, false)->seq;
    store.session.db.post(kRefer, seq, row.seq);
    store.session.db.post(kMark, seq);
    resources.addUses(row, 1, 0);
  });
}

void ResourceTest::forget(const JobId& job, const std::string& name) {
  constexpr static Sql kForget{"DELETE FROM job_refs WHERE job_seq = $1 AND resource_seq = $2"};
  write([&](Store& store) {
    ResourceRows resources(store.session);
    auto row = resources.find(name).value();
    store.session.db.post(kForget, store.jobs().load(job, false)->seq, row.seq);
    resources.addUses(row, -1, 0);
  });
}

Resource ResourceTest::find(const std::string& name) { return look(FindResource{name}).value(); }

std::int64_t ResourceTest::usage(const std::string& tenant) {
  constexpr static Sql kUsage{"SELECT disk_bytes FROM tenant_usage WHERE tenant = $1"};
  return read([&](Store& store) {
    auto rows = store.session.db.query(kUsage, tenant);
    return rows.next() ? rows->integer(0) : 0;
  });
}

std::string memberOf(const Error& error, std::string_view name) {
  for (const auto& [member, json] : error.members) {
    if (member == name) return json;
  }
  return "";
}

}  // namespace muster::test
