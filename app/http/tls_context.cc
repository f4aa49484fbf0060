#include "app/http/tls_context.h"

#include <cerrno>
#include <cstring>

#include "app/http/wire.h"

namespace muster {
namespace {

// A passphrase is not asked for: workers have no terminal.
int noPassphrase(char*, int, int, void*) { return 0; }

// The other side's certificate is verified as usual. If it is `first` itself, its name need not be
// the one that was called: a worker calls 127.0.0.1, which few certificates name.
int verifyOtherSide(X509_STORE_CTX* verification, void* first) {
  const OpensslLibrary& ssl = OpensslLibrary::get();
  if (first != nullptr &&
      ssl.compare(ssl.certificateOf(verification), static_cast<X509*>(first)) == 0) {
    X509_VERIFY_PARAM* const parameters = ssl.parametersOf(verification);
    ssl.setHost(parameters, nullptr, 0);
    ssl.setAddress(parameters, nullptr, 0);
  }
  return ssl.verify(verification);
}

}  // namespace

std::shared_ptr<const TlsContext> TlsContext::of(const TlsFiles& files) {
  if (!files.ca.empty() || !files.certificate.empty() || !files.key.empty()) {
    return std::make_shared<TlsContext>(files);
  }
  static const auto of_this_machine = std::make_shared<const TlsContext>(TlsFiles());
  return of_this_machine;
}

TlsContext::TlsContext(const TlsFiles& files)
    : ssl_(OpensslLibrary::get()),
      context_(ssl_.newContext(ssl_.clientMethod()), ssl_.freeContext),
      first_(nullptr, ssl_.freeCertificate) {
  if (!context_) throw WireError("TLS cannot be used");
  ssl_.clearErrors();
  ssl_.setPassphrase(get(), noPassphrase);
  ssl_.setVerify(get(), SSL_VERIFY_PEER, nullptr);
  ssl_.controlContext(get(), SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, nullptr);
  ssl_.controlContext(get(), SSL_CTRL_MODE, SSL_MODE_ENABLE_PARTIAL_WRITE, nullptr);
  if (files.ca.empty()) {
    ssl_.trustThisMachine(get());
  } else {
    trust(files.ca);
  }
  if (!files.certificate.empty()) {
    present(files.certificate, files.key.empty() ? files.certificate : files.key);
  } else if (!files.key.empty()) {
    throw WireError("there is a key for a client certificate, " + files.key +
                    ", but no certificate: set MUSTER_CLIENT_CERT too");
  }
  ssl_.setVerification(get(), verifyOtherSide, first_.get());
}

void TlsContext::trust(const std::string& file) {
  const std::unique_ptr<BIO, decltype(&::BIO_free)> text(ssl_.openFile(file.c_str(), "r"),
                                                         ssl_.closeFile);
  if (!text) {
    throw WireError("the file of trusted certificates, " + file +
                    ", cannot be read: " + std::strerror(errno));
  }
  first_.reset(ssl_.readCertificate(text.get(), nullptr, noPassphrase, nullptr));
  if (!first_ || ssl_.trustFile(get(), file.c_str(), nullptr) != 1) {
    throw WireError("the file of trusted certificates, " + file +
                    ", does not hold certificates in PEM");
  }
  // Also the certificate of a service, or of an authority below others, is trusted by itself.
  ssl_.setFlags(ssl_.contextParameters(get()), X509_V_FLAG_PARTIAL_CHAIN);
}

void TlsContext::present(const std::string& certificate, const std::string& key) {
  if (ssl_.useCertificates(get(), certificate.c_str()) != 1) {
    refuse("the client certificate " + certificate + " cannot be used");
  }
  if (ssl_.useKey(get(), key.c_str(), SSL_FILETYPE_PEM) != 1) {
    refuse("the key " + key + " of the client certificate cannot be used");
  }
}

void TlsContext::refuse(const std::string& what) const {
  const char* const text = ssl_.errorText(ssl_.takeError());
  throw WireError(what + ": " + (text != nullptr ? text : "it cannot be read"));
}

}  // namespace muster
