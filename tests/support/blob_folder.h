#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "tests/support/resource_client.h"
#include "tests/support/service.h"

namespace muster::test {

// The files of a place, seen from outside.
class BlobFolder {
 public:
  explicit BlobFolder(std::filesystem::path path) : path_(std::move(path)) {}
  // Where the service keeps them if its settings do not say.
  explicit BlobFolder(const Service& service);

  const std::filesystem::path& path() const { return path_; }
  std::string placeId() const;
  std::filesystem::path blob(const std::string& sha256) const;
  std::set<std::string> blobs() const;    // by their sums
  std::set<std::string> uploads() const;  // by the uids of their resources
  // As if nobody had written to any file for hours.
  void makeOld() const;

 private:
  std::filesystem::path path_;
};

// Each resource whose bytes the service has can be read, and the bytes have the sum of its row.
void expectAllReadable(Http& http);

// Has the service tend its place until nothing is left in it but what resources have. It must be
// set to `blob_grace_seconds: 0`.
void expectNoStrays(Http& http, const BlobFolder& folder);

}  // namespace muster::test
