#include "tests/store/ref_recount.h"

#include <fmt/format.h>

#include "models/store/store.h"

namespace muster::test {
namespace {

constexpr Sql kCounted{
    "SELECT r.resource_seq, r.resource_id, r.state, r.ref_count, r.lease_count, r.expires_at, "
    "r.holder, (SELECT count(*) FROM job_refs f JOIN jobs j ON j.seq = f.job_seq "
    "WHERE f.resource_seq = r.resource_seq AND j.status IN ('blocked', 'pending', 'claimed')) "
    "FROM resources r ORDER BY r.resource_seq"};
constexpr Sql kRefsWithoutJob{
    "SELECT f.job_seq FROM job_refs f WHERE NOT EXISTS (SELECT 1 FROM jobs j "
    "WHERE j.seq = f.job_seq)"};
constexpr Sql kArtifactsWithoutJob{
    "SELECT a.job_seq FROM artifacts a WHERE NOT EXISTS (SELECT 1 FROM jobs j "
    "WHERE j.seq = a.job_seq)"};
constexpr Sql kUnlinked{
    "SELECT j.id FROM jobs j WHERE (EXISTS (SELECT 1 FROM job_refs f WHERE f.job_seq = j.seq) "
    "AND (coalesce(j.links, 0) & 4) = 0) OR (EXISTS (SELECT 1 FROM artifacts a "
    "WHERE a.job_seq = j.seq) AND (coalesce(j.links, 0) & 256) = 0)"};

}  // namespace

std::vector<std::string> refFaults(Store& store) {
  std::vector<std::string> faults;
  SqlConnection& db = store.session.db;
  {
    auto rows = db.query(kCounted);
    while (rows.next()) {
      const std::string what =
          fmt::format("resource {} ({}, {})", rows->string(1), rows->integer(0), rows->string(2));
      if (rows->integer(3) != rows->integer(7)) {
        faults.push_back(fmt::format("{} counts {} refs of living jobs, and there are {}", what,
                                     rows->integer(3), rows->integer(7)));
      }
      if (rows->integer(3) > 0 && !rows->isNull(5)) faults.push_back(what + " would expire in use");
      const bool is_used = rows->integer(3) > 0 || rows->integer(4) > 0;
      const bool is_ours = rows->text(6) == "store" || rows->text(6) == "external";
      if (rows->text(2) == "evicting" && !is_used && is_ours) {
        faults.push_back(what + " waits for a user that has gone");
      }
    }
  }
  const auto each = [&](Sql sql, const std::string& text) {
    auto rows = db.query(sql);
    while (rows.next()) faults.push_back(text + rows->string(0));
  };
  each(kRefsWithoutJob, "refs are left of job ");
  each(kArtifactsWithoutJob, "artifacts are left of job ");
  each(kUnlinked, "the links do not say what there is of job ");
  return faults;
}

}  // namespace muster::test
