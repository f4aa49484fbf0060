#include "controllers/router.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace muster {
namespace {

// Takes the next segment of "/a/b" off the front; false at the end.
bool nextSegment(std::string_view& rest, std::string_view& segment) {
  if (rest.empty()) return false;
  rest.remove_prefix(1);  // the slash
  const std::size_t end = std::min(rest.find('/'), rest.size());
  segment = rest.substr(0, end);
  rest.remove_prefix(end);
  return true;
}

PoolRule poolRuleOf(std::string_view pattern) {
  if (pattern.find("{pool_id}") != std::string_view::npos) return PoolRule::kPath;
  if (pattern.find("{job_id}") != std::string_view::npos) return PoolRule::kJob;
  if (pattern.find("{flow_id}") != std::string_view::npos) return PoolRule::kFlow;
  if (pattern.find("{worker_id}") != std::string_view::npos) return PoolRule::kWorker;
  return PoolRule::kNone;
}

}  // namespace

void Router::add(std::string method, std::string pattern, std::optional<Scope> scope,
                 Handler handler) {
  auto route = std::make_unique<Route>(
      Route{std::move(method), std::move(pattern), scope, std::move(handler), routes_.size()});
  route->pool_rule = route->handler.pool_rule.value_or(poolRuleOf(route->pattern));
  Node* node = &root_;
  std::string_view rest = route->pattern, segment;
  while (nextSegment(rest, segment)) {
    if (segment.starts_with('{')) {
      if (!node->any) node->any = std::make_unique<Node>();
      node->any_name = segment.substr(1, segment.size() - 2);
      node = node->any.get();
    } else {
      auto& child = node->children[std::string(segment)];
      if (!child) child = std::make_unique<Node>();
      node = child.get();
    }
  }
  node->routes.push_back(route.get());
  routes_.push_back(std::move(route));
}

tl::unexpected<Error> missingScope(Scope scope) {
  return fail(ErrorCode::kForbidden,
              fmt::format("the token lacks the scope '{}'", scopeName(scope)));
}

Status Router::Match::check(std::string_view method, std::string_view path) const {
  if (route == nullptr && allowed.empty()) {
    return fail(ErrorCode::kNotFound, fmt::format("there is no {}", path));
  }
  if (route != nullptr || method == "OPTIONS") return {};
  return fail(ErrorCode::kMethodNotAllowed,
              fmt::format("{} allows {}", path, fmt::join(allowed, ", ")));
}

Router::Match Router::find(std::string_view method, std::string_view path) const {
  Match match;
  if (!path.starts_with('/')) return match;
  const Node* node = &root_;
  std::string_view rest = path, segment;
  while (nextSegment(rest, segment)) {
    const auto child = node->children.find(segment);
    if (child != node->children.end()) {
      node = child->second.get();
    } else if (node->any && !segment.empty()) {
      // A broken escape decodes to "", which no id is: the handler answers 422.
      match.values.emplace_back(node->any_name, percentDecode(segment, false).value_or(""));
      node = node->any.get();
    } else {
      return match;
    }
  }
  for (const Route* route : node->routes) {
    if (route->method != method) continue;
    match.route = route;
    return match;
  }
  for (const Route* route : node->routes) {
    if (route->method != "OPTIONS") match.allowed.push_back(route->method);
  }
  return match;
}

}  // namespace muster
