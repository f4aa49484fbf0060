#pragma once

#include <string>

#include "tests/support/http.h"

namespace muster::test {

std::string sha256Hex(const std::string& text);

// A line of `tokens:` in muster.yml: the token is its own name. `more` are further fields, each
// with a comma before it.
std::string tokenLine(const std::string& name, const std::string& scopes,
                      const std::string& more = {});

Headers bearer(const std::string& token);

}  // namespace muster::test
