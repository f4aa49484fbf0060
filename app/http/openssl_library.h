#pragma once

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

namespace muster {

// OpenSSL, loaded when TLS is first spoken: what never speaks it, as most workers do not, starts
// twice as fast without it.
struct OpensslLibrary {
  // The one of this process. Throws std::runtime_error when it is not installed.
  static const OpensslLibrary& get();

  decltype(&::TLS_client_method) clientMethod;
  decltype(&::SSL_CTX_new) newContext;
  decltype(&::SSL_CTX_free) freeContext;
  decltype(&::SSL_CTX_ctrl) controlContext;
  decltype(&::SSL_CTX_set_default_verify_paths) trustThisMachine;
  decltype(&::SSL_CTX_load_verify_locations) trustFile;
  decltype(&::SSL_CTX_get0_param) contextParameters;
  decltype(&::SSL_CTX_set_verify) setVerify;
  decltype(&::SSL_CTX_set_cert_verify_callback) setVerification;
  decltype(&::SSL_CTX_set_default_passwd_cb) setPassphrase;
  decltype(&::SSL_CTX_use_certificate_chain_file) useCertificates;
  decltype(&::SSL_CTX_use_PrivateKey_file) useKey;
  decltype(&::SSL_new) newSession;
  decltype(&::SSL_free) freeSession;
  decltype(&::SSL_ctrl) controlSession;
  decltype(&::SSL_set_fd) setSocket;
  decltype(&::SSL_set1_host) expectHost;
  decltype(&::SSL_get0_param) parameters;
  decltype(&::SSL_connect) connect;
  decltype(&::SSL_read_ex) read;
  decltype(&::SSL_write_ex) write;
  decltype(&::SSL_get_error) errorOf;
  decltype(&::SSL_get_verify_result) verdict;
  decltype(&::X509_VERIFY_PARAM_set1_ip_asc) expectAddress;
  decltype(&::X509_VERIFY_PARAM_set1_host) setHost;
  decltype(&::X509_VERIFY_PARAM_set1_ip) setAddress;
  decltype(&::X509_VERIFY_PARAM_set_flags) setFlags;
  decltype(&::X509_STORE_CTX_get0_cert) certificateOf;
  decltype(&::X509_STORE_CTX_get0_param) parametersOf;
  decltype(&::X509_verify_cert) verify;
  decltype(&::X509_cmp) compare;
  decltype(&::X509_free) freeCertificate;
  decltype(&::BIO_new_file) openFile;
  decltype(&::BIO_free) closeFile;
  decltype(&::PEM_read_bio_X509) readCertificate;
  decltype(&::X509_verify_cert_error_string) verdictText;
  decltype(&::ERR_clear_error) clearErrors;
  decltype(&::ERR_get_error) takeError;
  decltype(&::ERR_reason_error_string) errorText;
};

}  // namespace muster
