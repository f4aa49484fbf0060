#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "models/time.h"

namespace muster {

struct CopiedTable {
  std::string name;
  std::int64_t rows = 0;
  std::string checksum;  // SHA-256 over all rows in their order, the same on both sides
};

struct CopiedStore {
  std::vector<CopiedTable> tables;
  // Their files stay where they are: the new store knows the folders by the ids in them.
  std::int64_t blobs = 0;
  std::int64_t blob_bytes = 0;
  std::vector<std::string> places;
};

// Told of each table as it goes: `done` of `total` rows.
using CopyProgress =
    std::function<void(const std::string& table, std::int64_t done, std::int64_t total)>;

// Copies everything from the SQLite file to the empty PostgreSQL database, in one transaction, and
// reads it back to compare. Nothing is written when anything goes wrong, and nothing in the source
// changes. No service may be at work with either. The error is for a person.
tl::expected<CopiedStore, std::string> copyStore(const std::string& from_url,
                                                 const std::string& to_url, Time now,
                                                 const CopyProgress& progress);

}  // namespace muster
