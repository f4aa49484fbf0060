#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/system_user.h"
#include "models/leadership.h"
#include "models/policy/grants.h"
#include "models/pool.h"
#include "models/result.h"
#include "models/store/storage.h"
#include "models/time.h"
#include "models/trigger_spec.h"

namespace muster {

enum class LogLevel { kTrace, kDebug, kInfo, kWarn, kError };
enum class ClusterMode { kAuto, kOn, kOff };
// What a stop of the service means for the workers it has launched.
enum class OnStop { kLeave, kDrain };

struct ListenAddress {
  std::string host = "127.0.0.1";  // an IPv6 address stands here without its brackets
  std::uint16_t port = 8080;       // 0 picks a free one

  // True for localhost, 127.0.0.0/8 and ::1: nobody on another machine can connect.
  bool isLoopback() const;
};

struct AccessToken {
  std::string name;
  std::string sha256;  // of the token, in lower-case hex; the token itself is never kept
  Grants scopes;
  std::optional<Time> expires_at = {};  // absent: never
};

// What a caller may do whose certificate `tls_client_ca` has signed.
struct TlsClient {
  std::string name;
  std::string subject;  // the common name in the certificate, exactly
  Grants scopes;
};

// A configured way to run a worker's jobs. The API can name it, never define it.
struct WorkerTemplate {
  enum class Kind {
    kRun,      // a command per job, run by `muster worker`
    kWorker,   // a whole worker program that speaks the protocol
    kBuiltin,  // a worker inside muster; `command` holds its name
  };
  Kind kind = Kind::kBuiltin;
  std::vector<std::string> command;
  std::map<std::string, std::string> env;
  std::string cwd;
  std::vector<std::string> capabilities = {};  // of the workers launched from it
  std::vector<std::string> executors = {};
  std::vector<std::string> pass_env = {};  // of the service's variables, beside worker_environment
  std::optional<SystemUser> user = {};     // who runs it; absent: the service's own user
};

// What programs commonly need of the service's environment, and what is never a secret.
std::vector<std::string> usualWorkerEnvironment();

// Everything the service can be told at its start. Names and units of the keys are in
// setting_table.cc; lists with structure (tokens, templates, pools, triggers) come from files only.
struct Settings {
  ListenAddress listen;
  std::string store = "sqlite:data/muster.db";
  Durability durability = Durability::kFull;
  std::vector<AccessToken> tokens;
  bool insecure = false;
  std::string tls_cert;  // PEM files; empty: no TLS
  std::string tls_key;
  std::string tls_client_ca;  // empty: nobody is asked for a certificate
  std::vector<TlsClient> tls_clients;
  std::vector<std::string> allowed_hosts;
  std::vector<std::string> allowed_origins;
  std::int64_t max_body_bytes = 8'388'608;
  std::int64_t max_buffered_bytes = 268'435'456;
  int max_connections = 0;              // 0 = by the limit of open files
  int max_connections_per_address = 0;  // 0 = half of them for another machine, all for this one
  Seconds head_timeout{10};
  Seconds body_timeout{60};
  int threads = 0;  // 0 = one per core
  LogLevel log_level = LogLevel::kInfo;
  Seconds shutdown_timeout{10};

  bool ticker = true;
  std::chrono::hours retention{24};
  std::chrono::days audit_retention{90};
  bool auto_create_pools = true;
  std::int64_t max_pools = 10'000;
  std::int64_t flow_max_jobs = 1'000'000;
  std::int64_t flow_max_depth = 16;
  std::int64_t upstream_inline_limit_bytes = 262'144;
  std::int64_t inline_payload_limit_bytes = 2'097'152;
  std::vector<std::string> forced_reference_types;
  std::string blob_dir;  // empty: beside the store
  std::int64_t resource_max_disk_bytes = 21'474'836'480;
  std::int64_t resource_max_mem_bytes = 8'589'934'592;
  int resource_high_watermark_pct = 90;
  int resource_low_watermark_pct = 80;
  Seconds resource_gc_interval{60};
  Seconds default_resource_ttl{3600};
  Seconds upload_ttl{3600};
  Seconds blob_grace{600};
  std::int64_t tenant_max_disk_bytes = 0;  // 0 = no limit
  std::string host_name;                   // empty: the machine's own
  Seconds host_stale{300};
  Seconds host_grace{3600};
  Seconds affinity_ttl{3600};
  Seconds affinity_grace{60};
  Seconds affinity_wait{5};
  int affinity_max_failures = 3;
  bool strict_workers = false;
  Seconds heartbeat_interval{30};
  std::optional<Seconds> stale_threshold;  // absent = twice the heartbeat interval
  Seconds lease{60};

