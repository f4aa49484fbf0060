#pragma once

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <filesystem>
#include <memory>
#include <string>

namespace muster::test {

// A certificate and its key, as files in PEM.
struct CertificateFiles {
  std::string certificate;
  std::string key;
};

struct CertificateRequest {
  std::string common_name;
  std::string names = {};  // as OpenSSL writes them: "IP:127.0.0.1,DNS:localhost"
  int days = 2;            // negative: it has expired so long ago
  std::string second_common_name = {};
};

// An authority that signs certificates, made anew for a test.
class TestAuthority {
 public:
  explicit TestAuthority(const std::string& common_name = "test authority");

  const std::string& pem() const { return pem_; }
  // Writes NAME.pem and NAME.key into the folder.
  CertificateFiles issue(const std::filesystem::path& folder, const std::string& name,
                         const CertificateRequest& request) const;

 private:
  using Key = std::unique_ptr<EVP_PKEY, decltype(&::EVP_PKEY_free)>;
  using Certificate = std::unique_ptr<X509, decltype(&::X509_free)>;

  Certificate sign(EVP_PKEY* key, const CertificateRequest& request, bool is_authority) const;

  Key key_;
  Certificate certificate_{nullptr, ::X509_free};  // null while it is made: it signs itself
  std::string pem_;
};

}  // namespace muster::test
