#pragma once

#include "app/cli/commands.h"

namespace CLI {
class App;
}

namespace muster {

// The options of the commands that look after workers; what is parsed goes into `options`.
void addCheckOptions(CLI::App& app, CheckCommand& options);
void addReapOptions(CLI::App& app, ReapCommand& options);
void addScaleOptions(CLI::App& app, ScaleCommand& options);
void addExplainOptions(CLI::App& app, ExplainCommand& options);
void addDecisionsOptions(CLI::App& app, DecisionsCommand& options);
void addTimelineOptions(CLI::App& app, TimelineCommand& options);
void addTopOptions(CLI::App& app, TopCommand& options);

}  // namespace muster
