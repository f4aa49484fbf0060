#include "bench/backends.h"

#include "bench/database.h"

namespace muster::bench {

std::vector<Backend> backends(const Workshop& shop) {
  std::vector<Backend> list{{"SQLite", [&shop](const std::string& name) {
                               return shop.service(name + ".db", Durability::kNormal);
                             }}};
  if (!shop.options().postgres.empty()) {
    list.push_back({"PostgreSQL", [&shop](const std::string& name) {
                      return shop.service("pg-" + name, Database(shop).url());
                    }});
  }
  return list;
}

}  // namespace muster::bench
