#include "controllers/gateway.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <trantor/net/EventLoop.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <utility>

#include "controllers/caller.h"
#include "controllers/request_head.h"
#include "models/audit.h"
#include "models/json/problem_json.h"

namespace muster {
namespace {

constexpr std::size_t kMaxHeaderBytes = 16U << 10;
constexpr double kFailureLinesPerSecond = 20;

class LoopExecutor : public Executor {
 public:
  explicit LoopExecutor(trantor::EventLoop* loop) : loop_(loop) {}
  void post(std::vector<Task> tasks) override {
    loop_->queueInLoop([tasks = std::move(tasks)] {
      for (const Task& task : tasks) task();
    });
  }

 private:
  trantor::EventLoop* loop_;
};

std::size_t headerBytes(const drogon::HttpRequestPtr& request) {
  std::size_t bytes = request->query().size();
  for (const auto& [name, value] : request->headers()) bytes += name.size() + value.size() + 4;
  return bytes;
}

// Whether the handler is to look at a signature, good or bad.
bool hasSignature(const Request& request) {
  const std::string& query = request.raw->query();
  return query.starts_with("signature=") || query.find("&signature=") != std::string::npos;
}

// A refusal that says nothing about the health of the service.
bool isExpected(ErrorCode code) {
  return code == ErrorCode::kDraining || code == ErrorCode::kNotLeader ||
         code == ErrorCode::kReadOnlyNode;
}

}  // namespace

Executor& currentLoop() {
  // One per event loop. They outlive the loops: continuations of the store may still hold them
  // when a loop has ended.
  static std::mutex mutex;
  static std::deque<LoopExecutor> all;
  thread_local LoopExecutor* const executor = [] {
    const std::lock_guard lock(mutex);
    return &all.emplace_back(trantor::EventLoop::getEventLoopOfCurrentThread());
  }();
  return *executor;
}

// A request on its way to an answer.
struct Gateway::Exchange {
  RequestPtr request;
  Callback callback;
  std::string_view method;
  std::chrono::nanoseconds began;
  Router::Match match;
  drogon::HttpResponsePtr file;  // of an answer that is one
  std::size_t buffered = 0;      // bytes of the body, taken from the budget
};

Gateway::Gateway(Parts parts)
    : parts_(std::move(parts)),
      id_prefix_(Random().token().substr(0, 8)),
      failure_lines_(parts_.clock, kFailureLinesPerSecond) {}

std::string Gateway::requestId(const std::string& given) {
  if (!given.empty() && given.size() <= 128 && isVisible(given)) return given;
  return fmt::format("{}-{:08x}", id_prefix_, ++last_id_);
}

void Gateway::handle(const drogon::HttpRequestPtr& raw, Callback callback) {
  auto exchange = std::make_shared<Exchange>();
  exchange->request = std::make_shared<Request>();
  exchange->request->raw = raw;
  exchange->request->id = requestId(raw->getHeader("x-request-id"));
  exchange->request->path = raw->getOriginalPath();
  exchange->callback = std::move(callback);
  exchange->method = exchange->request->method();
  if (const auto unknown = takeRenamedMethod(exchange->request->path); !unknown.empty()) {
    exchange->method = unknown;
  }
  exchange->began = parts_.clock.monotonic();
  ++in_flight_;
  if (const Error* const refusal = EarlyRefusal::ofThisThread()) {
    findRoute(*exchange);
    Status refused = tl::unexpected(*refusal);
    if (refusal->code == ErrorCode::kUnauthorized) {
      if (auto ok = parts_.limits.countRefusal(exchange->request->address()); !ok) refused = ok;
    }
    answer(exchange, tl::unexpected(std::move(refused).error()));
    return;
  }
  if (auto admitted = admit(*exchange); !admitted) {
    answer(exchange, tl::unexpected(std::move(admitted).error()));
    return;
  }
  try {
    dispatch(exchange);
  } catch (const std::exception& bug) {
    answer(exchange, fail(ErrorCode::kInternal, bug.what()));
  } catch (...) {
    answer(exchange, fail(ErrorCode::kInternal, "an unknown exception"));
  }
}

void Gateway::findRoute(Exchange& exchange) const {
  auto match = parts_.router.find(exchange.method, exchange.request->path);
  exchange.request->route = match.route;
  exchange.request->path_values = std::move(match.values);
  exchange.match = std::move(match);
}

// What needs no body is decided by HeadCheck too, before a large body is read.
Status Gateway::admit(Exchange& exchange) {
  Request& request = *exchange.request;
  findRoute(exchange);
  const std::string& host = request.header("host");
  if (auto ok = parts_.access.checkHost(host); !ok) return ok;
  if (auto ok = parts_.access.checkOrigin(request.header("origin"), host); !ok) return ok;
  if (headerBytes(request.raw) > kMaxHeaderBytes) {
    return fail(ErrorCode::kBodyTooLarge,
                fmt::format("the headers are larger than {} bytes", kMaxHeaderBytes));
  }
  if (auto ok = parts_.head_check.checkBodySize(request.body().size()); !ok) return ok;
  if (auto ok = exchange.match.check(exchange.method, request.path); !ok) return ok;
  if (request.route == nullptr) return {};
  if (!request.route->scope) return admitBody(exchange, CallerKind::kUnknown);
  const Scope scope = *request.route->scope;
  if (draining() || (stopping() && scope != Scope::kWork && scope != Scope::kRead)) {
    return tl::unexpected(Error{ErrorCode::kDraining, "the service is stopping", {}, Seconds(5)});
  }
  if (request.route->handler.may_be_signed && hasSignature(request)) {
    request.is_signed = true;
    return admitBody(exchange, CallerKind::kUnknown);
  }
  auto principal = callerOf(request, parts_.access);
  if (!principal) {
    if (auto ok = parts_.limits.countRefusal(request.address()); !ok) return ok;
    return tl::unexpected(std::move(principal).error());
  }
  request.principal = *std::move(principal);
  if (request.principal.worker.empty()) {
    request.caller = callerText(request.principal.name, request.address());
  }
  // Known before it is counted: a stranger must not use up what is there for others.
  if (!request.route->handler.unlimited) {
    if (auto ok = parts_.limits.admitRequest(request.principal.name, request.rate); !ok) return ok;
  }
  if (!request.route->handler.any_scope) {
    if (auto ok = admitScope(request, scope); !ok) return ok;
  }
  return admitBody(exchange, CallerKind::kKnown);
}

Status Gateway::admitBody(Exchange& exchange, CallerKind caller) {
  const std::size_t bytes = exchange.request->body().size();
  if (bytes > kUncountedBytes) {
    if (auto ok = parts_.buffers.take(bytes, caller); !ok) return ok;
    exchange.buffered = bytes;
  }
  return admitWrite(exchange);
}

Status Gateway::admitScope(const Request& request, Scope scope) {
  const Principal& who = request.principal;
  if (!who.maySomewhere(scope)) return missingScope(scope);
  const auto refuse = [scope](std::string_view why) {
    return fail(ErrorCode::kForbidden,
                fmt::format("the token has the scope '{}' {}", scopeName(scope), why));
  };
  switch (request.route->pool_rule) {
    case PoolRule::kPath:
      if (who.mayIn(scope, request.path_values.front().second)) return {};
      return refuse("for other pools only");
    case PoolRule::kQuery:
      if (who.mayEverywhere(scope)) return {};
      if (who.mayIn(scope, QueryReader(request).id("pool_id"))) return {};
      return refuse("for some pools only: name one of them with ?pool_id=");
    case PoolRule::kNone:
      if (who.mayEverywhere(scope)) return {};
      return refuse("for some pools only, and this is about more than they");
    case PoolRule::kJob:
    case PoolRule::kWorker:
    case PoolRule::kFlow:
    case PoolRule::kHandler:
      return {};
  }
  return {};
}

Status Gateway::admitWrite(const Exchange& exchange) const {
  if (!parts_.admit_write || exchange.request->route->handler.on_every_node) return {};
  const bool reads =
      exchange.method == "GET" || exchange.method == "HEAD" || exchange.method == "OPTIONS";
  return reads ? Status() : parts_.admit_write();
}

void Gateway::dispatch(const ExchangePtr& exchange) {
  const RequestPtr& request = exchange->request;
  auto respond = [this, exchange](Outcome outcome) { answer(exchange, std::move(outcome)); };
  if (exchange->request->route == nullptr) {  // OPTIONS, or it would not have been admitted
    Reply reply{204, "", ""};
    reply.with("Allow", fmt::format("{}, OPTIONS", fmt::join(exchange->match.allowed, ", ")));
    if (!request->header("access-control-request-method").empty()) {
      reply.with("Access-Control-Allow-Methods",
                 fmt::format("{}", fmt::join(exchange->match.allowed, ", ")));
      reply.with(
          "Access-Control-Allow-Headers",
          "Authorization, Content-Type, Content-Digest, Idempotency-Key, If-Match, If-None-Match, "
          "If-Range, Range, Upload-Complete, Upload-Offset, X-Lease-Token, X-Request-Id");
    }
    respond(std::move(reply));
    return;
  }
  const Handler& handler = exchange->request->route->handler;
  if (handler.answer) {
    handler.answer(request, std::move(respond));
    return;
  }
  auto work = handler.write ? handler.write(*request) : handler.read(*request);
  if (!work) {
    respond(tl::unexpected(std::move(work).error()));
  } else if (handler.write) {
    write(request, *std::move(work), std::move(respond), handler.isolation);
  } else {
    read(request, *std::move(work), std::move(respond));
  }
}

void Gateway::answer(const ExchangePtr& exchange, Outcome outcome) {
  const Request& request = *exchange->request;
  if (outcome && outcome->file) {
    const Reply::File& file = *outcome->file;
    exchange->file =
        drogon::HttpResponse::newFileResponse(file.path, file.offset, file.length, false);
    if (exchange->file->statusCode() >= drogon::k400BadRequest) {
      outcome = fail(ErrorCode::kElsewhere, "the file of the content is not there, or is shorter");
    } else if (exchange->method != "HEAD") {
      parts_.metrics.countBlobRead(file.length);
    }
  }
  Reply reply;
  if (outcome) {
    reply = *std::move(outcome);
  } else {
    Error& error = outcome.error();
    const ErrorKind& kind = describe(error.code);
    if (kind.status >= 500 && !isExpected(error.code) && !EarlyRefusal::ofThisThread()) {
      logFailure(request, kind.name, error.detail);
    }
    if (error.code == ErrorCode::kInternal) {
      error.detail = "the log has more under request_id " + request.id;
    }
    reply.status = kind.status;
    reply.body = writeProblem(error, request.path, request.id);
    reply.content_type = "application/problem+json";
    if (kind.status == 401) reply.with("WWW-Authenticate", "Bearer");
    if (kind.status == 405) {
      reply.with("Allow", fmt::format("{}, OPTIONS", fmt::join(exchange->match.allowed, ", ")));
    }
    if (kind.status == 416) {
      for (const auto& [name, size] : error.members) {
        if (name == "size_bytes") reply.with("Content-Range", "bytes */" + size);
      }
    }
    if (kind.status == 429 || kind.status == 503) {
      reply.with("Retry-After", std::to_string(error.retry_after.value_or(Seconds(1)).count()));
    }
  }
  const int status = reply.status;
  if (status < 400 && request.route != nullptr && isAudited(request)) {
    const Caller by = parseCaller(request.caller);
    parts_.log.info("changed", {{"by", by.name},
                                {"address", by.address},
                                {"method", exchange->method},
                                {"path", request.path},
                                {"request_id", request.id}});
  }
  send(exchange, std::move(reply));
  if (exchange->buffered > 0) parts_.buffers.giveBack(exchange->buffered);
  const auto took = parts_.clock.monotonic() - exchange->began;
  parts_.metrics.countRequest(
      exchange->request->route ? exchange->request->route->index : Metrics::kNoRoute, status,
      std::chrono::duration<double>(took).count());
  if (parts_.log.enabled(LogLevel::kDebug)) {
    parts_.log.debug("request", {{"request_id", request.id},
                                 {"method", exchange->method},
                                 {"path", request.path},
                                 {"status", std::to_string(status)},
                                 {"us", std::to_string(took.count() / 1000)}});
  }
  --in_flight_;
}

// Clients that send too much get many a 503, and must not fill the log with them.
void Gateway::logFailure(const Request& request, std::string_view code, std::string_view detail) {
  const auto left_out = failure_lines_.pass();
  if (!left_out) return;
  parts_.log.error("request failed",
                   {{"request_id", request.id},
                    {"path", request.path},
                    {"code", code},
                    {"detail", detail},
                    {"left_out", *left_out > 0 ? std::to_string(*left_out) : ""}});
}

void Gateway::send(const ExchangePtr& exchange, Reply reply) {
  if (reply.file) {
    exchange->callback(render(*exchange, std::move(reply), std::move(exchange->file)));
  } else if (!reply.stream) {
    exchange->callback(
        render(*exchange, std::move(reply), drogon::HttpResponse::newHttpResponse()));
  } else if (auto streamed =
                 newStreamedResponse(reply.stream, connectionOf(*exchange->request->raw))) {
    exchange->callback(render(*exchange, std::move(reply), std::move(streamed)));
  } else {
    const auto start = std::exchange(reply.stream, nullptr);
    start(std::make_unique<OnePieceStream>([this, exchange, reply](std::string text) {
      Reply whole = reply;
      whole.body = std::move(text);
      exchange->callback(
          render(*exchange, std::move(whole), drogon::HttpResponse::newHttpResponse()));
    }));
  }
}

drogon::HttpResponsePtr Gateway::render(const Exchange& exchange, Reply reply,
                                        drogon::HttpResponsePtr response) const {
  response->setStatusCode(static_cast<drogon::HttpStatusCode>(reply.status));
  if (!reply.file && reply.content_type == "application/json") {
    response->setContentTypeCodeAndCustomString(drogon::CT_APPLICATION_JSON,
                                                "application/json; charset=utf-8");
  } else if (reply.file || !reply.content_type.empty()) {
    response->setContentTypeCodeAndCustomString(drogon::CT_CUSTOM, reply.content_type);
  } else {
    response->setContentTypeCode(drogon::CT_NONE);
  }
  if (!reply.stream && !reply.file) response->setBody(std::move(reply.body));
  // What an answer holds is for who asked, and is what its type says. These headers ride on
  // another: an entry of its own in the framework's table costs each answer some 2 % of its time.
  static constexpr std::string_view kOnEveryAnswer =
      "\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store";
  std::string id_and_more = exchange.request->id;
  id_and_more.append(kOnEveryAnswer);
  response->addHeader("X-Request-Id", std::move(id_and_more));
  if (const RateLevel& rate = exchange.request->rate) {
    response->addHeader("RateLimit-Limit", std::to_string(rate->limit));
    response->addHeader("RateLimit-Remaining", std::to_string(rate->remaining));
    response->addHeader("RateLimit-Reset", std::to_string(rate->full_in.count()));
  }
  const std::string& origin = exchange.request->header("origin");
  if (!origin.empty() && parts_.access.isAllowedOrigin(origin)) {
    response->addHeader("Access-Control-Allow-Origin", origin);
    response->addHeader("Vary", "Origin");
  }
  for (auto& [name, value] : reply.headers) response->addHeader(std::move(name), std::move(value));
  return response;
}

}  // namespace muster
