#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace muster {

// Decodes one body with "Transfer-Encoding: chunked", piece by piece. Strict: a size is 1 to 15 hex
// digits, lines end with CR LF. Extensions and trailers are read and dropped.
class ChunkedBody {
 public:
  enum class State { kIncomplete, kComplete, kMalformed };

  // Takes what belongs to the body off the front of `bytes`. After kMalformed, fault() says why.
  State read(std::string_view& bytes);

  // What has come; the caller bounds it, by expected() before more is read.
  const std::string& data() const { return data_; }
  // How large the body is at least: what has come, and what is missing of the present chunk.
  std::size_t expected() const { return data_.size() + missing_; }
  const char* fault() const { return fault_; }

 private:
  enum class At { kSize, kExtension, kSizeEnd, kData, kDataEnd, kTrailer };
  State malformed(const char* fault);
  State readByte(char c);
  State readSize(char c);
  State readTrailer(char c);

  At at_ = At::kSize;
  std::string data_;
  std::size_t missing_ = 0;  // bytes of the present chunk
  std::size_t line_ = 0;     // bytes of the present line
  std::size_t trailers_ = 0;
  bool after_cr_ = false;
  const char* fault_ = "";
};

}  // namespace muster
