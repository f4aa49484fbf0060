#pragma once

#include <optional>
#include <string>

#include "models/audit.h"
#include "models/json/json_writer.h"
#include "models/policy/grants.h"
#include "models/time.h"

namespace muster {

// What may be known of a token: never the token, nor its hash.
struct TokenView {
  std::string name;  // empty: there are no tokens
  Grants scopes;
  std::optional<Time> expires_at;
  std::string worker;  // of a worker's own token
};
void writeToken(JsonWriter& out, const TokenView& token);

void writeAuditEntry(JsonWriter& out, const AuditEntry& entry);

}  // namespace muster
