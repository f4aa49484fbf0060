#include "app/cli/pool_bulk_options.h"

#include <CLI/CLI.hpp>
#include <limits>

namespace muster {

void addPoolBulkOptions(CLI::App& app, PoolBulkCommand& options) {
  const bool purges = options.bulk == PoolBulkCommand::Bulk::kPurge;
  const std::vector<std::string> statuses =
      purges ? std::vector<std::string>{"done", "poisoned", "cancelled"}
             : std::vector<std::string>{"poisoned", "cancelled"};
  app.add_option("--status", options.statuses,
                 purges ? "done, poisoned or cancelled (done,cancelled)"
                        : "poisoned or cancelled (poisoned)")
      ->type_name("STATUS")
      ->delimiter(',')
      ->check(CLI::IsMember(statuses));
  app.add_option("--tenant", options.tenant, "only jobs of this tenant")->type_name("NAME");
  app.add_option("--error-class", options.error_class,
                 "only jobs whose last try failed so; see `muster jobs attempts`")
      ->type_name("CLASS");
  app.add_option("--error-contains", options.error_contains, "only jobs with this in their error")
      ->type_name("TEXT");
  app.add_option("--created-after", options.created_after, "only jobs pushed after this time")
      ->type_name("TIME");
  app.add_option("--created-before", options.created_before, "only jobs pushed before this time")
      ->type_name("TIME");
  app.add_option("--failed-after", options.failed_after, "only jobs that ended after this time")
      ->type_name("TIME");
  if (purges) {
    app.add_option("--older-than", options.older_than_seconds, "only jobs that ended longer ago")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.0, 1e10));
  }
  app.add_option("--limit", options.limit, "most jobs")
      ->type_name("N")
      ->check(CLI::Range(1, std::numeric_limits<std::int32_t>::max()));
}

}  // namespace muster
