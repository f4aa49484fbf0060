#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <ostream>

#include "app/cli/commands.h"
#include "app/cli/progress_bar.h"
#include "app/cli/resource_view.h"
#include "app/log/system_clock.h"
#include "models/json/json_writer.h"
#include "models/store/storage.h"
#include "models/store/store_copy.h"
#include "models/store_url.h"

namespace muster {
namespace {

std::string asJson(const CopiedStore& copied) {
  JsonWriter json;
  json.beginObject().key("tables").beginArray();
  for (const CopiedTable& table : copied.tables) {
    json.beginObject().field("name", table.name).field("rows", table.rows);
    json.field("sha256", table.checksum).endObject();
  }
  json.endArray().key("blobs").beginObject();
  json.field("count", copied.blobs).field("bytes", copied.blob_bytes).key("place_ids").beginArray();
  for (const std::string& place : copied.places) json.value(place);
  return json.endArray().endObject().endObject().take();
}

// What the new service needs beside its store.
std::string blobsText(const CopiedStore& copied) {
  if (copied.blobs == 0) return {};
  return fmt::format(
      "files of resources: {} ({}), which stay in their folder; set blob_dir of the new service to "
      "it (its file `id` says {})\n",
      copied.blobs, bytesText(static_cast<std::uint64_t>(copied.blob_bytes)),
      fmt::join(copied.places, " or "));
}

}  // namespace

int run(const CopyCommand& command, const Environment&, Terminal& terminal) {
  constexpr std::size_t kWidth = 30;
  const bool shows = ::isatty(STDERR_FILENO) != 0;
  const auto copied =
      copyStore(command.from, command.to, SystemClock().now(),
                [&](const std::string& table, std::int64_t done, std::int64_t total) {
                  if (!shows) return;
                  terminal.err << fmt::format("\r\x1b[K{:<16} {} {}", table,
                                              progressBar(static_cast<std::size_t>(done),
                                                          static_cast<std::size_t>(total), kWidth),
                                              done)
                               << std::flush;
                });
  if (shows) terminal.err << "\r\x1b[K" << std::flush;
  if (!copied) {
    terminal.err << "muster copy: " << copied.error() << "\n";
    return kExitFailed;
  }
  if (terminal.json) {
    terminal.out << asJson(*copied) << "\n";
    return kExitOk;
  }
  for (const CopiedTable& table : copied->tables) {
    terminal.out << fmt::format("{:<16} {:>10}  {}\n", table.name, table.rows,
                                table.checksum.substr(0, 12));
  }
  terminal.err << fmt::format(
      "copied and compared; start the service with --store {} (and its password)\n",
      withoutPassword(command.to));
  terminal.err << blobsText(*copied);
  return kExitOk;
}

}  // namespace muster
