#include "app/cli/scaling_options.h"

#include <CLI/CLI.hpp>

namespace muster {
namespace {

constexpr int kMostWorkers = 1'000'000;
constexpr double kYearSeconds = 365.0 * 24 * 3600;

CLI::Option* addPool(CLI::App& app, std::string& pool, const char* help) {
  return app.add_option("--pool", pool, help)->type_name("POOL");
}

}  // namespace

void addCheckOptions(CLI::App& app, CheckCommand& options) {
  addPool(app, options.pool, "pool to check; without it every pool that has a template");
  app.add_flag("--explain", options.explain, "only say what would be done, and why");
  app.add_option("--max-workers", options.max_workers, "lower limit than the pool's, for this once")
      ->type_name("N")
      ->check(CLI::Range(0, kMostWorkers));
}

void addReapOptions(CLI::App& app, ReapCommand& options) {
  addPool(app, options.pool, "only workers of this pool");
  app.add_flag("--dry-run", options.dry_run, "only say whom it would take");
  app.add_option("--stale-threshold-seconds", options.stale_threshold_seconds,
                 "how long a worker may be silent; else what its pool says")
      ->type_name("S")
      ->check(CLI::Range(0.001, kYearSeconds));
}

void addScaleOptions(CLI::App& app, ScaleCommand& options) {
  addPool(app, options.pool, "name of the pool")->required();
  app.add_option("--target-workers", options.target_workers,
                 "keep so many workers; without it the present state is shown")
      ->type_name("N")
      ->check(CLI::Range(0, kMostWorkers));
}

void addExplainOptions(CLI::App& app, ExplainCommand& options) {
  app.add_option("FIGURE", options.figures, "what is so, and what is set, like queue_depth=100")
      ->required();
}

void addDecisionsOptions(CLI::App& app, DecisionsCommand& options) {
  addPool(app, options.pool, "name of the pool")->required();
  app.add_option("-n,--limit", options.limit, "most lines to show (20)")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N");
}

void addTimelineOptions(CLI::App& app, TimelineCommand& options) {
  app.add_option("POOL", options.pool, "name of the pool")->required();
  app.add_option("--from", options.from, "where it begins, like 2026-01-15T08:30:00Z; an hour ago")
      ->type_name("TIME");
  app.add_option("--to", options.to, "where it ends; now")->type_name("TIME");
  app.add_option("-n,--buckets", options.buckets, "most lines to show (30)")
      ->check(CLI::Range(1, 500))
      ->type_name("N");
}

void addTopOptions(CLI::App& app, TopCommand& options) {
  addPool(app, options.pool, "only this pool and its workers");
  app.add_option("--interval-seconds", options.interval_seconds, "how often to look (1)")
      ->type_name("S")
      ->check(CLI::Range(0.1, 3600.0));
  app.add_flag("--once", options.once, "print it once and end, as when stdout is no terminal");
}

}  // namespace muster
