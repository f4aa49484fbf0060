#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "app/worker/descriptor.h"
#include "app/worker/tar_header.h"

namespace muster {

// Unpacks an archive that comes piece by piece into a folder, and never writes outside of it,
// whatever the archive says. Files become read-only, owners and times are dropped. An archive with
// a name or link that leads out of the folder, a name for the second time, or something that is
// neither file, folder nor link is refused; what has been unpacked by then stays.
class TarUnpacker {
 public:
  // `folder` is an open folder, empty, and outlives this object.
  explicit TarUnpacker(int folder) : folder_(folder) {}

  // The error says what is wrong; nothing may be added afterwards.
  tl::expected<void, std::string> add(std::string_view bytes);
  // All has been added. An error when the archive does not end there.
  tl::expected<void, std::string> finish() const;

 private:
  enum class Reading { kHeader, kRecords, kBody, kEnd };
  using Step = tl::expected<void, std::string>;

  Step takeBlock();
  Step takeRecords();
  Step begin(const TarBlock& block);
  Step makeFolder(std::string_view path, unsigned mode) const;
  Step makeFile();
  Step makeLink(const TarBlock& block, const std::string& target);
  Step endBody();

  const int folder_;
  Reading reading_ = Reading::kHeader;
  std::string pending_;      // of a header or its records
  std::uint64_t left_ = 0;   // of the body
  std::size_t padding_ = 0;  // behind it
  char records_type_ = 'x';
  PaxRecords records_;  // for the next entry
  std::string path_;    // of the entry whose body comes
  unsigned mode_ = 0;
  Descriptor file_;
};

}  // namespace muster
