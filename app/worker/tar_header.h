#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

constexpr std::size_t kTarBlock = 512;

// What a header says of an entry.
struct TarEntry {
  enum class Kind { kFile, kFolder, kLink, kHardLink, kOther };
  Kind kind = Kind::kFile;
  std::string name;
  std::string target;    // of a link
  unsigned mode = 0644;  // its bits for reading, writing and running
  std::uint64_t size = 0;
};

// The header blocks of an entry: POSIX, with a pax record for each name or size that its fields
// cannot hold. Everything that may differ where the same folder lies elsewhere (owner, times) is 0.
std::string tarHeader(const TarEntry& entry);

// How many bytes follow those of a body of this size.
std::size_t tarPadding(std::uint64_t size);

// A single header block as it stands, before what pax records say instead. Nothing when its sum is
// wrong, or a number is none.
struct TarBlock {
  char type = '0';
  std::string name, target;
  unsigned mode = 0;
  std::uint64_t size = 0;
};
std::optional<TarBlock> parseTarBlock(std::string_view block);

// The records of a pax header that say something of where a thing lies and how large it is.
struct PaxRecords {
  std::optional<std::string> path, linkpath;
  std::optional<std::uint64_t> size;
};
std::optional<PaxRecords> parsePax(std::string_view text);

}  // namespace muster
