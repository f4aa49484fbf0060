#include <ostream>

#include "app/cli/commands.h"
#include "models/json/json_writer.h"

namespace muster {

int run(const VersionCommand&, Terminal& terminal) {
  if (terminal.json) {
    JsonWriter json;
    json.beginObject().field("name", "muster").field("version", MUSTER_VERSION).endObject();
    terminal.out << json.take() << "\n";
  } else {
    terminal.out << "muster " MUSTER_VERSION "\n";
  }
  return kExitOk;
}

}  // namespace muster
