#include "controllers/gateway.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <trantor/net/EventLoop.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <utility>

#include "controllers/kept_answer.h"
#include "controllers/request_head.h"
#include "models/json/problem_json.h"

namespace muster {
namespace {

constexpr std::size_t kMaxHeaderBytes = 16U << 10;
constexpr std::size_t kMaxKeyPath = 500;

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

bool isVisible(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

std::string_view methodOf(const drogon::HttpRequestPtr& request) {
  switch (request->method()) {
    case drogon::Get:
      return "GET";
    case drogon::Post:
      return "POST";
    case drogon::Put:
      return "PUT";
    case drogon::Patch:
      return "PATCH";
    case drogon::Delete:
      return "DELETE";
    case drogon::Options:
      return "OPTIONS";
    case drogon::Head:
      return "HEAD";
    default:
      return "";
  }
}

std::size_t headerBytes(const drogon::HttpRequestPtr& request) {
  std::size_t bytes = request->query().size();
  for (const auto& [name, value] : request->headers()) bytes += name.size() + value.size() + 4;
  return bytes;
}

// A refusal that says nothing about the health of the service.
bool isExpected(ErrorCode code) {
  return code == ErrorCode::kDraining || code == ErrorCode::kNotLeader ||
         code == ErrorCode::kReadOnlyNode;
}

Result<RequestKey> keyOf(const Request& request) {
  RequestKey key;
  const std::string* sent = request.headerIfSent("idempotency-key");
  if (sent == nullptr) return key;
  key.key = *sent;
  if (key.key.empty() || key.key.size() > 255 || !isVisible(key.key)) {
    return tl::unexpected(Error{ErrorCode::kInvalidHeader,
                                "Idempotency-Key must be 1 to 255 visible ASCII characters",
                                {{"Idempotency-Key", "format", "is not valid"}}});
  }
  key.principal = request.principal.name;
  key.method = methodOf(request.raw);
  key.path = std::string(request.path) + "?" + request.raw->query();
  if (key.path.size() > kMaxKeyPath) key.path = sha256Hex(key.path);  // it is part of an index
  key.body_hash = sha256Hex(request.body());
  return key;
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
  const Route* route = nullptr;
  std::vector<std::string> allowed;
  bool known_path = false;
};

Gateway::Gateway(Parts parts)
    : parts_(std::move(parts)), id_prefix_(Random().token().substr(0, 8)) {}

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
  exchange->method = methodOf(raw);
  if (const auto unknown = takeRenamedMethod(exchange->request->path); !unknown.empty()) {
    exchange->method = unknown;
  }
  exchange->began = parts_.clock.monotonic();
  ++in_flight_;
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

Status Gateway::admit(Exchange& exchange) {
  Request& request = *exchange.request;
  auto match = parts_.router.find(exchange.method, request.path);
  exchange.route = match.route;
  exchange.allowed = std::move(match.allowed);
  exchange.known_path = match.route != nullptr || !exchange.allowed.empty();
  request.path_values = std::move(match.values);

  const std::string& host = request.header("host");
  if (auto ok = parts_.access.checkHost(host); !ok) return ok;
  if (auto ok = parts_.access.checkOrigin(request.header("origin"), host); !ok) return ok;
  if (headerBytes(request.raw) > kMaxHeaderBytes) {
    return fail(ErrorCode::kBodyTooLarge,
                fmt::format("the headers are larger than {} bytes", kMaxHeaderBytes));
  }
  if (request.body().size() > parts_.max_body_bytes) {
    return fail(ErrorCode::kBodyTooLarge,
                fmt::format("the body has {} bytes; the limit is {} (max_body_bytes)",
                            request.body().size(), parts_.max_body_bytes));
  }
  if (!exchange.known_path) {
    return fail(ErrorCode::kNotFound, fmt::format("there is no {}", request.path));
  }
  if (exchange.method == "OPTIONS" && exchange.route == nullptr) return {};
  if (exchange.route == nullptr) {
    return fail(ErrorCode::kMethodNotAllowed,
                fmt::format("{} allows {}", request.path, fmt::join(exchange.allowed, ", ")));
  }
  if (!exchange.route->scope) return admitWrite(exchange);
  const Scope scope = *exchange.route->scope;
  if (draining() || (stopping() && scope != Scope::kWork && scope != Scope::kRead)) {
    return tl::unexpected(Error{ErrorCode::kDraining, "the service is stopping", {}, Seconds(5)});
  }
  if (!exchange.route->handler.unlimited) {
    if (auto ok = parts_.limits.admitRequest(request.rate); !ok) return ok;
  }
  auto principal = parts_.access.identify(request.header("authorization"));
  if (!principal) return tl::unexpected(std::move(principal).error());
  request.principal = *std::move(principal);
  if (!request.principal.may(scope)) {
    return fail(ErrorCode::kForbidden,
                fmt::format("the token lacks the scope '{}'", scopeName(scope)));
  }
  return admitWrite(exchange);
}

Status Gateway::admitWrite(const Exchange& exchange) const {
  if (!parts_.admit_write || exchange.route->handler.on_every_node) return {};
  const bool reads =
      exchange.method == "GET" || exchange.method == "HEAD" || exchange.method == "OPTIONS";
  return reads ? Status() : parts_.admit_write();
}

void Gateway::dispatch(const ExchangePtr& exchange) {
  const RequestPtr& request = exchange->request;
  auto respond = [this, exchange](Outcome outcome) { answer(exchange, std::move(outcome)); };
  if (exchange->route == nullptr) {  // OPTIONS, or it would not have been admitted
    Reply reply{204, "", ""};
    reply.with("Allow", fmt::format("{}, OPTIONS", fmt::join(exchange->allowed, ", ")));
    if (!request->header("access-control-request-method").empty()) {
      reply.with("Access-Control-Allow-Methods",
                 fmt::format("{}", fmt::join(exchange->allowed, ", ")));
      reply.with("Access-Control-Allow-Headers",
                 "Authorization, Content-Type, Idempotency-Key, If-Match, X-Request-Id");
    }
    respond(std::move(reply));
    return;
  }
  const Handler& handler = exchange->route->handler;
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

void Gateway::write(const RequestPtr& request, Work work, Respond respond, Isolation isolation,
                    Wish wish) {
  auto key = keyOf(*request);
  if (!key) {
    respond(tl::unexpected(std::move(key).error()));
    return;
  }
  if (!key->key.empty()) wish = {};  // it may have been done before
  auto outcome = std::make_shared<Outcome>();
  parts_.storage.write(
      [request, outcome, work = std::move(work), key = *std::move(key)](Store& store) {
        if (key.key.empty()) {
          *outcome = work(store);
          return;
        }
        auto before = store.idempotency().find(key);
        if (!before) {
          *outcome = tl::unexpected(std::move(before).error());
        } else if (*before) {
          *outcome = replayedAnswer(store, **before);
        } else {
          *outcome = work(store);
          if (*outcome && (*outcome)->final) {
            store.idempotency().remember(key, keptAnswer(**outcome));
          }
        }
      },
      [outcome, respond = std::move(respond)](const Status& status) {
        respond(status ? std::move(*outcome) : Outcome(tl::unexpected(status.error())));
      },
      &currentLoop(), isolation, std::move(wish));
}

void Gateway::read(const RequestPtr& request, Work work, Respond respond) {
  auto outcome = std::make_shared<Outcome>();
  parts_.storage.read(
      [request, outcome, work = std::move(work)](Store& store) { *outcome = work(store); },
      [outcome, respond = std::move(respond)](const Status& status) {
        respond(status ? std::move(*outcome) : Outcome(tl::unexpected(status.error())));
      },
      &currentLoop());
}

void Gateway::answer(const ExchangePtr& exchange, Outcome outcome) {
  const Request& request = *exchange->request;
  Reply reply;
  if (outcome) {
    reply = *std::move(outcome);
  } else {
    Error& error = outcome.error();
    const ErrorKind& kind = describe(error.code);
    if (kind.status >= 500 && !isExpected(error.code)) {
      parts_.log.error("request failed", {{"request_id", request.id},
                                          {"path", request.path},
                                          {"code", kind.name},
                                          {"detail", error.detail}});
    }
    if (error.code == ErrorCode::kInternal) {
      error.detail = "the log has more under request_id " + request.id;
    }
    reply.status = kind.status;
    reply.body = writeProblem(error, request.path, request.id);
    reply.content_type = "application/problem+json";
    if (kind.status == 401) reply.with("WWW-Authenticate", "Bearer");
    if (kind.status == 405) {
      reply.with("Allow", fmt::format("{}, OPTIONS", fmt::join(exchange->allowed, ", ")));
    }
    if (kind.status == 429 || kind.status == 503) {
      reply.with("Retry-After", std::to_string(error.retry_after.value_or(Seconds(1)).count()));
    }
  }
  const int status = reply.status;
  send(exchange, std::move(reply));
  const auto took = parts_.clock.monotonic() - exchange->began;
  parts_.metrics.countRequest(exchange->route ? exchange->route->index : Metrics::kNoRoute, status,
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

void Gateway::send(const ExchangePtr& exchange, Reply reply) {
  if (!reply.stream) {
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
  if (reply.content_type == "application/json") {
    response->setContentTypeCodeAndCustomString(drogon::CT_APPLICATION_JSON,
                                                "application/json; charset=utf-8");
  } else if (!reply.content_type.empty()) {
    response->setContentTypeCodeAndCustomString(drogon::CT_CUSTOM, reply.content_type);
  } else {
    response->setContentTypeCode(drogon::CT_NONE);
  }
  if (!reply.stream) response->setBody(std::move(reply.body));
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
