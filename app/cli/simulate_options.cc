#include "app/cli/simulate_options.h"

#include <CLI/CLI.hpp>

namespace muster {

void addSimulateOptions(CLI::App& app, SimulateCommand& options) {
  app.add_option("POOL", options.pool, "name of the pool")->required();
  app.add_option("SETTING", options.assignments,
                 "settings to try, like max_workers=4; without any, the pool's own");
  app.add_option("--compare", options.compare, "another policy, its settings in one argument")
      ->type_name("SETTINGS")
      ->allow_extra_args(false);
  app.add_option("--from", options.from, "begin of the record; else its first job")
      ->type_name("TIME");
  app.add_option("--to", options.to, "end of the record; else now")->type_name("TIME");
}

}  // namespace muster
