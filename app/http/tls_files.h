#pragma once

#include <string>

namespace muster {

// PEM files for connections over TLS; each may be empty.
struct TlsFiles {
  // Whom to trust in place of this machine's store: certificates of authorities, or of services.
  // The holder of the first certificate is trusted under any name and address.
  std::string ca = {};
  std::string certificate = {};  // ours, for services that ask who calls; with its chain
  std::string key = {};          // of `certificate`; empty: it stands in the same file
};

}  // namespace muster
