#include "controllers/content_controller.h"

#include <fmt/format.h>

#include <charconv>

#include "controllers/resource_access.h"
#include "controllers/signed_address.h"
#include "models/policy/byte_range.h"

namespace muster {
namespace {

constexpr Seconds kRedirectTime{300};  // for which the address on another node is good
constexpr Seconds kElsewhereRetry{10};
constexpr std::string_view kDigestName = "sha-256=:";

tl::unexpected<Error> badHeader(const std::string& name, const std::string& expected) {
  return tl::unexpected(Error{ErrorCode::kInvalidHeader,
                              fmt::format("{} must be {}", name, expected),
                              {{name, "format", "must be " + expected}}});
}

Result<std::int64_t> offsetOf(const Request& request) {
  const std::string& text = request.header("upload-offset");
  std::int64_t offset = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), offset);
  if (fault == std::errc() && end == text.data() + text.size() && offset >= 0) return offset;
  return badHeader("Upload-Offset", "the number of bytes that have been sent before");
}

Result<bool> completesUpload(const Request& request) {
  const std::string& text = request.header("upload-complete");
  if (text.empty() || text == "?0") return false;
  if (text == "?1") return true;
  return badHeader("Upload-Complete", "?1 or ?0");
}

Outcome contentReply(const Request& request, const Resource& resource, const std::string& path) {
  const std::string tag = fmt::format("\"sha256:{}\"", resource.sha256);
  const std::int64_t size = resource.size_bytes.value_or(0);
  Reply reply;
  reply.content_type = "";
  reply.with("ETag", tag).with("Accept-Ranges", "bytes");
  const std::string* const known = request.headerIfSent("if-none-match");
  if (known != nullptr && namesTag(*known, tag)) {
    reply.status = 304;
    return reply;
  }
  const std::string* const only_if = request.headerIfSent("if-range");
  const bool takes_part = only_if == nullptr || *only_if == tag;
  const ByteRange range = chooseRange(takes_part ? request.header("range") : "", size);
  if (range.kind == ByteRange::Kind::kNone) {
    Error error{ErrorCode::kRangeNotSatisfiable, fmt::format("the content has {} bytes", size)};
    error.members = {{"size_bytes", fmt::to_string(size)}};
    return tl::unexpected(std::move(error));
  }
  reply.with("Repr-Digest", fmt::format("{}{}:", kDigestName, sumToBase64(resource.sha256)));
  reply.with("Content-Disposition", "attachment").with("Content-Security-Policy", "sandbox");
  reply.content_type = resource.mime.empty() ? "application/octet-stream" : resource.mime;
  reply.file = {path, static_cast<std::size_t>(range.offset),
                static_cast<std::size_t>(range.length)};
  if (range.kind == ByteRange::Kind::kPart) {
    reply.status = 206;
    reply.with("Content-Range",
               fmt::format("bytes {}-{}/{}", range.offset, range.offset + range.length - 1, size));
  }
  return reply;
}

}  // namespace

Result<std::string> contentDigestOf(const Request& request) {
  const std::string& text = request.header("content-digest");
  const std::size_t begin = text.find(kDigestName);
  if (begin == std::string::npos) return std::string();  // others than SHA-256 are passed over
  const std::size_t from = begin + kDigestName.size();
  const std::size_t end = text.find(':', from);
  std::string sum = end == std::string::npos
                        ? std::string()
                        : sumFromBase64(std::string_view(text).substr(from, end - from));
  if (!sum.empty()) return sum;
  return badHeader("Content-Digest", "sha-256=:BASE64:, of 32 bytes");
}

