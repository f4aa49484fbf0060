#include "app/tls/common_name.h"

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

namespace muster {

std::string commonNameIn(const std::string& pem) {
  const std::unique_ptr<BIO, decltype(&::BIO_free)> text(
      ::BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), ::BIO_free);
  const std::unique_ptr<X509, decltype(&::X509_free)> certificate(
      ::PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr), ::X509_free);
  if (!certificate) return "";
  X509_NAME* const subject = ::X509_get_subject_name(certificate.get());
  const int at = ::X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0 || ::X509_NAME_get_index_by_NID(subject, NID_commonName, at) >= 0) return "";
  unsigned char* bytes = nullptr;
  const int size =
      ::ASN1_STRING_to_UTF8(&bytes, ::X509_NAME_ENTRY_get_data(::X509_NAME_get_entry(subject, at)));
  if (size < 0) return "";
  std::string name(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  ::OPENSSL_free(bytes);
  return name;
}

}  // namespace muster
