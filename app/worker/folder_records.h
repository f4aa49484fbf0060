#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "models/time.h"

namespace muster {

// What a host folder has of a resource stands in resources/UID/NAME, and in resources/UID.json what
// it is. These functions are for the process that holds the lock of the folder. Errors are
// sentences.
struct FolderRecord {
  std::string uid = {}, id = {}, type = {}, scope = {}, tenant = {};
  std::string name = {};  // of the file or folder
  std::uint64_t size = 0;
  std::string sha256 = {};   // empty: not known
  std::string service = {};  // whose resource it is; empty: not known
  std::string from = {};     // where the file was when this was written
  std::string mark = {};     // of the file then, see fileMark()
  std::string created = {};
};

std::string recordText(const FolderRecord& record);
// Nothing when the text is no record.
std::optional<FolderRecord> readRecord(const std::string& text);

// Another one for each file, and for the same file once it was written to. Empty: there is none.
std::string fileMark(const std::string& path);

// What stands in resources/, by its name.
struct FolderEntry {
  std::string name;
  bool has_content = false;  // a folder with something in it
};
struct FolderListing {
  std::vector<std::string> held;        // uids whose files are there
  std::vector<std::string> unfinished;  // uids with a record, and without a file
  std::vector<std::string> leftovers;   // names: of what was being brought, written or deleted
};
// What it means. Pure. What is none of ours is none of these.
FolderListing judgeEntries(const std::vector<FolderEntry>& entries);

tl::expected<std::vector<FolderEntry>, std::string> listResources(const std::string& folder);

// The record is on the disk when this returns, or nothing is there under its name.
tl::expected<void, std::string> writeRecord(const std::string& folder, const FolderRecord& record);
std::optional<FolderRecord> findRecord(const std::string& folder, const std::string& uid);

// Brings the file or folder at `from` to where the record has it, durably: by its name, or if it is
// on another device as a copy, after which the original goes. What is there already stays.
tl::expected<void, std::string> bringFile(const std::string& folder, const FolderRecord& record,
                                          const std::string& from);
// A copy of it in the folder, under a name that is swept when this process does not use it.
tl::expected<std::string, std::string> stageCopy(const std::string& folder,
                                                 const std::string& from);
// What is written in the file, or in those of the folder, is on the disk.
tl::expected<void, std::string> flushFiles(const std::string& path);
// It can be read only from here on.
tl::expected<void, std::string> protectFiles(const std::string& path);

// The file first loses its name, then its record; what is left of it is a leftover. False: it is
// still there.
bool deleteHeld(const std::string& folder, const std::string& uid);
void deleteLeftover(const std::string& folder, const std::string& name);
// The record of a file that is not there.
void deleteRecord(const std::string& folder, const std::string& uid);

// Where a file or folder is that the host keeps; empty: it is not there. For everybody.
std::string keptFile(const std::string& folder, const std::string& uid);

// When the file came, by its record; by the folder if it has none.
Time cameAt(const std::string& folder, const std::string& uid);
std::uint64_t bytesBelow(const std::string& path);

}  // namespace muster
