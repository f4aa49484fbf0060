#include "tests/store/backend.h"

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "tests/support/postgres_server.h"

namespace muster::test {
namespace {

class SqliteFilePlace : public Place {
 public:
  std::string url() const override { return "sqlite:" + folder_.file("muster.db"); }

 private:
  Folder folder_;
};

class PostgresPlace : public Place {
 public:
  std::string url() const override { return database_.url(); }

 private:
  PostgresDatabase database_;
};

class MemoryPlace : public Place {
 public:
  std::string url() const override { return "memory:"; }
};

}  // namespace

Folder::Folder() {
  std::string name = (std::filesystem::temp_directory_path() / "muster-store-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), "mkdtemp " + name);
  }
  path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

const std::vector<Backend>& backends() {
  const auto file = [] { return std::make_unique<SqliteFilePlace>(); };
  const auto postgres = [] { return std::make_unique<PostgresPlace>(); };
  const auto memory = [] { return std::make_unique<MemoryPlace>(); };
  static const std::vector<Backend> all = {
      {"sqlite_full", file, Durability::kFull, true, true},
      {"sqlite_normal", file, Durability::kNormal, true, true},
      {"memory", memory, Durability::kFull, false, false},
      {"postgres", postgres, Durability::kFull, true, true, false},
  };
  return all;
}

std::vector<Backend> backendsThat(bool Backend::*capability) {
  std::vector<Backend> able;
  for (const Backend& backend : backends()) {
    if (backend.*capability) able.push_back(backend);
  }
  return able;
}

}  // namespace muster::test
