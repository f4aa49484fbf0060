#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "models/store/storage.h"

namespace muster::test {

// An empty folder that goes away with everything in it.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// Where one store lives while a test runs.
class Place {
 public:
  virtual ~Place() = default;
  virtual std::string url() const = 0;
};

// A kind of store. The suite runs on each of them; where they differ, the difference is a
// capability here and never a name in a test.
struct Backend {
  std::string name;
  std::function<std::unique_ptr<Place>()> make;
  Durability durability = Durability::kFull;
  bool keeps_data = false;        // what was stored is there after a reopen
  bool concurrent_reads = false;  // reads go on while a unit of work is being written
  bool one_writer = true;         // shared units run one after the other too
};

// A new backend is one more entry here.
const std::vector<Backend>& backends();
std::vector<Backend> backendsThat(bool Backend::*capability);

inline void PrintTo(const Backend& backend, std::ostream* out) { *out << backend.name; }

}  // namespace muster::test

// Runs the tests of `suite` on every backend, or on those with a capability.
#define MUSTER_ON_EVERY_BACKEND(suite) MUSTER_ON_BACKENDS(suite, ::muster::test::backends())
#define MUSTER_ON_BACKENDS(suite, list)                          \
  INSTANTIATE_TEST_SUITE_P(On, suite, ::testing::ValuesIn(list), \
                           [](const auto& backend) { return backend.param.name; })
