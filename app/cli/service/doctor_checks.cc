#include "app/cli/service/doctor_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "app/cli/commands.h"
#include "app/cli/resource_view.h"
#include "app/cli/table.h"
#include "models/json/json_writer.h"

namespace muster {
namespace {

constexpr std::uint64_t kMiB = 1U << 20;
constexpr std::uint64_t kLittle = 1024 * kMiB;
constexpr std::uint64_t kTooLittle = 100 * kMiB;
constexpr std::uint64_t kLittlePercent = 5;
constexpr std::uint64_t kFewFiles = 4096;
constexpr std::chrono::milliseconds kSlowFlush{20};
constexpr Millis kOffClock{2000};
constexpr std::chrono::days kRenewalDue{14};
constexpr Millis kSettledBy = Seconds(60);
constexpr double kWhole = 100;  // percent

Check judgeMigrations(const tl::expected<MigrationPlan, std::string>& plan, bool is_postgres,
                      bool pgbouncer_on) {
  const std::string name = "migrations";
  if (!plan) {
    return {name, CheckVerdict::kFail, plan.error(),
            "install the version that the store belongs to, or restore the backup made before"};
  }
  if (plan->pending.empty()) {
    return {name, CheckVerdict::kOk, fmt::format("all {} are applied", plan->applied.size())};
  }
  const std::string migrate =
      fmt::format("stop the service{}, then: muster migrate", is_postgres ? "s" : "");
  if (plan->applied.empty()) {
    Check check{name, CheckVerdict::kOk,
                "the store is empty; the service makes its tables at its start"};
    if (!pgbouncer_on) return check;
    return {name, CheckVerdict::kFail, "the store is empty, and PgBouncer is in between",
            "run muster migrate with the address of the server itself"};
  }
  const std::string detail = fmt::format("pending: {}", fmt::join(plan->pending, ", "));
  if (is_postgres)
    return {name, CheckVerdict::kFail, detail + "; no service starts before", migrate};
  return {name, CheckVerdict::kWarn, detail + "; the service applies them at its start",
          migrate + " (and make a backup before)"};
}

Check judgeFlush(std::chrono::microseconds took, bool is_postgres, Durability durability) {
  std::string detail =
      fmt::format("{:.1f} ms until a {} is durable", static_cast<double>(took.count()) / 1000,
                  is_postgres ? "commit" : "write");
  if (durability == Durability::kNormal) {
    return {"flush", CheckVerdict::kOk, detail + "; with durability: normal nobody waits for it"};
  }
  if (took <= kSlowFlush) return {"flush", CheckVerdict::kOk, detail};
  return {
      "flush", CheckVerdict::kWarn, detail + ", for which every change waits",
      "use a faster disk, or durability: normal, which may lose the last moments in a power cut"};
}

Check judgeClock(Millis ahead) {
  const double seconds = static_cast<double>(std::abs(ahead.count())) / 1000;
  if (std::chrono::abs(ahead) <= kOffClock) {
    return {"clock", CheckVerdict::kOk, fmt::format("{:.1f} s off the database's", seconds)};
  }
  return {"clock", CheckVerdict::kWarn,
          fmt::format("this machine is {:.1f} s {} the database; leases go by the database, but "
                      "logs and schedules are off",
                      seconds, ahead > Millis(0) ? "ahead of" : "behind"),
          "synchronise both clocks (timedatectl set-ntp true)"};
}

Check judgeSessions(bool shared, bool pgbouncer_on) {
  if (pgbouncer_on) {
    return {"sessions", CheckVerdict::kOk,
            "pgbouncer=on: others are heard of by looking each second, not by LISTEN"};
  }
  if (!shared) return {"sessions", CheckVerdict::kOk, "each connection has its own"};
  return {"sessions", CheckVerdict::kFail,
          "a pooler in transaction mode (PgBouncer?) is in between",
          "add pgbouncer=on to the address of the store (…/DATABASE?pgbouncer=on)"};
}

Check judgeUnsettled(const StoreFindings::Unsettled& left) {
  if (left.count == 0) return {"flows", CheckVerdict::kOk, "nothing is left to settle"};
  std::string detail = fmt::format("{} left to settle", left.count);
  if (left.oldest) {
    detail += fmt::format(", the oldest for {} s",
                          std::chrono::floor<std::chrono::seconds>(*left.oldest).count());
    if (*left.oldest <= kSettledBy) {
      return {"flows", CheckVerdict::kOk, detail + "; a service that runs does it in seconds"};
    }
  }
  return {"flows", CheckVerdict::kWarn, detail + "; jobs that wait for others may wait for this",
          "start the service; if it runs and the number does not fall, look for 'flows were not "
          "settled' in its log"};
}

std::string resourcesText(std::int64_t count) {
  return fmt::format("{} resource{}", count, count == 1 ? "" : "s");
}

// Whether what the store says is stored is in the folder.
Check judgeFiles(const StoreFindings::Resources& found, bool is_postgres) {
  const std::string name = "resources";
  if (found.missing + found.damaged > 0) {
    return {name, CheckVerdict::kFail,
            fmt::format("of {} stored here {} without a file and {} with one of another length, "
                        "like '{}'",
                        resourcesText(found.stored), found.missing, found.damaged, found.example),
            "put the files back from a backup of the folder; what cannot be brought back, delete: "
            "muster resources delete ID"};
  }
  const std::int64_t unreachable = is_postgres ? found.nowhere : found.elsewhere;
  if (unreachable > 0) {
    return {
        name, is_postgres ? CheckVerdict::kWarn : CheckVerdict::kFail,
        fmt::format("{} with bytes in a folder that no service has, like the one with the id {}",
                    resourcesText(unreachable), found.other_place),
        "let `blob_dir` name that folder (its file `id` says which it is), or bring it here"};
  }
  std::string detail =
      fmt::format("{} stored here, each with its file", resourcesText(found.stored));
  if (found.elsewhere > 0) detail += fmt::format("; {} in folders of other nodes", found.elsewhere);
  return {name, CheckVerdict::kOk, detail};
}

Check judgeRoom(std::int64_t bytes, std::int64_t most_bytes, int high_pct) {
  const auto text = [](std::int64_t value) { return bytesText(static_cast<std::uint64_t>(value)); };
  Check check{"room for blobs", CheckVerdict::kOk,
              fmt::format("{} of {} are in use", text(bytes), text(most_bytes))};
  const double level = static_cast<double>(most_bytes) * high_pct / kWhole;
  if (bytes > 0 && static_cast<double>(bytes) >= level) {
    check.verdict = CheckVerdict::kWarn;
    check.hint =
        "release what is not needed any more, or raise resource_max_disk_bytes; what jobs or "
        "leases use is not evicted, and new uploads get 503 store_full";
  }
  return check;
}

Check judgeUploads(const StoreFindings::Resources& found) {
  if (found.silent_uploads == 0) {
    return {"uploads", CheckVerdict::kOk,
            found.uploads == 0 ? "none is open" : fmt::format("{} open", found.uploads)};
  }
  const auto since = std::chrono::floor<Seconds>(found.silent_for.value_or(Millis(0)));
  return {
      "uploads", CheckVerdict::kWarn,
      fmt::format("{} of {} got no part for longer than upload_ttl_seconds, one for {} s",
                  found.silent_uploads, found.uploads, since.count()),
      "start the service, whose leader gives them up; if it runs, look for 'tick failed' in its "
      "log"};
}

}  // namespace

Check judgeDisk(const std::string& name, const std::string& folder, std::uint64_t free_bytes,
                std::uint64_t all_bytes) {
  Check check{
      name, CheckVerdict::kOk,
      fmt::format("{} of {} are free for {}", bytesText(free_bytes), bytesText(all_bytes), folder)};
  if (all_bytes == 0) {  // of a file system that has no size
    check.detail = "the file system does not tell of its space for " + folder;
  } else if (free_bytes < kLittle || free_bytes / kLittlePercent < all_bytes / 100) {
    check.verdict = free_bytes < kTooLittle ? CheckVerdict::kFail : CheckVerdict::kWarn;
    check.hint = "make room, or move it to another disk; a lower retention_hours keeps less";
  }
  return check;
}

Check judgeOpenFiles(std::uint64_t limit) {
  if (limit >= kFewFiles) {
    return {"open files", CheckVerdict::kOk, fmt::format("{} may be open", limit)};
  }
  return {"open files", CheckVerdict::kWarn,
          fmt::format("only {} may be open: that many connections and workers", limit),
          "ulimit -n 65536, or LimitNOFILE=65536 in the unit of the service"};
}

Check judgeCertificate(const tl::expected<Time, std::string>& expires, Time now) {
  const std::string name = "certificate";
  if (!expires) {
    return {name, CheckVerdict::kFail, expires.error(),
            "correct tls_cert, tls_key or tls_client_ca; the service's user must be able to read"};
  }
  if (*expires <= now) {
    return {name, CheckVerdict::kFail, "expired at " + formatTime(*expires),
            "renew it; a running service takes the new files by itself"};
  }
  const auto left = std::chrono::floor<std::chrono::days>(*expires - now);
  const bool soon = left < kRenewalDue;
  return {name, soon ? CheckVerdict::kWarn : CheckVerdict::kOk,
          fmt::format("good for {} days, until {}", left.count(), formatTime(*expires)),
          soon ? "renew it; a running service takes the new files by itself" : ""};
}

std::vector<Check> judgeStore(const StoreFindings& found, bool is_postgres, Durability durability) {
  std::vector<Check> checks;
  if (!found.fault.empty()) {
    checks.push_back({"store", CheckVerdict::kFail, found.fault, found.remedy});
  } else {
    checks.push_back({"store", found.hint.empty() ? CheckVerdict::kOk : CheckVerdict::kWarn,
                      found.store, found.hint});
  }
  if (!found.exposure.empty()) {
    checks.push_back({"files", CheckVerdict::kWarn, found.exposure, found.exposure_remedy});
  }
  if (found.migrations) {
    checks.push_back(judgeMigrations(*found.migrations, is_postgres, found.pgbouncer_on));
  }
  if (found.unsettled) checks.push_back(judgeUnsettled(*found.unsettled));
  if (found.flush) checks.push_back(judgeFlush(*found.flush, is_postgres, durability));
  if (found.clock_ahead) checks.push_back(judgeClock(*found.clock_ahead));
  if (found.shared_sessions) {
    checks.push_back(judgeSessions(*found.shared_sessions, found.pgbouncer_on));
  }
  return checks;
}

Check judgeBlobFolder(const BlobFolderState& state) {
  Check check{"blobs", CheckVerdict::kOk, state.path};
  if (!state.fault.empty()) {
    check.verdict = CheckVerdict::kFail;
    check.detail += ": " + state.fault;
    check.hint = "give it to the service's user, or correct `blob_dir`";
  } else if (!state.exists) {
    check.detail += ", which the service makes at its start";
  } else if (state.is_open) {
    check.verdict = state.can_be_closed ? CheckVerdict::kWarn : CheckVerdict::kFail;
    check.detail += ": other users of this machine can look into it";
    check.hint = state.can_be_closed
                     ? "the service closes it at its start; before: chmod go= " + state.path
                     : "the service cannot close it and does not start: give it to its user";
  }
  return check;
}

std::vector<Check> judgeResources(const StoreFindings::Resources& found, bool is_postgres,
                                  std::int64_t most_bytes, int high_pct) {
  return {judgeFiles(found, is_postgres), judgeRoom(found.blob_bytes, most_bytes, high_pct),
          judgeUploads(found)};
}

int doctorExit(const std::vector<Check>& checks) {
  const bool failed = std::any_of(checks.begin(), checks.end(), [](const Check& check) {
    return check.verdict == CheckVerdict::kFail;
  });
  return failed ? kExitFailed : kExitOk;
}

std::string doctorText(const std::vector<Check>& checks, bool color) {
  std::size_t width = 0;
  for (const Check& check : checks) width = std::max(width, displayWidth(check.name));
  std::string text;
  for (const Check& check : checks) {
    const bool ok = check.verdict == CheckVerdict::kOk, fail = check.verdict == CheckVerdict::kFail;
    const std::string mark = tinted(ok     ? "ok  "
                                    : fail ? "FAIL"
                                           : "warn",
                                    ok     ? Tint::kGood
                                    : fail ? Tint::kBad
                                           : Tint::kBusy,
                                    color);
    text += fmt::format("{}  {:<{}}  {}\n", mark, printable(check.name), width,
                        printable(check.detail));
    if (!check.hint.empty()) text += fmt::format("        {}\n", printable(check.hint));
  }
  return text;
}

std::string doctorJson(const std::vector<Check>& checks) {
  constexpr const char* kVerdicts[] = {"ok", "warn", "fail"};
  JsonWriter json;
  json.beginObject().key("checks").beginArray();
  for (const Check& check : checks) {
    json.beginObject()
        .field("name", check.name)
        .field("verdict", kVerdicts[static_cast<int>(check.verdict)])
        .field("detail", check.detail)
        .field("hint", check.hint)
        .endObject();
  }
  json.endArray().endObject();
  return json.take();
}

}  // namespace muster
