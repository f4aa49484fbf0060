#pragma once

#include <string_view>
#include <vector>

namespace muster {

// A file of the repository that is compiled into the binary (see cmake/Embed.cmake).
struct EmbeddedFile {
  std::string_view name;
  std::string_view content;
};

extern const std::vector<EmbeddedFile> kSqliteMigrations;    // in order of their numbers
extern const std::vector<EmbeddedFile> kPostgresMigrations;  // the same numbers and names
extern const std::vector<EmbeddedFile> kOpenapiYaml;         // one file
extern const std::vector<EmbeddedFile> kDocsPage;            // one file

}  // namespace muster
