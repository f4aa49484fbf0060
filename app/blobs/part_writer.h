#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "app/blobs/blob_place.h"
#include "models/result.h"

namespace muster {

// The file of an upload, locked against everybody else until it is unlocked or this goes: other
// requests, and other processes that share the place. A connection or process that dies holds
// nothing.
class UploadFile {
 public:
  ~UploadFile();
  // Nothing is written by this any more.
  void unlock() const;
  UploadFile(const UploadFile&) = delete;
  UploadFile& operator=(const UploadFile&) = delete;

 private:
  friend class PartWriter;
  UploadFile(std::string uid, std::string path, int fd);

  const std::string uid_;
  const std::string path_;
  int fd_;
};
using UploadFilePtr = std::shared_ptr<UploadFile>;

// Writes parts of uploads on two threads of its own. What it calls back runs on these threads and
// must not block. Memory: the parts that wait, and some hundred bytes for each upload under way.
// Thread-safe.
class PartWriter {
 public:
  static constexpr std::size_t kMostWaitingBytes = 64U << 20;
  explicit PartWriter(BlobPlace& place, std::size_t most_waiting = kMostWaitingBytes);
  ~PartWriter();
  PartWriter(const PartWriter&) = delete;
  PartWriter& operator=(const PartWriter&) = delete;

  // Opens and locks the file of an upload, and makes it if it is not there. kStoreBusy: somebody
  // else has it.
  void open(std::string uid, const std::function<void(Result<UploadFilePtr>)>& then);

  struct Part {
    UploadFilePtr file;
    std::int64_t offset = 0;  // where the upload is; what the file has behind it is cut off
    std::string_view bytes;   // of `keeper`
    std::string sha256;       // hex, which the bytes must have; empty: any
    bool is_last = false;
    std::shared_ptr<const void> keeper;
  };
  struct Written {
    std::int64_t to = 0;
    std::string sha256;  // hex, of the whole upload, if the part was the last
  };
  // Writes and flushes. kStoreBusy (too much waits), kInvalid (the bytes have another sum),
  // kStoreFull (nothing was written), kWrongOffset (the file ends before the offset),
  // kStoreUnavailable.
  void write(Part part, const std::function<void(Result<Written>)>& then);

  // Whether the file has these bytes at this offset.
  void compare(std::string path, std::int64_t offset, std::string_view bytes,
               std::shared_ptr<const void> keeper, const std::function<void(Result<bool>)>& then);

  // The upload is complete or over: removes its file.
  void remove(std::string uid);

  // What else is to be done with files. False: it has stopped.
  bool post(std::function<void()> task);

  // Finishes what waits. What comes later is refused with kDraining.
  void stop();

 private:
  struct Hash;
  struct Task {
    std::function<void()> run;
    std::size_t bytes;
  };
  Status add(std::size_t bytes, std::function<void()> run);
  void work();
  Result<UploadFilePtr> openNow(const std::string& uid);
  Result<Written> writeNow(const Part& part);
  Status makeOwn(UploadFile& file, std::int64_t offset);
  Result<std::unique_ptr<Hash>> hashUpTo(const UploadFile& file, std::int64_t offset);
  void keep(const std::string& uid, std::unique_ptr<Hash> hash);

  BlobPlace& place_;
  const std::size_t most_waiting_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> waiting_;                             // guarded by mutex_
  std::size_t waiting_bytes_ = 0;                        // also of what runs; guarded by mutex_
  bool stopped_ = false;                                 // guarded by mutex_
  std::map<std::string, std::unique_ptr<Hash>> hashes_;  // guarded by mutex_
  std::vector<std::jthread> threads_;
};

// Lower-case hexadecimal SHA-256 as base64 of its bytes, as headers have it, and back; empty if it
// is none.
std::string sumToBase64(std::string_view hex);
std::string sumFromBase64(std::string_view base64);

}  // namespace muster
