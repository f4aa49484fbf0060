#include "models/store/postgres/postgres_place.h"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <utility>

namespace muster {

tl::expected<PostgresPlace, std::string> postgresPlace(const std::string& url) {
  PostgresPlace place;
  const std::size_t question = url.find('?');
  place.conninfo = url.substr(0, question);
  char separator = '?';
  for (std::size_t at = question; at != std::string::npos;) {
    const std::size_t end = url.find('&', at + 1);
    const std::string part = url.substr(at + 1, end == std::string::npos ? end : end - at - 1);
    at = end;
    if (part.starts_with("pgbouncer=")) {  // ours; libpq would refuse it
      if (part != "pgbouncer=on" && part != "pgbouncer=off") {
        return tl::unexpected("pgbouncer in the store's address is on or off, not '" +
                              part.substr(part.find('=') + 1) + "'");
      }
      place.bouncer = part == "pgbouncer=on";
      continue;
    }
    place.conninfo += std::exchange(separator, '&') + part;
  }
  char* fault = nullptr;
  PQconninfoOption* options = PQconninfoParse(place.conninfo.c_str(), &fault);
  if (options == nullptr) {
    std::string why = fault != nullptr ? fault : "out of memory";
    while (why.ends_with('\n')) why.pop_back();
    PQfreemem(fault);
    return tl::unexpected(
        fmt::format("the store's address is not valid: {}. Write "
                    "postgresql://USER:PASSWORD@HOST:PORT/DATABASE",
                    why));
  }
  PQconninfoFree(options);
  return place;
}

}  // namespace muster
