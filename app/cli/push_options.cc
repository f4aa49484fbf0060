#include "app/cli/push_options.h"

#include <CLI/CLI.hpp>

namespace muster {

void addPushOptions(CLI::App& app, PushCommand& options) {
  app.add_option("POOL", options.pool, "name of the pool")->required();
  auto* data = app.add_option("--data", options.data, "the job's data")->type_name("JSON");
  app.add_option("--file", options.file, "read the data from a file; - is stdin, as without")
      ->type_name("FILE")
      ->excludes(data);
  auto* lines = app.add_flag("--lines", options.lines, "one job per line, sent 1000 at a time")
                    ->excludes(data);
  addNewJobOptions(app, options);
  app.add_option("--wait", options.wait_seconds, "wait for the result")
      ->type_name("SECONDS")
      ->check(CLI::Range(0, 86400))
      ->excludes(lines);
  app.add_option("--count", options.count, "push the same data so many times")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000))
      ->excludes(lines);
}

void addNewJobOptions(CLI::App& app, NewJobOptions& options) {
  app.add_option("--priority", options.priority, "higher first (0)")->type_name("N");
  app.add_option("--delay", options.delay_seconds, "not before that many seconds have passed")
      ->type_name("SECONDS");
  app.add_option("--max-retries", options.max_retries, "tries in all")->type_name("N");
  app.add_option("--retry-base-ms", options.retry_base_ms, "delay after the first failure")
      ->type_name("MS");
  app.add_option("--retry-cap-ms", options.retry_cap_ms, "longest delay")->type_name("MS");
  app.add_option("--retry-jitter", options.retry_jitter, "share by which the delay varies")
      ->type_name("0..1");
  app.add_option("--tenant", options.tenant, "whom the job belongs to")->type_name("NAME");
  app.add_option("--unique-key", options.unique_key, "at most one live job with this key")
      ->type_name("KEY");
}

}  // namespace muster
