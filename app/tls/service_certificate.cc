#include "app/tls/service_certificate.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <vector>

namespace muster {
namespace {

constexpr std::size_t kMostPemBytes = 1U << 20;

using PemFault = tl::unexpected<std::string>;
using BioPtr = std::unique_ptr<BIO, decltype(&::BIO_free)>;
using X509Ptr = std::unique_ptr<X509, decltype(&::X509_free)>;
using KeyPtr = std::unique_ptr<EVP_PKEY, decltype(&::EVP_PKEY_free)>;

// Nobody is there to type one.
int noKeyPassphrase(char*, int, int, void*) { return 0; }

tl::expected<std::string, std::string> readPem(const char* setting, const std::string& file) {
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  std::string text(kMostPemBytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!stream.is_open() || stream.bad()) {
    return PemFault(fmt::format("{} {} cannot be read: {}", setting, file, std::strerror(errno)));
  }
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() > kMostPemBytes) {
    return PemFault(fmt::format("{} {} is larger than 1 MiB", setting, file));
  }
  return text;
}

BioPtr readerOf(const std::string& text) {
  return {::BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), ::BIO_free};
}

// None if one of them is broken.
std::vector<X509Ptr> certificatesIn(const std::string& pem) {
  std::vector<X509Ptr> all;
  ::ERR_clear_error();
  const BioPtr text = readerOf(pem);
  while (X509* const next = ::PEM_read_bio_X509(text.get(), nullptr, noKeyPassphrase, nullptr)) {
    all.emplace_back(next, ::X509_free);
  }
  // The end of the text is an error too.
  if (ERR_GET_REASON(::ERR_peek_last_error()) != PEM_R_NO_START_LINE) all.clear();
  ::ERR_clear_error();
  return all;
}

// What `write` puts into a BIO.
template <class Write>
std::string writtenPem(const Write& write) {
  const BioPtr out(::BIO_new(::BIO_s_mem()), ::BIO_free);
  write(out.get());
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

// Certificates alone, whatever else stood in their file.
std::string toPem(const std::vector<X509Ptr>& certificates) {
  return writtenPem([&certificates](BIO* out) {
    for (const auto& certificate : certificates) ::PEM_write_bio_X509(out, certificate.get());
  });
}

PemFault holdsNo(const char* what, const char* setting, const std::string& file) {
  ::ERR_clear_error();
  return PemFault(fmt::format("{} {} does not hold {} in PEM", setting, file, what));
}

}  // namespace

tl::expected<ServiceCertificate, std::string> readServiceCertificate(const Settings& settings) {
  ServiceCertificate read;
  const auto chain_text = readPem("tls_cert", settings.tls_cert);
  if (!chain_text) return PemFault(chain_text.error());
  const auto key_text = readPem("tls_key", settings.tls_key);
  if (!key_text) return PemFault(key_text.error());
  const auto chain = certificatesIn(*chain_text);
  if (chain.empty()) return holdsNo("whole certificates", "tls_cert", settings.tls_cert);
  X509* const own = chain.front().get();
  const KeyPtr key(
      ::PEM_read_bio_PrivateKey(readerOf(*key_text).get(), nullptr, noKeyPassphrase, nullptr),
      ::EVP_PKEY_free);
  if (!key) return holdsNo("a private key without a passphrase", "tls_key", settings.tls_key);
  if (::X509_check_private_key(own, key.get()) != 1) {
    ::ERR_clear_error();
    return PemFault(fmt::format("tls_key {} is not the key of the first certificate in tls_cert {}",
                                settings.tls_key, settings.tls_cert));
  }
  if (!settings.tls_client_ca.empty()) {
    const auto text = readPem("tls_client_ca", settings.tls_client_ca);
    if (!text) return PemFault(text.error());
    const auto authorities = certificatesIn(*text);
    if (authorities.empty()) {
      return holdsNo("whole certificates", "tls_client_ca", settings.tls_client_ca);
    }
    read.client_ca = toPem(authorities);
  }
  std::tm parts{};
  ::ASN1_TIME_to_tm(::X509_get0_notAfter(own), &parts);
  read.expires = Time(Seconds(::timegm(&parts)));
  read.chain = toPem(chain);
  read.key = writtenPem([&key](BIO* out) {
    ::PEM_write_bio_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
  return read;
}

std::optional<std::string> obstacleToServe(const std::string& pem_file) {
  const std::unique_ptr<SSL_CTX, decltype(&::SSL_CTX_free)> context(
      ::SSL_CTX_new(::TLS_server_method()), ::SSL_CTX_free);
  ::ERR_clear_error();
  const bool ok =
      context && ::SSL_CTX_use_certificate_chain_file(context.get(), pem_file.c_str()) == 1 &&
      ::SSL_CTX_use_PrivateKey_file(context.get(), pem_file.c_str(), SSL_FILETYPE_PEM) == 1 &&
      ::SSL_CTX_check_private_key(context.get()) == 1;
  if (ok) return std::nullopt;
  const char* const text = ::ERR_reason_error_string(::ERR_get_error());
  ::ERR_clear_error();
  return text != nullptr ? text : "it cannot be used";
}

}  // namespace muster
