#include "models/store/sql/job_artifacts.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/store/sql/pools.h"
#include "models/store/sql/resource_rows.h"

namespace muster {
namespace {

constexpr Sql kArtifactsOfJob{"SELECT " MUSTER_RESOURCE_COLUMNS
                              ", a.name, a.attempt FROM artifacts a JOIN resources r "
                              "ON r.resource_seq = a.resource_seq WHERE a.job_seq = $1 "
                              "ORDER BY a.name"};
constexpr int kArtifactNameColumn = 31, kArtifactAttemptColumn = 32;
constexpr Sql kPutArtifact{
    "INSERT INTO artifacts (job_seq, name, attempt, resource_seq) VALUES ($1, $2, $3, $4) "
    "ON CONFLICT (job_seq, name) DO UPDATE SET attempt = excluded.attempt, "
    "resource_seq = excluded.resource_seq"};
constexpr Sql kRemoveEarlier{
    "DELETE FROM artifacts WHERE job_seq = $1 AND attempt > 0 AND attempt < $2"};
constexpr Sql kLinkArtifacts{
    "UPDATE jobs SET links = coalesce(links, 0) | CAST($2 AS BIGINT) WHERE seq = $1"};
constexpr Sql kHolderOf{"SELECT mode, host FROM workers WHERE worker_id = $1 AND ended_at IS NULL"};
constexpr Sql kMarkMade{"UPDATE resources SET job_id = $2, attempt = $3 WHERE resource_seq = $1"};

std::string pointerOf(const NamedArtifact& item) {
  return fmt::format("/artifacts/{}", item.index);
}

// Of a result in the shape {"artifacts": […]}; empty if there is nothing of the kind.
std::string artifactsOfResult(const std::optional<std::string>& result) {
  if (!result) return {};
  const auto doc = JsonDoc::parse(*result);
  if (!doc || !doc->root().isObject()) return {};
  std::vector<FieldError> faults;
  ObjectReader in(doc->root(), "", faults);
  HandedArtifacts handed = readArtifacts(in, faults);
  return faults.empty() ? std::move(handed.json) : std::string();
}

}  // namespace

std::vector<JobArtifacts::Row> JobArtifacts::rowsOf(std::int64_t job) {
  std::vector<Row> all;
  auto rows = s_.db.query(kArtifactsOfJob, job);
  while (rows.next()) {
    ResourceRow resource = ResourceRows::read(*rows);
    all.push_back(
        {{rows->string(kArtifactNameColumn),
          static_cast<int>(rows->integer(kArtifactAttemptColumn)), std::move(resource.resource)},
         resource.seq});
  }
  return all;
}

std::vector<StoredArtifact> JobArtifacts::of(std::int64_t job) {
  std::vector<StoredArtifact> all;
  for (Row& row : rowsOf(job)) all.push_back(std::move(row.artifact));
  return all;
}

std::optional<StoredArtifact> JobArtifacts::find(std::int64_t job, std::string_view name) {
  for (Row& row : rowsOf(job)) {
    if (row.artifact.name == name) return std::move(row.artifact);
  }
  return std::nullopt;
}

void JobArtifacts::put(const JobRow& row, std::string_view name, std::int64_t resource) {
  s_.db.post(kPutArtifact, row.seq, name, row.job.attempts, resource);
  s_.db.post(kMarkMade, resource, row.job.id, row.job.attempts);
  if ((row.links & job_link::kHasArtifacts) == 0) {
    s_.db.post(kLinkArtifacts, row.seq, job_link::kHasArtifacts);
  }
}

void JobArtifacts::drop(const JobRow& row, std::span<const Row> stored) {
  bool any = false;
  for (const Row& each : stored) {
    if (each.artifact.attempt == 0 || each.artifact.attempt >= row.job.attempts) continue;
    s_.artifacts_dropped.push_back(each.resource);
    any = true;
  }
  if (any) s_.db.post(kRemoveEarlier, row.seq, row.job.attempts);
}

void JobArtifacts::dropEarlier(const JobRow& row) { drop(row, rowsOf(row.seq)); }

// A resource that nobody registered. A loop worker may hand over what it holds so.
std::optional<FieldError> JobArtifacts::judgeUnknown(const JobRow& row, const NamedArtifact& item) {
  const auto unknown = [&](std::string why) {
    return FieldError{pointerOf(item) + "/resource_id", "unknown_resource", std::move(why)};
  };
  if (item.worker.empty()) {
    const auto pool = Pools(s_).find(row.job.pool);
    if (!pool || !*pool->settings.strict_refs) return std::nullopt;  // it is a note
    return unknown(fmt::format("nobody registered a resource '{}', and the pool has strict_refs",
                               item.resource));
  }
  if (item.worker != row.job.claimed_by) {
    return unknown(fmt::format("nobody registered a resource '{}' of worker '{}'", item.resource,
                               item.worker));
  }
  auto worker = s_.db.query(kHolderOf, item.worker);
  if (!worker.next() || worker->text(0) != "loop") {
    return unknown(
        fmt::format("worker '{}' cannot hold '{}': only one that registered with mode "
                    "loop can",
                    item.worker, item.resource));
  }
  if (!isResourceId(item.resource)) return unknown("a uid is made by the service");
  return std::nullopt;
}

Result<std::vector<JobArtifacts::Named>> JobArtifacts::judge(const JobRow& row,
                                                             const std::string& handed,
                                                             std::span<const Row> stored) {
  std::vector<Named> all;
  std::vector<FieldError> faults;
  for (NamedArtifact& item : namedArtifacts(handed)) {
    const auto put = std::find_if(stored.begin(), stored.end(), [&](const Row& each) {
      if (each.artifact.attempt != row.job.attempts) return false;
      const Resource& resource = each.artifact.resource;
      return each.artifact.name == item.name || item.resource == resource.id ||
             item.resource == resource.uid;
    });
    if (put != stored.end()) {
      if (item.is_inline) {
        faults.push_back({pointerOf(item) + "/name", "duplicate_name",
                          fmt::format("an artifact '{}' was stored in this try", item.name)});
      }
      continue;
    }
    if (item.resource.empty() || item.is_inline) continue;
    auto found = ResourceRows(s_).find(item.resource);
    if (found && isLiving(found->resource.state)) {
      const Resource& resource = found->resource;
      if (!resource.tenant.empty() && resource.tenant != row.job.tenant) {
        faults.push_back({pointerOf(item) + "/resource_id", "other_tenant",
                          fmt::format("resource '{}' belongs to another tenant", item.resource)});
      }
      all.push_back({found->seq, std::move(item), std::move(found->resource)});
    } else if (auto fault = judgeUnknown(row, item)) {
      faults.push_back(*std::move(fault));
    } else if (!item.worker.empty()) {
      all.push_back({0, std::move(item)});
    }
  }
  if (faults.empty()) return all;
  return tl::unexpected(
      Error{ErrorCode::kInvalid, "the artifacts cannot be taken so", std::move(faults)});
}

void JobArtifacts::registerAsHeld(const JobRow& row, Named& named) {
  const NamedArtifact& item = named.item;
  ResourceRow made;
  Resource& resource = made.resource;
  resource.uid = std::string(kUidPrefix) + s_.ids.next(s_.now);
  resource.id = item.resource;
  resource.type = item.type.empty() ? "artifact" : item.type;
  resource.holder = {Holder::Kind::kWorker, item.worker};
  resource.worker = item.worker;
  {
    auto worker = s_.db.query(kHolderOf, item.worker);
    if (worker.next()) resource.host = worker->string(1);
  }
  resource.tenant = row.job.tenant;
  resource.size_bytes = item.size_bytes;
  if (item.expires_at) resource.ttl = std::max(*item.expires_at - s_.now, Millis(1));
  resource.metadata = item.metadata;
  resource.job = row.job.id.str();
  resource.attempt = row.job.attempts;
  ResourceRows(s_).insert(made);
  named.resource = made.seq;
  named.shown = std::move(resource);
}

Result<std::string> JobArtifacts::keep(const JobRow& row, const std::optional<std::string>& result,
                                       const std::string& handed) {
  std::vector<Row> stored;
  if ((row.links & job_link::kHasArtifacts) != 0) stored = rowsOf(row.seq);
  for (const Row& each : stored) {
    const Resource& resource = each.artifact.resource;
    if (each.artifact.attempt != row.job.attempts || resource.state != ResourceState::kUploading) {
      continue;
    }
    Error error = notStored(resource).value();
    error.detail = fmt::format("artifact '{}' is still being uploaded", each.artifact.name);
    return tl::unexpected(std::move(error));
  }
  std::string items = handed;
  if (items.empty() && mayRegister(result, {})) {
    const auto pool = Pools(s_).find(row.job.pool);
    if (pool && *pool->settings.payload_refs) items = artifactsOfResult(result);
  }
  auto judged = judge(row, items, stored);
  if (!judged) return tl::unexpected(std::move(judged).error());
  drop(row, stored);
  std::vector<StoredArtifact> shown;
  for (Row& each : stored) {
    if (each.artifact.attempt == row.job.attempts && isLiving(each.artifact.resource.state)) {
      shown.push_back(std::move(each.artifact));
    }
  }
  for (Named& named : *judged) {
    const bool made = named.resource == 0;
    if (made) registerAsHeld(row, named);
    s_.db.post(kPutArtifact, row.seq, named.item.name, made ? row.job.attempts : 0, named.resource);
    shown.push_back({named.item.name, made ? row.job.attempts : 0, std::move(named.shown)});
  }
  if (!judged->empty() && (row.links & job_link::kHasArtifacts) == 0) {
    s_.db.post(kLinkArtifacts, row.seq, job_link::kHasArtifacts);
  }
  return mergeArtifacts(items, shown);
}

}  // namespace muster
