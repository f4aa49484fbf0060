#pragma once

#include <memory>
#include <string>

#include "app/http/openssl_library.h"
#include "app/http/tls_files.h"

namespace muster {

// What a client trusts, and who it says it is. Immutable, so safe from every thread.
class TlsContext {
 public:
  // Without files the context is made once, and kept. Files are read anew each time, because they
  // are renewed while a worker runs. Throws WireError.
  static std::shared_ptr<const TlsContext> of(const TlsFiles& files);

  explicit TlsContext(const TlsFiles& files);
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  // Sessions must end before this object.
  SSL_CTX* get() const { return context_.get(); }

 private:
  void trust(const std::string& file);
  void present(const std::string& certificate, const std::string& key);
  [[noreturn]] void refuse(const std::string& what) const;

  const OpensslLibrary& ssl_;
  std::unique_ptr<SSL_CTX, decltype(&::SSL_CTX_free)> context_;
  std::unique_ptr<X509, decltype(&::X509_free)> first_;  // certificate of TlsFiles::ca
};

}  // namespace muster
