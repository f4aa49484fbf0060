#include "controllers/simulation_controller.h"

#include "models/json/json_reader.h"
#include "models/json/simulation_json.h"

namespace muster {
namespace {

constexpr Seconds kTryAgainAfter{5};

Outcome replyOf(const Result<SimulationReport>& report) {
  if (!report) return tl::unexpected(report.error());
  JsonWriter out;
  writeSimulation(out, *report);
  return Reply::json(200, std::move(out));
}

}  // namespace

void SimulationController::addRoutes(Router& router) {
  router.add("POST", "/v1/pools/{pool_id}/simulate", Scope::kRead,
             {.answer = [this](const RequestPtr& request,
                               const Respond& respond) { simulate(request, respond); },
              .on_every_node = true});
}

void SimulationController::simulate(const RequestPtr& request, const Respond& respond) {
  auto id = request->pathId<PoolId>("pool_id");
  if (!id) return respond(tl::unexpected(std::move(id).error()));
  const auto body = parseBody(*request, true);
  if (!body) return respond(tl::unexpected(body.error()));
  std::vector<FieldError> faults;
  const SimulationRequest asked = readSimulation(body->root(), faults);
  if (auto ok = checkFaults(std::move(faults)); !ok) return respond(tl::unexpected(ok.error()));
  const bool accepted = simulator_.start(
      *id, asked, [respond, &loop = currentLoop()](Result<SimulationReport> report) {
        loop.post({[respond, report = std::move(report)] { respond(replyOf(report)); }});
      });
  if (accepted) return;
  respond(tl::unexpected(Error{ErrorCode::kRateLimited,
                               "another simulation is under way, and there is one at a time",
                               {},
                               kTryAgainAfter}));
}

}  // namespace muster
