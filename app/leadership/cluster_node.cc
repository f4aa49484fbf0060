#include "app/leadership/cluster_node.h"

#include <fmt/format.h>
#include <unistd.h>

#include "app/launch/process_table.h"
#include "models/store/random.h"

namespace muster {
namespace {

constexpr int kNodesShown = 200;

// The same after each start, so that a node knows its workers again; with a port that is not known
// before, another one each time.
std::string nodeId(const Settings& settings, const std::string& host) {
  if (!settings.node_id.empty()) return settings.node_id;
  const int port = settings.listen.port;
  std::string id = fmt::format("{}-{}", host.substr(0, 100),
                               port > 0 ? std::to_string(port) : Random().token().substr(0, 8));
  for (char& c : id) {
    if (!isValidId(std::string_view(&c, 1))) c = '-';
  }
  return id;
}

std::string ownInstance() { return processKey(::getpid()).value_or(std::to_string(::getpid())); }

std::string bootOf(const std::string& instance) { return instance.substr(instance.rfind(':') + 1); }

}  // namespace

ClusterNode::ClusterNode(const Settings& settings, std::string host, const Clock& clock,
                         const Log& log)
    : settings_(settings),
      clock_(clock),
      log_(log),
      alone_(!inCluster(settings)),
      started_at_(clock.now()),
      silence_{settings.node_stale, settings.node_dead} {
  self_.id = nodeId(settings, host);
  self_.role = settings.node_role;
  self_.version = MUSTER_VERSION;
  self_.host = std::move(host);
  self_.status = node_status::kHealthy;
  self_.registered_at = started_at_;
}

std::optional<std::string> ClusterNode::obstacle(Storage& storage) const {
  if (alone_) return std::nullopt;
  std::optional<Cluster::Occupant> found;
  const auto status = storage.readAndWait(
      [this, &found](Store& store) { found = store.cluster().occupant(self_.id, silence_); });
  if (!status) return status.error().detail;
  if (!found || found->node.status != node_status::kHealthy) return std::nullopt;
  // One that ran here and is gone was us, before.
  const bool same_machine = bootOf(found->instance) == bootOf(ownInstance());
  if (same_machine && !isAlive(found->instance)) return std::nullopt;
  return fmt::format(
      "the node '{}' is running already, at {} on the machine '{}'; give this one another node_id, "
      "or wait {} s if that one was lost",
      self_.id, found->node.url, found->node.host, settings_.node_stale.count());
}

std::string ClusterNode::advertisedUrl(int port) const {
  if (!settings_.node_url.empty()) return settings_.node_url;
  const std::string& host = settings_.listen.host;
  const bool everywhere = host == "0.0.0.0" || host == "::";
  const std::string_view own = everywhere ? self_.host : host;
  const bool bare_v6 = own.find(':') != std::string_view::npos;
  return fmt::format("{}://{}{}{}:{}", urlScheme(settings_), bare_v6 ? "[" : "", own,
                     bare_v6 ? "]" : "", port);
}

void ClusterNode::begin(Storage& storage, int port) {
  self_.url = advertisedUrl(port);
  if (!alone_) {
    membership_ = std::make_unique<Membership>(
        storage, Membership::Options{self_, ownInstance(), settings_.leader_lease, silence_}, log_);
    own_elector_ = std::make_unique<Elector>(
        *membership_,
        Elector::Options{settings_.node_role, settings_.leader_lease, settings_.leader_renew,
                         settings_.node_heartbeat},
        clock_, log_);
    own_elector_->begin();
    elector_ = own_elector_.get();
  }
  begun_ = true;
}

std::optional<LeaderLease> ClusterNode::lease() const {
  if (alone_) return LeaderLease{};
  const Elector* const elector = elector_;
  return elector != nullptr ? elector->lease() : std::nullopt;
}

bool ClusterNode::refusesWrites() const {
  return !alone_ && (observes() || settings_.write_policy == WritePolicy::kLeader);
}

Status ClusterNode::admitWrite() const {
  if (!refusesWrites()) return {};
  const Elector* const elector = elector_;
  return muster::admitWrite(self_.role, settings_.write_policy, lease().has_value(),
                            elector != nullptr ? elector->leaderUrl() : "");
}

void ClusterNode::resign(std::function<void(Status)> done) {
  Elector* const elector = elector_;
  if (alone_) {
    done(fail(ErrorCode::kNotClustered, "this node is the only one: nobody can lead in its place"));
  } else if (elector == nullptr) {
    done(tl::unexpected(notLeader("")));
  } else {
    elector->resign(std::move(done));
  }
}

void ClusterNode::tryToLead() {
  if (Elector* const elector = elector_) elector->tryNow();
}

ClusterNode::View ClusterNode::view(Store& store) const {
  View view;
  view.role = shownRole(self_.role, lease().has_value());
  if (!alone_) {
    view.leader = store.cluster().leader();
    view.nodes = store.cluster().list(silence_, kNodesShown);
    return view;
  }
  Node self = begun_ ? self_ : Node();
  self.id = self_.id;
  self.heartbeat_at = store.now();
  view.leader = Leader{self.id, self.url, 0, started_at_, std::nullopt};
  view.nodes.push_back(std::move(self));
  return view;
}

void ClusterNode::retire() {
  if (Elector* const elector = elector_) elector->retire();
}

void ClusterNode::stop() {
  if (Elector* const elector = elector_) elector->stop();
}

}  // namespace muster
