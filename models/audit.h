#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/time.h"

namespace muster {

// Who asks for something: the name of the token ("" where there are no tokens), and the address
// that the request came from.
struct Caller {
  std::string name;
  std::string address;
};

// As one text, which events carry: "ci 10.0.0.7". Neither part has a space in it.
std::string callerText(std::string_view name, std::string_view address);
Caller parseCaller(std::string_view text);

// A change that somebody asked for with a token of the configuration.
struct AuditEntry {
  std::string id = {};  // rises with time
  Time at = {};
  Caller by;
  std::string method;
  std::string path;  // without the query
  int status = 0;
  std::string request_id;
};

struct AuditPage {
  std::vector<AuditEntry> entries;  // newest first
  std::string next_cursor;          // empty: that was the last page
};

}  // namespace muster
