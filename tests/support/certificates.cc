#include "tests/support/certificates.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "tests/support/temp_folder.h"

namespace muster::test {
namespace {

constexpr long kSecondsOfDay = 86400;

void requireMade(bool ok, const char* what) {
  if (!ok) throw std::runtime_error(std::string("no certificate: ") + what);
}

template <class Write>
std::string pemOf(const Write& write) {
  const std::unique_ptr<BIO, decltype(&::BIO_free)> out(::BIO_new(::BIO_s_mem()), ::BIO_free);
  requireMade(write(out.get()) == 1, "PEM");
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

void addExtension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context{};
  ::X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = ::X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  requireMade(extension != nullptr, value.c_str());
  ::X509_add_ext(certificate, extension, -1);
  ::X509_EXTENSION_free(extension);
}

}  // namespace

TestAuthority::TestAuthority(const std::string& common_name)
    : key_(EVP_EC_gen("P-256"), ::EVP_PKEY_free) {
  requireMade(key_ != nullptr, "key");
  certificate_ = sign(key_.get(), {common_name}, true);
  pem_ = pemOf([this](BIO* out) { return ::PEM_write_bio_X509(out, certificate_.get()); });
}

TestAuthority::Certificate TestAuthority::sign(EVP_PKEY* key, const CertificateRequest& request,
                                               bool is_authority) const {
  Certificate made(::X509_new(), ::X509_free);
  X509* const issuer = certificate_ ? certificate_.get() : made.get();
  ::X509_set_version(made.get(), 2);
  std::uint32_t serial = 0;
  requireMade(::RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) == 1,
              "serial");
  ::ASN1_INTEGER_set_uint64(::X509_get_serialNumber(made.get()), serial);
  const long end = request.days * kSecondsOfDay;
  ::X509_gmtime_adj(::X509_getm_notBefore(made.get()), std::min(0L, end) - kSecondsOfDay);
  ::X509_gmtime_adj(::X509_getm_notAfter(made.get()), end);
  X509_NAME* const name = ::X509_get_subject_name(made.get());
  for (const std::string& text : {request.common_name, request.second_common_name}) {
    if (text.empty()) continue;
    ::X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                                 reinterpret_cast<const unsigned char*>(text.c_str()), -1, -1, 0);
  }
  ::X509_set_issuer_name(made.get(), ::X509_get_subject_name(issuer));
  ::X509_set_pubkey(made.get(), key);
  addExtension(made.get(), issuer, NID_basic_constraints,
               is_authority ? "critical,CA:TRUE" : "critical,CA:FALSE");
  addExtension(made.get(), issuer, NID_subject_key_identifier, "hash");
  if (!is_authority) addExtension(made.get(), issuer, NID_authority_key_identifier, "keyid");
  if (!request.names.empty()) {
    addExtension(made.get(), issuer, NID_subject_alt_name, request.names);
  }
  requireMade(::X509_sign(made.get(), key_.get(), ::EVP_sha256()) > 0, "signature");
  return made;
}

CertificateFiles TestAuthority::issue(const std::filesystem::path& folder, const std::string& name,
                                      const CertificateRequest& request) const {
  const Key key(EVP_EC_gen("P-256"), ::EVP_PKEY_free);
  requireMade(key != nullptr, "key");
  const Certificate certificate = sign(key.get(), request, false);
  CertificateFiles files{(folder / (name + ".pem")).string(), (folder / (name + ".key")).string()};
  writeFile(files.certificate,
            pemOf([&](BIO* out) { return ::PEM_write_bio_X509(out, certificate.get()); }));
  writeFile(files.key, pemOf([&](BIO* out) {
              return ::PEM_write_bio_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr,
                                                nullptr);
            }));
  return files;
}

}  // namespace muster::test