void ContentController::addRoutes(Router& router) {
  const std::string content = "/v1/resources/{resource}/content";
  const auto later = [this](auto member) {
    return [this, member](const RequestPtr& request, const Respond& respond) {
      (this->*member)(request, respond);
    };
  };
  using C = ContentController;
  // Whoever may is told by the handlers.
  const auto handler = [&later](auto member) {
    return Handler{.answer = later(member),
                   .any_scope = true,
                   .checks_registration = true,
                   .pool_rule = PoolRule::kHandler};
  };
  for (const auto& [method, member] : {std::pair("PUT", &C::put), std::pair("PATCH", &C::patch)}) {
    Handler writes = handler(member);
    writes.routine = true;
    router.add(method, content, Scope::kWork, std::move(writes));
  }
  Handler reads = handler(&C::get);
  reads.may_be_signed = true;
  router.add("GET", content, Scope::kRead, std::move(reads));
}

void ContentController::put(const RequestPtr& request, const Respond& respond) {
  if (auto ok = checkMayUse(*request, {Scope::kProduce, Scope::kWork}); !ok) {
    return respond(tl::unexpected(std::move(ok).error()));
  }
  auto name = resourceIn(*request);
  if (!name) return respond(tl::unexpected(std::move(name).error()));
  auto digest = contentDigestOf(*request);
  if (!digest) return respond(tl::unexpected(std::move(digest).error()));
  uploads_.take({.request = request,
                 .respond = respond,
                 .name = *std::move(name),
                 .by = resourceCallerOf(*request),
                 .is_last = true,
                 .sha256 = *std::move(digest)});
}

void ContentController::patch(const RequestPtr& request, const Respond& respond) {
  if (auto ok = checkMayUse(*request, {Scope::kProduce, Scope::kWork}); !ok) {
    return respond(tl::unexpected(std::move(ok).error()));
  }
  auto name = resourceIn(*request);
  if (!name) return respond(tl::unexpected(std::move(name).error()));
  auto offset = offsetOf(*request);
  if (!offset) return respond(tl::unexpected(std::move(offset).error()));
  auto is_last = completesUpload(*request);
  if (!is_last) return respond(tl::unexpected(std::move(is_last).error()));
  auto digest = contentDigestOf(*request);
  if (!digest) return respond(tl::unexpected(std::move(digest).error()));
  uploads_.take({.request = request,
                 .respond = respond,
                 .name = *std::move(name),
                 .by = resourceCallerOf(*request),
                 .offset = *offset,
                 .is_last = *is_last,
                 .sha256 = *std::move(digest)});
}

void ContentController::get(const RequestPtr& request, const Respond& respond) {
  if (!request->is_signed) {
    if (auto ok = checkMayUse(*request, {Scope::kRead, Scope::kWork}); !ok) {
      return respond(tl::unexpected(std::move(ok).error()));
    }
  }
  auto name = resourceIn(*request);
  if (!name) return respond(tl::unexpected(std::move(name).error()));
  QueryReader query(*request);
  const std::string expires = request->is_signed ? query.text("expires", 20).value_or("") : "";
  const std::string signature = request->is_signed ? query.text("signature", 64).value_or("") : "";
  if (auto ok = query.finish(); !ok) return respond(tl::unexpected(std::move(ok).error()));
  FindContent op{*std::move(name), resourceCallerOf(*request), request->is_signed};
  gateway_.read(
      request,
      [this, request, op = std::move(op), expires, signature](Store& store) -> Outcome {
        if (op.is_signed && !isSignedPath(address_key_, op.name, expires, signature, store.now())) {
          return fail(ErrorCode::kBadSignature,
                      "the signature does not fit the address, or its time is over");
        }
        const auto content = run(op, store);
        if (!content) return tl::unexpected(content.error());
        return show(*request, *content, store.now());
      },
      respond);
}

Outcome ContentController::show(const Request& request, const FindContent::Reply& content,
                                Time now) const {
  const Resource& resource = content.resource;
  if (content.is_here) return contentReply(request, resource, place_.blobPath(resource.sha256));
  if (content.node_url.empty()) {
    return tl::unexpected(Error{ErrorCode::kElsewhere,
                                "no node that is there has the folder in which the bytes are",
                                {},
                                kElsewhereRetry});
  }
  Reply reply{307, "", ""};
  reply.with("Location",
             content.node_url + signedPath(address_key_, resource.uid, now + kRedirectTime));
  return reply;
}

}  // namespace muster
