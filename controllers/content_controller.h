#pragma once

#include <string>

#include "controllers/router.h"
#include "controllers/uploads.h"
#include "models/operations/resources.h"

namespace muster {

// Bytes of resources, up and down.
class ContentController {
 public:
  ContentController(Gateway& gateway, Uploads& uploads, BlobPlace& place, std::string address_key)
      : gateway_(gateway), uploads_(uploads), place_(place), address_key_(std::move(address_key)) {}
  void addRoutes(Router& router);

  // What a GET of the content answers: all of it, a part, that it has not changed, or where else it
  // is.
  Outcome show(const Request& request, const FindContent::Reply& content, Time now) const;

 private:
  void put(const RequestPtr& request, const Respond& respond);
  void patch(const RequestPtr& request, const Respond& respond);
  void get(const RequestPtr& request, const Respond& respond);

  Gateway& gateway_;
  Uploads& uploads_;
  BlobPlace& place_;
  const std::string address_key_;
};

// The SHA-256, in hex, that the header Content-Digest tells of the body; empty: it does not.
// kInvalidHeader.
Result<std::string> contentDigestOf(const Request& request);

}  // namespace muster
