#include "tests/store/resource_recount.h"

#include <fmt/format.h>

#include <map>

#include "models/store/sql/resource_rows.h"
#include "models/store/store.h"

namespace muster::test {
namespace {

constexpr Sql kEveryResource{MUSTER_SELECT_RESOURCE "ORDER BY r.resource_seq"};
constexpr Sql kEveryLease{"SELECT resource_seq, count(*) FROM resource_leases GROUP BY 1"};
constexpr Sql kEveryReader{
    "SELECT f.resource_seq, count(*) FROM job_refs f JOIN jobs j ON j.seq = f.job_seq "
    "WHERE j.status IN ('blocked', 'pending', 'claimed') GROUP BY 1"};
constexpr Sql kEveryBlob{
    "SELECT place_id, sha256, size_bytes, users, doomed_at FROM blobs ORDER BY 1, 2"};
constexpr Sql kEveryPlace{"SELECT place_id, blob_bytes, used_bytes FROM places"};
constexpr Sql kEveryUsage{"SELECT tenant, disk_bytes FROM tenant_usage"};
constexpr Sql kEveryCount{"SELECT holder, state, count, size_bytes FROM resource_counts"};

using Numbers = std::map<std::string, std::int64_t>;

class ResourceRecount {
 public:
  explicit ResourceRecount(Store& store) : db_(store.session.db) {}

  std::vector<std::string> faults() {
    checkUses();
    checkBlobs();
    checkUsage();
    checkCounts();
    return std::move(faults_);
  }

 private:
  void same(const std::string& what, std::int64_t kept, std::int64_t meant) {
    if (kept != meant) faults_.push_back(fmt::format("{}: {} and not {}", what, kept, meant));
  }
  // Names without a number count as 0.
  void same(const std::string& what, Numbers kept, const Numbers& meant) {
    for (const auto& [name, number] : meant) kept.try_emplace(name, 0);
    for (const auto& [name, number] : kept) {
      const auto other = meant.find(name);
      same(what + " " + name, number, other == meant.end() ? 0 : other->second);
    }
  }
  std::map<std::int64_t, std::int64_t> bySeq(Sql sql) {
    std::map<std::int64_t, std::int64_t> numbers;
    auto rows = db_.query(sql);
    while (rows.next()) numbers[rows->integer(0)] = rows->integer(1);
    return numbers;
  }

  void checkUses() {
    resources_ = ResourceRows::readAll(db_.query(kEveryResource));
    auto leases = bySeq(kEveryLease), readers = bySeq(kEveryReader);
    for (const ResourceRow& row : resources_) {
      const Resource& resource = row.resource;
      same("leases of " + resource.id, resource.lease_count, leases[row.seq]);
      same("refs of " + resource.id, resource.ref_count, readers[row.seq]);
      if (resource.expires_at && (row.isUsed() || resource.state != ResourceState::kActive)) {
        faults_.push_back(resource.id + " is used, or not active, and expires");
      }
      const bool waits = resource.state == ResourceState::kActive && !row.isUsed() && resource.ttl;
      if (waits && !resource.expires_at) faults_.push_back(resource.id + " never expires");
      if (resource.state == ResourceState::kEvicting && !row.isUsed() &&
          !isHeldElsewhere(resource)) {
        faults_.push_back(resource.id + " is evicting, and nothing holds it up");
      }
    }
  }

  void checkBlobs() {
    Numbers users;
    for (const auto& [seq, body, resource] : resources_) {
      if (resource.stored) users[resource.place + " " + resource.sha256] += 1;
    }
    Numbers kept, bytes, used;
    {
      auto rows = db_.query(kEveryBlob);
      while (rows.next()) {
        const std::string place = rows->string(0);
        kept[place + " " + rows->string(1)] = rows->integer(3);
        bytes[place] += rows->integer(2);
        if (rows->integer(3) > 0) used[place] += rows->integer(2);
        if ((rows->integer(3) == 0) == rows->isNull(4)) {
          faults_.push_back("blob " + rows->string(1) + " is doomed and used, or neither");
        }
      }
    }
    same("users of", kept, users);
    auto rows = db_.query(kEveryPlace);
    while (rows.next()) {
      same("blob_bytes", rows->integer(1), bytes[rows->string(0)]);
      same("used_bytes", rows->integer(2), used[rows->string(0)]);
    }
  }

  void checkUsage() {
    Numbers kept, meant;
    for (const auto& [seq, body, resource] : resources_) {
      if (!resource.tenant.empty()) meant[resource.tenant] += usageOf(resource);
    }
    auto rows = db_.query(kEveryUsage);
    while (rows.next()) kept[rows->string(0)] = rows->integer(1);
    same("usage of", kept, meant);
  }

  void checkCounts() {
    Numbers kept, meant;
    for (const auto& [seq, body, resource] : resources_) {
      if (!isLiving(resource.state)) continue;
      const std::string what =
          fmt::format("{} {}", name(resource.holder.kind), name(resource.state));
      meant[what] += 1;
      meant[what + " bytes"] += resource.size_bytes.value_or(0);
    }
    auto rows = db_.query(kEveryCount);
    while (rows.next()) {
      const std::string what = rows->string(0) + " " + rows->string(1);
      kept[what] = rows->integer(2);
      kept[what + " bytes"] = rows->integer(3);
    }
    same("count of", kept, meant);
  }

  SqlConnection& db_;
  std::vector<ResourceRow> resources_;
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> resourceCounterFaults(Store& store) {
  return ResourceRecount(store).faults();
}

}  // namespace muster::test
