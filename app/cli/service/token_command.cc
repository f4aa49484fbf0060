#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <ostream>

#include "app/cli/commands.h"
#include "models/ids.h"
#include "models/json/json_writer.h"
#include "models/store/random.h"

namespace muster {
namespace {

// The prefix lets people and scanners see what was found when a token turns up somewhere.
std::string newToken() {
  std::array<std::uint8_t, 32> bytes{};
  Random().bytes(bytes.data(), bytes.size());
  return "mst_" + toHex(bytes.data(), bytes.size());
}

}  // namespace

int run(const TokenCommand& command, const Environment&, Terminal& terminal) {
  if (!isValidId(command.name)) {
    terminal.err << "--name: expected 1 to 128 letters, digits or . _ ~ : -\n";
    return kExitUsage;
  }
  for (const auto& scope : command.scopes) {
    if (parseGrant(scope)) continue;
    terminal.err << fmt::format(
        "--scopes: unknown scope \"{}\", expected read, produce, work or admin, alone or for pools "
        "like produce:emails or produce:team.*\n",
        scope);
    return kExitUsage;
  }
  const std::string token = newToken(), hash = sha256Hex(token);
  if (terminal.json) {
    JsonWriter json;
    json.beginObject().field("token", token).field("sha256", hash).endObject();
    terminal.out << json.take() << "\n";
    return kExitOk;
  }
  terminal.out << fmt::format("token   {}\nsha256  {}\n", token, hash);
  terminal.err << fmt::format(
      "\nGive the token to the client (MUSTER_TOKEN); it is not kept anywhere. In muster.yml:\n\n"
      "tokens:\n  - {{name: {}, sha256: {}, scopes: [{}]}}\n",
      command.name, hash, fmt::join(command.scopes, ", "));
  return kExitOk;
}

}  // namespace muster
