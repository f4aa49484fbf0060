#include "app/leadership/membership.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace muster {

Membership::Membership(Storage& storage, Options options, const Log& log)
    : storage_(storage), options_(std::move(options)), log_(log) {}

template <class T, class Work>
void Membership::write(Work work, Answer<T> answer) {
  const auto found = std::make_shared<T>();
  storage_.write([found, work = std::move(work)](Store& store) { *found = work(store); },
                 [found, answer = std::move(answer)](const Status& status) {
                   if (status) {
                     answer(std::move(*found));
                   } else {
                     answer(tl::unexpected(status.error()));
                   }
                 },
                 nullptr, Isolation::kShared);
}

void Membership::beat(Answer<std::optional<Leader>> answer) {
  struct Seen {
    bool joined = false;
    std::optional<Leader> leader;
  };
  write<Seen>(
      [this](Store& store) {
        Seen seen;
        seen.joined = !store.cluster().beat(options_.self.id, options_.instance);
        if (seen.joined) store.cluster().join(options_.self, options_.instance);
        seen.leader = store.cluster().leader();
        return seen;
      },
      [this, answer = std::move(answer)](Result<Seen> seen) {
        if (!seen) return answer(tl::unexpected(std::move(seen).error()));
        if (seen->joined && joined_.exchange(true)) {
          log_.warn("joined again: it was taken for dead, or another node has the same node_id",
                    {{"node_id", options_.self.id}});
        }
        answer(std::move(seen->leader));
        // On its own: two nodes that note each other's silence must not wait for each other.
        write<std::vector<std::string>>(
            [this](Store& store) { return store.cluster().noteSilent(options_.silence); },
            [this](const Result<std::vector<std::string>>& dead) {
              if (!dead) log_.warn("nodes not looked at", {{"detail", dead.error().detail}});
            });
      });
}

void Membership::campaign(Answer<Standing> answer) {
  write<Standing>(
      [this](Store& store) {
        Standing standing;
        standing.won = store.cluster().acquire(options_.self.id, options_.lease);
        standing.leader = store.cluster().leader();
        if (standing.leader && standing.leader->expires_at) {
          standing.left = std::max(*standing.leader->expires_at - store.now(), Millis(0));
        }
        return standing;
      },
      std::move(answer));
}

void Membership::renew(const LeaderLease& held, Answer<bool> answer) {
  write<bool>([this, held](Store& store) { return store.cluster().renew(held, options_.lease); },
              std::move(answer));
}

void Membership::resign(const LeaderLease& held, Answer<void> answer) {
  storage_.write([held](Store& store) { store.cluster().resign(held); }, std::move(answer), nullptr,
                 Isolation::kShared);
}

void Membership::leave(Answer<void> answer) {
  storage_.write(
      [this](Store& store) { store.cluster().leave(options_.self.id, options_.instance); },
      std::move(answer), nullptr, Isolation::kShared);
}

}  // namespace muster
