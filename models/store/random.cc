#include "models/store/random.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <cstring>
#include <memory>
#include <stdexcept>

namespace muster {

void Random::bytes(std::uint8_t* out, std::size_t size) {
  if (size > block_.size() - used_) {
    if (RAND_bytes(block_.data(), static_cast<int>(block_.size())) != 1) {
      throw std::runtime_error("the system gives no random bytes");
    }
    used_ = 0;
  }
  std::memcpy(out, block_.data() + used_, size);
  OPENSSL_cleanse(block_.data() + used_, size);
  used_ += size;
}

double Random::unit() {
  std::uint64_t bits = 0;
  bytes(reinterpret_cast<std::uint8_t*>(&bits), sizeof bits);
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

std::string Random::token() {
  std::array<std::uint8_t, 16> raw{};
  bytes(raw.data(), raw.size());
  return toHex(raw.data(), raw.size());
}

std::string toHex(const std::uint8_t* bytes, std::size_t size) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(2 * size, '0');
  for (std::size_t i = 0; i < size; ++i) {
    text[2 * i] = kDigits[bytes[i] >> 4];
    text[2 * i + 1] = kDigits[bytes[i] & 15];
  }
  return text;
}

std::string sha256Hex(std::string_view first, std::string_view second) {
  // Looking the algorithm up costs more than hashing a small text: once per thread.
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  thread_local const std::unique_ptr<EVP_MD_CTX, Free> context(EVP_MD_CTX_new());
  static const EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  std::array<std::uint8_t, 32> digest{};
  EVP_DigestInit_ex(context.get(), algorithm, nullptr);
  EVP_DigestUpdate(context.get(), first.data(), first.size());
  EVP_DigestUpdate(context.get(), second.data(), second.size());
  EVP_DigestFinal_ex(context.get(), digest.data(), nullptr);
  return toHex(digest.data(), digest.size());
}

std::string hmacSha256(std::string_view key, std::string_view text) {
  std::string digest(32, '\0');
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(),
       reinterpret_cast<unsigned char*>(digest.data()), &size);
  return digest;
}

std::string hmacSha256Hex(std::string_view key, std::string_view text) {
  const std::string digest = hmacSha256(key, text);
  return toHex(reinterpret_cast<const std::uint8_t*>(digest.data()), digest.size());
}

bool constantTimeEqual(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace muster
