#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "app/worker/descriptor.h"

namespace muster {

// What the jobs before a job left, as JSON Lines in a file for the job's command. Only this user
// can read it. The file goes with this object.
class UpstreamFile {
 public:
  // A new file in `folder`. The error is the errno that kept it from being made.
  static tl::expected<UpstreamFile, int> create(const std::string& folder);
  ~UpstreamFile();
  UpstreamFile(UpstreamFile&& other) noexcept;
  UpstreamFile& operator=(UpstreamFile&&) = delete;

  // A line for each item, which is JSON. 0, or the errno of what went wrong.
  int add(const std::vector<std::string>& items);

  const std::string& path() const { return path_; }

 private:
  UpstreamFile(std::string path, Descriptor file)
      : path_(std::move(path)), file_(std::move(file)) {}

  std::string path_;  // empty: moved from
  Descriptor file_;
};

// The same JSON without line breaks: in JSON they stand between values only.
std::string onOneLine(std::string_view json);

}  // namespace muster
