#pragma once

#include <string>
#include <string_view>

namespace muster {

// The files of one place, as a unit of work needs them. A blob is named by the SHA-256 of its
// bytes, in hex; an upload by the uid of its resource. Called on the threads of the storage, so
// each call is a few steps in a directory and reads or writes no bytes.
class BlobFiles {
 public:
  virtual ~BlobFiles() = default;

  // The place's own id: a folder that moves keeps it.
  virtual const std::string& placeId() const = 0;
  // The complete and flushed upload is there under the name of the blob from now on, also if the
  // blob was there before. False: there is no such upload, nor such a blob.
  virtual bool publish(std::string_view uid, std::string_view sha256) = 0;
  virtual bool has(std::string_view sha256) = 0;
  // Removes the file of the blob or of the upload, if it is there. False: it could not.
  virtual bool removeBlob(std::string_view sha256) = 0;
  virtual bool removeUpload(std::string_view uid) = 0;
};

}  // namespace muster
