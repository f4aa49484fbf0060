#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/reply.h"
#include "controllers/request.h"
#include "models/result.h"
#include "models/store/storage.h"

namespace muster {

// What a handler wants done in the store. It may run more than once (see Storage).
using Work = std::function<Outcome(Store&)>;

// Where the pool stands that a token for some pools must be for.
enum class PoolRule {
  kNone,     // nowhere: the token must be for everything
  kPath,     // in the path
  kQuery,    // in the query, as pool_id
  kJob,      // the job in the path has it; looked up in the unit of work
  kWorker,   // the worker in the path has it; likewise
  kFlow,     // the jobs of the flow in the path have them: the token must be for all; likewise
  kHandler,  // the handler sees to it, or shows nothing of any pool
};

// How a route is served: the handler looks at the request and says what is to be done in the
// store (read, write), or answers by itself, now or later (answer).
struct Handler {
  std::function<Result<Work>(const Request&)> read = {};
  std::function<Result<Work>(const Request&)> write = {};
  std::function<void(const RequestPtr&, Respond)> answer = {};
  bool routine = false;              // happens all day long: the audit does not keep it
  bool unlimited = false;            // not counted as a request against global_qps_limit
  bool on_every_node = false;        // changes nothing that a node could refuse to change
  bool any_scope = false;            // any valid token will do
  bool may_be_signed = false;        // its address may be signed, then nobody is identified
  bool checks_registration = false;  // a worker's own token must be of its present registration
  std::optional<PoolRule> pool_rule = {};  // absent: as the path says
  // Of a write: kShared for what happens so often that it must not wait for each other.
  Isolation isolation = Isolation::kAlone;
};

struct Route {
  std::string method;
  std::string pattern;         // "/v1/jobs/{job_id}"
  std::optional<Scope> scope;  // absent: open to everybody
  Handler handler;
  std::size_t index = 0;  // its number, for the metrics
  PoolRule pool_rule = PoolRule::kNone;
};

// kForbidden, for a token without the scope that a route asks for.
tl::unexpected<Error> missingScope(Scope scope);

// Finds the route of a request. Paths are case-sensitive, a trailing slash is another path, and a
// known path with an unknown method is told apart from an unknown path. Filled once, then constant.
class Router {
 public:
  void add(std::string method, std::string pattern, std::optional<Scope> scope, Handler handler);

  struct Match {
    const Route* route = nullptr;  // null: see allowed
    std::vector<std::pair<std::string_view, std::string>> values;
    std::vector<std::string> allowed;  // its methods beside OPTIONS; empty: no such path

    // kNotFound or kMethodNotAllowed. OPTIONS is good for every path that there is.
    Status check(std::string_view method, std::string_view path) const;
  };
  Match find(std::string_view method, std::string_view path) const;

  const std::vector<std::unique_ptr<Route>>& routes() const { return routes_; }

 private:
  struct Node {
    std::map<std::string, std::unique_ptr<Node>, std::less<>> children;
    std::unique_ptr<Node> any;  // {name}
    std::string any_name;
    std::vector<const Route*> routes;
  };
  Node root_;
  std::vector<std::unique_ptr<Route>> routes_;
};

}  // namespace muster
