#include "app/worker/tar_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace muster {
namespace {

struct TarField {
  std::size_t at, size;
};
constexpr TarField kName{0, 100}, kMode{100, 8}, kUid{108, 8}, kGid{116, 8}, kSize{124, 12},
    kTime{136, 12}, kSum{148, 8}, kType{156, 1}, kTarget{157, 100}, kMagic{257, 8},
    kPrefix{345, 155};

constexpr std::uint64_t kMostOctal = 077777777777;  // in the 11 digits of a size

void put(std::string& block, TarField field, std::string_view text) {
  block.replace(field.at, text.size(), text);
}

void putOctal(std::string& block, TarField field, std::uint64_t number) {
  put(block, field, fmt::format("{:0{}o}", number, field.size - 1));
}

// The sum of all bytes, those of the sum itself taken as blanks.
std::uint64_t sumOf(std::string_view block) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const bool is_sum = i >= kSum.at && i < kSum.at + kSum.size;
    sum += is_sum ? ' ' : static_cast<unsigned char>(block[i]);
  }
  return sum;
}

std::string blockOf(char type, std::string_view name, std::string_view target, unsigned mode,
                    std::uint64_t size) {
  std::string block(kTarBlock, '\0');
  put(block, kName, name.substr(0, kName.size));
  putOctal(block, kMode, mode);
  putOctal(block, kUid, 0);
  putOctal(block, kGid, 0);
  putOctal(block, kSize, size > kMostOctal ? 0 : size);
  putOctal(block, kTime, 0);
  block[kType.at] = type;
  put(block, kTarget, target.substr(0, kTarget.size));
  put(block, kMagic, std::string_view("ustar\00000", 8));
  put(block, kSum, fmt::format("{:06o}", sumOf(block)));
  block[kSum.at + 7] = ' ';
  return block;
}

// "LENGTH key=value\n", where LENGTH counts itself.
std::string paxRecord(std::string_view key, std::string_view value) {
  const std::size_t rest = key.size() + value.size() + 3;
  std::size_t length = rest + 1;
  while (length != rest + fmt::formatted_size("{}", length)) {
    length = rest + fmt::formatted_size("{}", length);
  }
  return fmt::format("{} {}={}\n", length, key, value);
}

std::string textIn(std::string_view block, TarField field) {
  const auto text = block.substr(field.at, field.size);
  return std::string(text.substr(0, text.find('\0')));
}

std::optional<std::uint64_t> numberIn(std::string_view block, TarField field) {
  std::string_view text = block.substr(field.at, field.size);
  // The other notation, of GNU: big-endian bytes after one that no digit is.
  if ((static_cast<unsigned char>(text[0]) & 0x80) != 0) {
    std::uint64_t number = static_cast<unsigned char>(text[0]) & 0x7f;
    for (const char c : text.substr(1)) {
      if (number >> 55 != 0) return std::nullopt;
      number = number << 8 | static_cast<unsigned char>(c);
    }
    return number;
  }
  while (text.starts_with(' ')) text.remove_prefix(1);
  const auto end = std::min(text.find_first_of(std::string_view(" \0", 2)), text.size());
  text = text.substr(0, end);
  if (text.empty()) return 0;
  std::uint64_t number = 0;
  const auto [rest, fault] = std::from_chars(text.data(), text.data() + text.size(), number, 8);
  if (fault != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::size_t tarPadding(std::uint64_t size) {
  return static_cast<std::size_t>((kTarBlock - size % kTarBlock) % kTarBlock);
}

std::string tarHeader(const TarEntry& entry) {
  const char type = entry.kind == TarEntry::Kind::kFolder ? '5'
                    : entry.kind == TarEntry::Kind::kLink ? '2'
                                                          : '0';
  const std::string name = entry.name + (entry.kind == TarEntry::Kind::kFolder ? "/" : "");
  std::string records;
  if (name.size() > kName.size) records += paxRecord("path", name);
  if (entry.target.size() > kTarget.size) records += paxRecord("linkpath", entry.target);
  if (entry.size > kMostOctal) records += paxRecord("size", fmt::to_string(entry.size));
  std::string header;
  if (!records.empty()) {
    header = blockOf('x', "pax", "", 0644, records.size()) + records;
    header.append(tarPadding(records.size()), '\0');
  }
  return header + blockOf(type, name, entry.target, entry.mode & 0777, entry.size);
}

std::optional<TarBlock> parseTarBlock(std::string_view block) {
  if (block.size() != kTarBlock) return std::nullopt;
  const auto sum = numberIn(block, kSum);
  const auto mode = numberIn(block, kMode), size = numberIn(block, kSize);
  if (!sum || *sum != sumOf(block) || !mode || !size) return std::nullopt;
  TarBlock parsed{block[kType.at], textIn(block, kName), textIn(block, kTarget),
                  static_cast<unsigned>(*mode & 0777), *size};
  const bool is_posix = block.substr(kMagic.at, 6) == std::string_view("ustar\0", 6);
  if (const std::string prefix = is_posix ? textIn(block, kPrefix) : ""; !prefix.empty()) {
    parsed.name = prefix + "/" + parsed.name;
  }
  return parsed;
}

std::optional<PaxRecords> parsePax(std::string_view text) {
  PaxRecords records;
  while (!text.empty()) {
    std::size_t length = 0;
    const auto [digits, fault] = std::from_chars(text.data(), text.data() + text.size(), length);
    const auto used = static_cast<std::size_t>(digits - text.data());
    if (fault != std::errc() || length < used + 3 || length > text.size()) return std::nullopt;
    std::string_view record = text.substr(used, length - used);
    text.remove_prefix(length);
    if (!record.starts_with(' ') || !record.ends_with('\n')) return std::nullopt;
    record = record.substr(1, record.size() - 2);
    const auto equals = record.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const auto key = record.substr(0, equals), value = record.substr(equals + 1);
    if (key == "path") records.path = value;
    if (key == "linkpath") records.linkpath = value;
    // A sparse file is not what it seems to be, and would be unpacked as something else.
    if (key.starts_with("GNU.sparse")) return std::nullopt;
    if (key != "size") continue;
    std::uint64_t size = 0;
    const auto [end, wrong] = std::from_chars(value.data(), value.data() + value.size(), size);
    if (wrong != std::errc() || end != value.data() + value.size()) return std::nullopt;
    records.size = size;
  }
  return records;
}

}  // namespace muster