  int max_retries = 3;
  Millis retry_base{400};
  double retry_jitter = 0.2;
  Millis retry_cap{60000};

  int per_tenant_max_concurrency = 3;
  double global_qps_limit = 0;
  double token_qps_limit = 0;
  double tenant_qps_limit = 0;
  std::string current_region = "default";

  int max_workers = 10;
  int adaptive_min_workers = 1;
  int adaptive_max_workers = 12;
  Millis target_p95_latency{2000};
  int target_queue_depth = 50;
  int scale_up_step = 2;
  int scale_down_step = 1;
  Millis scale_decision_interval{1500};

  std::string worker_mode = "once";  // or loop
  Seconds worker_start_timeout{30};
  Seconds worker_shutdown_timeout{30};
  int worker_max_jobs = 0;  // 0 = no limit
  Seconds worker_idle_timeout{30};
  int launch_rate = 20;  // workers a second
  // Variables of the service that workers get: names, and prefixes like LC_*.
  std::vector<std::string> worker_environment = usualWorkerEnvironment();
  OnStop on_stop = OnStop::kLeave;

  std::vector<std::string> webhook_allow;  // private hosts and addresses they may call
  Seconds webhook_timeout{15};
  Seconds webhook_retry_base{5};
  std::chrono::hours webhook_disable_after{120};  // 0 = never

  ClusterMode cluster = ClusterMode::kAuto;
  std::string node_id;  // empty: made from the name of the machine and the port
  NodeRole node_role = NodeRole::kAuto;
  std::string node_url;  // empty: from `listen`
  Seconds leader_lease{30};
  Seconds leader_renew{10};
  Seconds node_heartbeat{10};
  Seconds node_stale{30};
  Seconds node_dead{120};
  WritePolicy write_policy = WritePolicy::kAny;

  std::map<std::string, WorkerTemplate> templates = {
      {"echo", {WorkerTemplate::Kind::kBuiltin, {"echo"}, {}, {}}}};
  std::map<std::string, PoolSettings> pools;  // only what the file sets of each

  std::optional<std::vector<TriggerSpec>> triggers;  // absent: the usual ones
  std::string trigger_registry;                      // a file with more of them

  // What is probably not meant but does not stop the service; for the log.
  std::vector<std::string> warnings;
};

// What the command line says: the file, and settings by their name in setting_table.cc.
struct Overrides {
  std::optional<std::string> config_file;  // absent = muster.yml in the working directory, if there
  std::map<std::string, std::string> values;
};

// What the addresses of this service begin with.
inline std::string_view urlScheme(const Settings& settings) {
  return settings.tls_cert.empty() ? "http" : "https";
}

// Whether several nodes may share the store, which only PostgreSQL can.
bool inCluster(const Settings& settings);

// What is configured, or else the usual ones, and the hook that is always there.
std::vector<TriggerSpec> configuredTriggers(const Settings& settings);

// The settings of a pool that sets nothing itself.
PoolSettings poolDefaults(const Settings& settings);

using Environment = std::map<std::string, std::string>;

// Flag before environment before file before default. On failure the error's fields hold every
// fault of every source: `pointer` is the place (muster.yml:3:9, MUSTER_LISTEN, --listen) and
// `detail` what is wrong there.
Result<Settings> loadSettings(const Overrides& flags, const Environment& env);

}  // namespace muster
