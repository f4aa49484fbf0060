#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "app/config/settings.h"
#include "models/time.h"

namespace muster {

// What the files of `tls_cert`, `tls_key` and `tls_client_ca` hold, in PEM.
struct ServiceCertificate {
  std::string chain;  // of certificates, the service's own first
  std::string key;
  std::string client_ca;  // empty: the setting is
  Time expires;           // the service's own certificate
};

// Reads the files and checks that they fit together. The error is for a person, and names the
// setting and the file.
tl::expected<ServiceCertificate, std::string> readServiceCertificate(const Settings& settings);

// Why OpenSSL would not serve with this file, which holds certificates and key; nothing when it
// would.
std::optional<std::string> obstacleToServe(const std::string& pem_file);

}  // namespace muster
