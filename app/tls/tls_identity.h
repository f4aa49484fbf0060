#pragma once

#include <sys/types.h>

#include <array>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/config/settings.h"
#include "app/log/log.h"
#include "app/tls/memory_file.h"
#include "app/tls/service_certificate.h"
#include "models/clock.h"

namespace muster {

// The certificate and the key that the service shows at present. They are kept in memory, so that
// files which change in the middle of a reload, or do not fit together any more, do no harm. For
// one thread.
class TlsIdentity {
 public:
  TlsIdentity(const Settings& settings, const Log& log, const Clock& clock)
      : settings_(settings), log_(log), clock_(clock) {}

  // False: the service does not speak TLS, and the rest does nothing.
  bool isOn() const { return !settings_.tls_cert.empty(); }

  // Reads the files for the first time. The error is for a person.
  std::optional<std::string> open();

  // Holds certificates and key, as one file. Valid after open().
  std::string path() const { return pair_ ? pair_->path() : ""; }
  // What OpenSSL's configuration has to say about the certificates of callers.
  std::vector<std::pair<std::string, std::string>> commands() const;

  // Keeps a copy of the certificates at `file`, for those whom this service launches. Logs a
  // failure.
  void publishAt(const std::string& file);
  void unpublish();

  // Whether the files are others than those that were read last.
  bool filesChanged() const;
  // Reads the files again. False, after a line in the log, when they cannot be used: what was in
  // force stays so.
  bool reload();
  // Takes the files for read as they are, although what was in force stays so. False without TLS.
  bool passOver();

 private:
  struct FileStamp {
    timespec changed{};
    off_t size = -1;  // -1: there is no such file
    ino_t inode = 0;
    bool operator==(const FileStamp& other) const;
  };
  using Stamps = std::array<FileStamp, 3>;

  static FileStamp stampOf(const std::string& file);
  Stamps stamps() const;
  std::optional<std::string> take();
  void publish() const;

  const Settings& settings_;
  const Log& log_;
  const Clock& clock_;
  Stamps read_{};
  ServiceCertificate certificate_;
  std::unique_ptr<MemoryFile> pair_;
  std::unique_ptr<MemoryFile> client_ca_;
  std::string published_at_;
};

}  // namespace muster
