#pragma once

#include <string>
#include <tl/expected.hpp>

namespace muster {

// Where the database is, as written in the configuration: everything libpq understands, and
//   pgbouncer=on   a PgBouncer that pools transactions is in between: nothing is prepared, and
//                   nothing is kept in the session
struct PostgresPlace {
  std::string conninfo;
  bool bouncer = false;
};
// The error says what is wrong with the address.
tl::expected<PostgresPlace, std::string> postgresPlace(const std::string& url);

}  // namespace muster
