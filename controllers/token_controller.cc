#include "controllers/token_controller.h"

#include "models/json/token_json.h"
#include "models/operations/audit.h"
#include "models/operations/tokens.h"

namespace muster {

void TokenController::addRoutes(Router& router) {
  router.add("GET", "/v1/tokens", Scope::kAdmin,
             {.answer = [this](const RequestPtr&, const Respond& respond) { respond(list()); }});
  router.add("GET", "/v1/tokens/self", Scope::kRead,
             {.answer = [](const RequestPtr& request,
                           const Respond& respond) { respond(showOwn(*request)); },
              .any_scope = true});
  router.add("POST", "/v1/tokens/rotate_workers", Scope::kAdmin,
             {.answer = [this](const RequestPtr& request, Respond respond) {
               rotateWorkerTokens(request, std::move(respond));
             }});
  router.add("GET", "/v1/audit", Scope::kAdmin, {.read = audit});
}

Outcome TokenController::list() const {
  JsonWriter out;
  out.beginObject().key("items").beginArray();
  for (const AccessToken& token : access_.tokens()) {
    writeToken(out, {token.name, token.scopes, token.expires_at, ""});
  }
  out.endArray().endObject();
  return Reply::json(200, std::move(out));
}

Outcome TokenController::showOwn(const Request& request) {
  const Principal& who = request.principal;
  JsonWriter out;
  writeToken(out, {who.name, *who.grants, who.expires_at, who.worker});
  return Reply::json(200, std::move(out));
}

void TokenController::rotateWorkerTokens(const RequestPtr& request, Respond respond) {
  if (auto ok = checkNoBody(*request); !ok) return respond(tl::unexpected(std::move(ok).error()));
  auto key = std::make_shared<std::string>();  // stays empty when another request did it
  gateway_.write(
      request,
      [key](Store& store) -> Outcome {
        auto rotated = run(RotateWorkerKey{}, store);
        if (!rotated) return tl::unexpected(std::move(rotated).error());
        *key = std::move(rotated->key);
        JsonWriter out;
        out.beginObject().field("count", rotated->workers).endObject();
        return Reply::json(200, std::move(out));
      },
      [this, key, respond = std::move(respond)](Outcome outcome) {
        if (outcome && !key->empty()) access_.replaceWorkerKey(*key);
        respond(std::move(outcome));
      });
}

Result<Work> TokenController::audit(const Request& request) {
  QueryReader query(request);
  ListAudit op;
  op.limit = query.limit();
  op.cursor = query.id("cursor");
  op.by = query.id("by");
  if (auto ok = query.finish(); !ok) return tl::unexpected(std::move(ok).error());
  return [op = std::move(op)](Store& store) -> Outcome {
    const auto page = run(op, store);
    if (!page) return tl::unexpected(page.error());
    JsonWriter out;
    out.beginObject().key("items").beginArray();
    for (const AuditEntry& entry : page->entries) writeAuditEntry(out, entry);
    out.endArray();
    if (!page->next_cursor.empty()) out.field("next_cursor", page->next_cursor);
    out.endObject();
    return Reply::json(200, std::move(out));
  };
}

}  // namespace muster
