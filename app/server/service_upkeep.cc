#include <algorithm>
#include <tuple>

#include "app/launch/process_table.h"
#include "app/launch/worker_process.h"
#include "app/server/service.h"
#include "app/upkeep/duties.h"
#include "models/operations/hosts.h"
#include "models/operations/resources.h"

// What the service does by itself, each second.
namespace muster {
namespace {

constexpr int kCheckEachTicks = 5;
constexpr std::size_t kStraysAtOnce = 1000;
constexpr Millis kStrayAge = Seconds(3600);  // younger ones may be on their way
constexpr Millis kStandstill = Seconds(10);  // no unit takes so long between two statements

}  // namespace

// What every node looks after: processes of this machine that are gone, and have nobody else to
// tell of it; and nodes that keep all the others waiting.
void Service::tendHost() {
  constexpr int kAtOnce = 1000;
  struct Seen {
    std::vector<RunningProcess> local;    // started by hand
    std::vector<RunningProcess> orphans;  // launched by nodes that are no more
    std::int64_t standstills = 0;
  };
  if (tending_.exchange(true)) return;
  auto seen = std::make_shared<Seen>();
  const auto failed = [this](const Status& status) {
    log_.error("vanished workers were not reaped", {{"detail", status.error().detail}});
  };
  storage_->read(
      [this, seen](Store& store) {
        *seen = {store.launches().localWorkers(kAtOnce), {}};
        if (node_.alone()) return;
        seen->orphans = store.launches().orphans(kAtOnce);
        seen->standstills = store.cluster().endStandstills(kStandstill);
      },
      [this, seen, failed](const Status& read) {
        tending_ = false;
        if (!read) return failed(read);
        if (seen->standstills > 0) {
          log_.warn("ended connections of a node that stands still in a transaction",
                    {{"count", std::to_string(seen->standstills)}});
        }
        const auto is_alive = [](const auto& process) { return isAlive(process.process_key); };
        std::erase_if(seen->local, is_alive);
        std::erase_if(seen->orphans, is_alive);
        if (seen->local.empty() && seen->orphans.empty()) return;
        storage_->write(
            [seen](Store& store) {
              for (const auto& process : seen->local) store.launches().proveDead(process.worker);
              for (const auto& process : seen->orphans) store.launches().exited(process.worker, {});
            },
            [failed](const Status& written) {
              if (!written) failed(written);
            });
      });
}

// Others send readers to this node as long as they hear that it has the place.
void Service::announcePlace() {
  announced_ = clock_.monotonic();
  const AnnouncePlace op{node_.alone() ? "" : node_.id(), node_.advertisedUrl(port_)};
  storage_->write(
      [op](Store& store) { std::ignore = run(op, store); },
      [this](const Status& status) {
        if (status) return;
        log_.error("the folder of blobs was not announced", {{"detail", status.error().detail}});
      });
}

// Removes what nobody uses any more, a bounded number of files at a time; for files that the store
// may not know of it looks at a part of the folder each time.
void Service::tendPlace() {
  if (tending_place_.exchange(true)) return;
  tending_since_ = clock_.monotonic();
  const bool posted = part_writer_->post([this] {
    const Time before = clock_.now() - kStrayAge;
    tendStrays(place_->nextOldBlobs(before, kStraysAtOnce),
               place_->nextOldUploads(before, kStraysAtOnce));
  });
  if (!posted) tending_place_ = false;
}

void Service::tendStrays(std::vector<std::string> blobs, std::vector<std::string> uploads) {
  auto tended = std::make_shared<TendPlace::Reply>();
  auto gone = std::make_shared<std::vector<std::string>>();
  storage_->write(
      [tended, gone, settled = place_settled_, blobs = std::move(blobs),
       uploads = std::move(uploads)](Store& store) {
        *tended = *run(TendPlace{.strays = blobs, .settled = settled}, store);
        *gone = run(FindStrayUploads{uploads}, store).value_or(std::vector<std::string>());
      },
      [this, tended, gone](const Status& status) {
        if (!status) {
          log_.error("the folder of blobs was not tended", {{"detail", status.error().detail}});
          tending_place_ = false;
          return;
        }
        place_settled_ = tended->at;
        for (const std::string& uid : *gone) part_writer_->remove(uid);
        if (tended->more) return tendStrays({}, {});
        metrics_->countTending(clock_.monotonic() - tending_since_);
        tending_place_ = false;
      });
}

// The workers that this node launches keep files of the host in one folder. There may be none, and
// whoever tended it last left the time there.
void Service::tendHostFolder() {
  const std::string folder = hostFolderOf(settings_);
  const auto interval = std::chrono::ceil<Millis>(settings_.resource_gc_interval);
  if (folder.empty() || !isTendingDue(folder, interval, clock_.now())) return;
  if (tending_folder_.exchange(true)) return;
  const bool posted = part_writer_->post([this, folder] {
    const FolderCare care{
        .service = {},
        .most_bytes = static_cast<std::uint64_t>(settings_.resource_max_disk_bytes),
        .marks = {settings_.resource_high_watermark_pct, settings_.resource_low_watermark_pct}};
    const auto tended = tendFolder(
        folder, care, [this](const FolderPage& page) { return syncHere(page); }, clock_.now());
    if (!tended) {
      log_.warn("the folder of this host was not tended",
                {{"folder", folder}, {"detail", tended.error().detail}});
    }
    tending_folder_ = false;
  });
  if (!posted) tending_folder_ = false;
}

tl::expected<FolderAnswer, Refusal> Service::syncHere(const FolderPage& page) {
  SyncHost op{.host = host_,
              .folder_id = page.folder_id,
              .data_dir = page.data_dir,
              .complete = page.complete,
              .disk_bytes_in_use = static_cast<std::int64_t>(page.bytes_in_use),
              .disk_bytes_free = static_cast<std::int64_t>(page.bytes_free)};
  for (const auto& [uid, size, sha256] : page.files) {
    op.resources.push_back({uid, static_cast<std::int64_t>(size), sha256});
  }
  Result<SyncHost::Reply> reply = fail(ErrorCode::kStoreUnavailable, "it was not run");
  const Status status =
      storage_->writeAndWait([&reply, &op](Store& store) { reply = run(op, store); });
  const auto refused = [](const Error& error) {
    return tl::unexpected(Refusal{503, "not_synced", error.detail, {}});
  };
  if (!status) return refused(status.error());
  if (!reply) return refused(reply.error());
  return FolderAnswer{std::move(reply->evict), std::move(reply->unknown)};
}

void Service::tick() {
  if (!node_.works()) return;
  const auto now = clock_.monotonic();
  if (!node_.alone() && now - announced_ >= settings_.node_heartbeat) announcePlace();
  if (now - tended_ >= settings_.resource_gc_interval) {
    tended_ = now;
    tendPlace();
  }
  tendHost();
  tendHostFolder();
  settler_->look();
  const bool leads = node_.lease().has_value();
  if (checks_itself_ && ++ticks_ % kCheckEachTicks == 0) {
    if (leads) {
      checker_->requestAllAsLeader("tick");
    } else {
      checker_->requestAllOfHosts("tick");
    }
  }
  runDutiesAsLeader();
}

void Service::runDutiesAsLeader() {
  const auto lease = node_.lease();
  if (!lease || ticking_.exchange(true)) return;
  auto report = std::make_shared<DutyReport>();
  storage_->write(
      [this, report, lease](Store& store) {
        *report = runDutiesAs(*lease, store, retentionOf(settings_));
        sampleLoad(*lease, store);
      },
      [this, report](const Status& status) {
        ticking_ = false;
        if (!status) {
          log_.error("tick failed", {{"detail", status.error().detail}});
        } else if (report->more) {
          runDutiesAsLeader();
        }
      });
}

// Once in each step of the record.
void Service::sampleLoad(const LeaderLease& leader, Store& store) {
  const Time step = loadStepOf(store.now());
  if (sampled_.load() == step || !store.cluster().holds(leader)) return;
  store.load().sample();
  store.session.afterCommit([this, step] { sampled_ = step; });
}

void Service::writeLoad() {
  if (load_.empty() || writing_load_.exchange(true)) return;
  storage_->write([this](Store& store) { load_.writeTo(store); },
                  [this](const Status& status) {
                    writing_load_ = false;
                    if (status) return;
                    log_.error("load was not recorded", {{"detail", status.error().detail}});
                  },
                  nullptr, Isolation::kShared);
}

void Service::fireDueTriggers() {
  if (!node_.works()) return;
  if (!node_.alone()) refreshTriggers();
  dispatch_->tick();
  outbox_->tick();
}

// Another node may have changed them.
void Service::refreshTriggers() {
  struct Seen {
    std::string fingerprint;
    std::optional<std::vector<Trigger>> triggers;
    std::uint64_t stamp = 0;
  };
  auto seen = std::make_shared<Seen>();
  storage_->read(
      [this, seen](Store& store) {
        *seen = {store.triggers().fingerprint(), std::nullopt, registry_.stamp()};
        {
          const std::lock_guard lock(fingerprint_mutex_);
          if (seen->fingerprint == trigger_fingerprint_) return;
        }
        seen->triggers = store.triggers().all();
      },
      [this, seen](const Status& status) {
        if (!status || !seen->triggers) return;
        registry_.replace(*std::move(seen->triggers), seen->stamp);
        const std::lock_guard lock(fingerprint_mutex_);
        trigger_fingerprint_ = seen->fingerprint;
      });
}

}  // namespace muster
