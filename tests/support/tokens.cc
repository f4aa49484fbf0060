#include "tests/support/tokens.h"

#include <openssl/evp.h>

#include <array>
#include <string_view>

namespace muster::test {

std::string sha256Hex(const std::string& text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) {
    hex += kDigits[digest[i] >> 4U];
    hex += kDigits[digest[i] & 15U];
  }
  return hex;
}

std::string tokenLine(const std::string& name, const std::string& scopes, const std::string& more) {
  return "  - {name: " + name + ", sha256: " + sha256Hex(name) + ", scopes: [" + scopes + "]" +
         more + "}\n";
}

Headers bearer(const std::string& token) { return {{"Authorization", "Bearer " + token}}; }

}  // namespace muster::test
