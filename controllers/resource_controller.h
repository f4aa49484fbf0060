#pragma once

#include <functional>
#include <string>

#include "controllers/router.h"

namespace muster {

// Resources as records: made, found, held and let go. Their bytes are ContentController's.
class ResourceController {
 public:
  // `own_url` is where others reach this node; `address_key` signs addresses of content.
  ResourceController(std::function<std::string()> own_url, std::string address_key)
      : own_url_(std::move(own_url)), address_key_(std::move(address_key)) {}
  void addRoutes(Router& router);

 private:
  static Result<Work> create(const Request& request);
  static Result<Work> list(const Request& request);
  static Result<Work> get(const Request& request);
  static Result<Work> remove(const Request& request);
  static Result<Work> lease(const Request& request);
  static Result<Work> release(const Request& request);
  static Result<Work> touch(const Request& request);
  static Result<Work> releaseScope(const Request& request);
  Result<Work> sign(const Request& request) const;

  const std::function<std::string()> own_url_;
  const std::string address_key_;
};

}  // namespace muster
