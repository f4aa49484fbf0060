#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <tl/expected.hpp>

#include "app/client/refusal.h"
#include "models/time.h"

namespace muster {

// What is to be kept on this host, as it is registered.
struct KeptFile {
  std::string source;  // the file or folder, from the root
  std::string name;    // its last part
  bool is_folder = false;
  std::uint64_t size = 0;  // of a folder as a tar
  std::string sha256;      // likewise

  // Where its row says that it is; the service puts the uid in.
  std::string path() const { return "resources/{uid}/" + name; }
};

// Looks at the file; the error is a sentence. `folder` is the host folder, from the root.
tl::expected<KeptFile, std::string> describeKept(const std::string& source,
                                                 const std::string& folder);

// The row that the service has made for the file, or has already.
struct KeptRow {
  std::string uid = {}, id = {}, type = {}, scope = {}, tenant = {};
  std::string service = {};  // its URL
};
using RegisterKept = std::function<tl::expected<KeptRow, Refusal>(const KeptFile&)>;

// Registers the file and moves it into the folder, whose lock the caller has. In this order, so
// that a crash loses nothing and no row is named that has no file:
//   1. From another device a copy is brought into the folder first, which may take long.
//   2. The row is made: only the service makes the uid, under which the file is to be.
//   3. The record, which says where the file is now. From here on tendFolder() finishes.
//   4. The file gets its name there. Only then a sync names it.
// Killed after 2, the row is lost in an hour, as no sync names it; keeping the same again goes on.
// A refusal leaves the file where it was.
tl::expected<KeptRow, Refusal> keepFile(const std::string& folder, const KeptFile& file,
                                        const RegisterKept& enlist, Time now);

}  // namespace muster
