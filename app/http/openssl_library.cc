#include "app/http/openssl_library.h"

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace muster {
namespace {

// Stays loaded until the process ends.
void* load(const std::string& library) {
  const std::string file = library + ".so." + std::to_string(OPENSSL_VERSION_MAJOR);
  if (void* const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  throw std::runtime_error("https needs " + file + " (Debian: libssl" +
                           std::to_string(OPENSSL_VERSION_MAJOR) + "): " + ::dlerror());
}

class Symbols {
 public:
  template <class Function>
  void bind(Function& function, const char* name) const {
    void* found = ::dlsym(ssl_, name);
    if (found == nullptr) found = ::dlsym(crypto_, name);
    if (found == nullptr) throw std::runtime_error(std::string("libssl has no ") + name);
    function = reinterpret_cast<Function>(found);
  }

 private:
  void* const crypto_ = load("libcrypto");
  void* const ssl_ = load("libssl");
};

OpensslLibrary bindAll() {
  const Symbols symbols;
  OpensslLibrary all{};
  symbols.bind(all.clientMethod, "TLS_client_method");
  symbols.bind(all.newContext, "SSL_CTX_new");
  symbols.bind(all.freeContext, "SSL_CTX_free");
  symbols.bind(all.controlContext, "SSL_CTX_ctrl");
  symbols.bind(all.trustThisMachine, "SSL_CTX_set_default_verify_paths");
  symbols.bind(all.trustFile, "SSL_CTX_load_verify_locations");
  symbols.bind(all.contextParameters, "SSL_CTX_get0_param");
  symbols.bind(all.setVerify, "SSL_CTX_set_verify");
  symbols.bind(all.setVerification, "SSL_CTX_set_cert_verify_callback");
  symbols.bind(all.setPassphrase, "SSL_CTX_set_default_passwd_cb");
  symbols.bind(all.useCertificates, "SSL_CTX_use_certificate_chain_file");
  symbols.bind(all.useKey, "SSL_CTX_use_PrivateKey_file");
  symbols.bind(all.newSession, "SSL_new");
  symbols.bind(all.freeSession, "SSL_free");
  symbols.bind(all.controlSession, "SSL_ctrl");
  symbols.bind(all.setSocket, "SSL_set_fd");
  symbols.bind(all.expectHost, "SSL_set1_host");
  symbols.bind(all.parameters, "SSL_get0_param");
  symbols.bind(all.connect, "SSL_connect");
  symbols.bind(all.read, "SSL_read_ex");
  symbols.bind(all.write, "SSL_write_ex");
  symbols.bind(all.errorOf, "SSL_get_error");
  symbols.bind(all.verdict, "SSL_get_verify_result");
  symbols.bind(all.expectAddress, "X509_VERIFY_PARAM_set1_ip_asc");
  symbols.bind(all.setHost, "X509_VERIFY_PARAM_set1_host");
  symbols.bind(all.setAddress, "X509_VERIFY_PARAM_set1_ip");
  symbols.bind(all.setFlags, "X509_VERIFY_PARAM_set_flags");
  symbols.bind(all.certificateOf, "X509_STORE_CTX_get0_cert");
  symbols.bind(all.parametersOf, "X509_STORE_CTX_get0_param");
  symbols.bind(all.verify, "X509_verify_cert");
  symbols.bind(all.compare, "X509_cmp");
  symbols.bind(all.freeCertificate, "X509_free");
  symbols.bind(all.openFile, "BIO_new_file");
  symbols.bind(all.closeFile, "BIO_free");
  symbols.bind(all.readCertificate, "PEM_read_bio_X509");
  symbols.bind(all.verdictText, "X509_verify_cert_error_string");
  symbols.bind(all.clearErrors, "ERR_clear_error");
  symbols.bind(all.takeError, "ERR_get_error");
  symbols.bind(all.errorText, "ERR_reason_error_string");
  return all;
}

}  // namespace

const OpensslLibrary& OpensslLibrary::get() {
  static const OpensslLibrary library = bindAll();
  return library;
}

}  // namespace muster
