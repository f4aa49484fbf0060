#include <ostream>

#include "app/cli/cluster_view.h"
#include "app/cli/commands.h"
#include "app/cli/service_call.h"

namespace muster {
namespace {

int show(const Reply& reply, Terminal& terminal) {
  if (terminal.json) {
    terminal.out << reply.json.text() << "\n";
    return kExitOk;
  }
  const JsonValue cluster = reply.json.root();
  terminal.out << clusterTable(cluster, reply.now).render(terminal.width, terminal.color);
  if (!member(cluster, "leader")) terminal.err << "nobody leads now\n";
  return kExitOk;
}

}  // namespace

int run(const ClusterCommand&, ApiClient& api, Terminal& terminal) {
  const auto reply = call(api, terminal, {.path = "/v1/cluster"});
  return reply ? show(*reply, terminal) : reply.error();
}

int run(const ClusterResignCommand&, ApiClient& api, Terminal& terminal) {
  const auto reply = call(api, terminal, {.method = "POST", .path = "/v1/cluster/resign"});
  return reply ? show(*reply, terminal) : reply.error();
}

}  // namespace muster
