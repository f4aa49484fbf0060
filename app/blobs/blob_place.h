#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "models/operations/blob_files.h"
#include "models/time.h"

namespace muster {

// A folder of blobs with an id of its own, so that it may be moved:
//   id                      the id, written once
//   ab/abcdef…              a blob, by its SHA-256
//   uploads/UID             what has come of an upload
// Only our user can look into it. Several processes may share one. Thread-safe.
class BlobPlace : public BlobFiles {
 public:
  // Makes the folder unless it is there. The error is for a person: it is no folder, belongs to
  // somebody else, or cannot be written.
  static tl::expected<std::unique_ptr<BlobPlace>, std::string> open(const std::string& folder);

  // In a new folder, which is removed with everything in it when the place goes.
  static tl::expected<std::unique_ptr<BlobPlace>, std::string> openTemporary();
  ~BlobPlace() override;

  const std::string& placeId() const override { return id_; }
  bool publish(std::string_view uid, std::string_view sha256) override;
  bool has(std::string_view sha256) override;
  bool removeBlob(std::string_view sha256) override;
  bool removeUpload(std::string_view uid) override;

  const std::string& folder() const { return folder_; }
  std::string blobPath(std::string_view sha256) const;
  // Empty for what is no uid.
  std::string uploadPath(std::string_view uid) const;

  // Names of files that nobody has written to since `before`: at most `most`, and with the next
  // call the ones after them, from the first again after the last. Whether they are strays the
  // store knows.
  std::vector<std::string> nextOldBlobs(Time before, std::size_t most);
  std::vector<std::string> nextOldUploads(Time before, std::size_t most);

 private:
  BlobPlace(std::string folder, std::string id) : folder_(std::move(folder)), id_(std::move(id)) {}

  const std::string folder_;
  const std::string id_;
  bool is_temporary_ = false;
  std::mutex mutex_;
  std::string last_blob_;    // guarded by mutex_
  std::string last_upload_;  // guarded by mutex_
};

// Where a blob is in such a folder; empty for what is no SHA-256.
std::string blobPathIn(std::string_view folder, std::string_view sha256);

// Makes the entries of a folder durable: names that were made, linked or renamed in it.
bool flushFolder(const std::string& folder);

}  // namespace muster
