#include "controllers/cluster_controller.h"

#include "models/json/cluster_json.h"

namespace muster {

void ClusterController::addRoutes(Router& router) {
  router.add("GET", "/v1/cluster", Scope::kRead, {.read = [this](const Request&) -> Result<Work> {
               return [this](Store& store) { return show(store); };
             }});
  // Which node may take it is a question of its own.
  router.add("POST", "/v1/cluster/resign", Scope::kAdmin,
             {.answer = [this](const RequestPtr& request,
                               const Respond& respond) { resign(request, respond); },
              .on_every_node = true});
}

Outcome ClusterController::show(Store& store) const {
  const ClusterNode::View view = node_.view(store);
  JsonWriter out;
  out.beginObject().field("node_id", node_.id()).field("role", view.role);
  if (view.leader) {
    out.key("leader");
    writeLeader(out, *view.leader);
  }
  out.key("nodes").beginArray();
  for (const Node& node : view.nodes) {
    writeNode(out, node, view.leader && view.leader->node == node.id);
  }
  out.endArray().endObject();
  return Reply::json(200, std::move(out));
}

void ClusterController::resign(const RequestPtr& request, const Respond& respond) {
  if (auto ok = checkNoBody(*request); !ok) {
    respond(tl::unexpected(std::move(ok).error()));
    return;
  }
  Executor* const loop = &currentLoop();
  node_.resign([this, request, respond, loop](Status status) {
    loop->post({[this, request, respond, status = std::move(status)] {
      // As a write, so that the audit has it.
      gateway_.write(
          request,
          [this, status](Store& store) -> Outcome {
            if (status) return show(store);
            if (status.error().code != ErrorCode::kNotLeader) {
              return tl::unexpected(status.error());
            }
            const auto leader = store.cluster().leader();  // as of this moment
            return tl::unexpected(notLeader(leader ? leader->url : ""));
          },
          respond);
    }});
  });
}

}  // namespace muster
