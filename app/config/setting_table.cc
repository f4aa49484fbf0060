#include "app/config/setting_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <type_traits>

#include "app/config/environment.h"
#include "app/http/address_guard.h"
#include "models/store_url.h"

namespace muster {
namespace {

constexpr std::int64_t kDay = 86400;
constexpr std::int64_t kMany = 1'000'000;
constexpr std::int64_t kCount = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;

template <class Number>
std::optional<Number> parseNumber(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <class T>
struct WithoutOptional {
  using type = T;
};
template <class T>
struct WithoutOptional<std::optional<T>> {
  using type = T;
};

// The number of units in an integer or a duration.
template <class T>
std::int64_t countOf(const T& value) {
  if constexpr (std::is_integral_v<T>) {
    return value;
  } else {
    return value.count();
  }
}

// A row under construction: the parts that follow from the kind of value.
struct Kind {
  std::string expected;
  bool (*read)(std::string_view, Settings&);
  std::string (*show)(const Settings&);
  bool is_list = false;
  bool is_switch = false;
};

template <auto Member, std::int64_t Min, std::int64_t Max>
Kind whole() {
  using Field = std::remove_cvref_t<decltype(std::declval<Settings>().*Member)>;
  using Value = typename WithoutOptional<Field>::type;
  return {fmt::format("a whole number from {} to {}", Min, Max),
          [](std::string_view text, Settings& settings) {
            const auto number = parseNumber<std::int64_t>(text);
            if (!number || *number < Min || *number > Max) return false;
            settings.*Member = static_cast<Value>(*number);
            return true;
          },
          [](const Settings& settings) {
            if constexpr (std::is_same_v<Field, Value>) {
              return std::to_string(countOf(settings.*Member));
            } else {
              return settings.*Member ? std::to_string(countOf(*(settings.*Member)))
                                      : std::string();
            }
          }};
}

template <double Settings::*Member, std::int64_t Max>
Kind real() {
  return {fmt::format("a number from 0 to {}", Max),
          [](std::string_view text, Settings& settings) {
            const auto number = parseNumber<double>(text);
            if (!number || !std::isfinite(*number) || *number < 0 || *number > Max) return false;
            settings.*Member = *number;
            return true;
          },
          [](const Settings& settings) { return fmt::format("{}", settings.*Member); }};
}

template <bool Settings::*Member>
Kind onOff() {
  return {.expected = "on or off",
          .read =
              [](std::string_view text, Settings& settings) {
                std::string word(text);
                for (char& c : word) c = static_cast<char>(std::tolower(c));
                const bool on = word == "on" || word == "true" || word == "yes" || word == "1";
                const bool off = word == "off" || word == "false" || word == "no" || word == "0";
                if (on || off) settings.*Member = on;
                return on || off;
              },
          .show = [](const Settings& settings) -> std::string {
            return settings.*Member ? "on" : "off";
          },
          .is_switch = true};
}

constexpr std::array<std::string_view, 2> kDurabilities = {"full", "normal"};
constexpr std::array<std::string_view, 3> kClusterModes = {"auto", "on", "off"};
constexpr std::array<std::string_view, 2> kOnStops = {"leave", "drain"};
constexpr std::array<std::string_view, 5> kLogLevels = {"trace", "debug", "info", "warn", "error"};

// The names stand in the order of the enumerators.
template <auto Member, const auto& Names>
Kind choice() {
  using Field = std::remove_cvref_t<decltype(std::declval<Settings>().*Member)>;
  return {fmt::format("{}", fmt::join(Names, " or ")),
          [](std::string_view text, Settings& settings) {
            const auto found = std::find(Names.begin(), Names.end(), text);
            if (found == Names.end()) return false;
            settings.*Member = static_cast<Field>(found - Names.begin());
            return true;
          },
          [](const Settings& settings) {
            return std::string(Names[static_cast<std::size_t>(settings.*Member)]);
          }};
}

template <std::string Settings::*Member, bool (*IsGood)(std::string_view)>
Kind text(std::string expected) {
  return {std::move(expected),
          [](std::string_view value, Settings& settings) {
            if (!IsGood(value)) return false;
            settings.*Member = value;
            return true;
          },
          [](const Settings& settings) { return settings.*Member; }};
}

template <std::vector<std::string> Settings::*Member, bool (*IsGood)(std::string_view)>
Kind list(const std::string& expected) {
  return {.expected = expected,
          .read =
              [](std::string_view value, Settings& settings) {
                std::vector<std::string> items;
                while (!value.empty()) {
                  const auto comma = std::min(value.find(','), value.size());
                  auto item = value.substr(0, comma);
                  value.remove_prefix(std::min(comma + 1, value.size()));
                  while (item.starts_with(' ')) item.remove_prefix(1);
                  while (item.ends_with(' ')) item.remove_suffix(1);
                  if (!IsGood(item)) return false;
                  items.emplace_back(item);
                }
                settings.*Member = std::move(items);
                return true;
              },
          .show =
              [](const Settings& settings) {
                return fmt::format("{}", fmt::join(settings.*Member, ","));
              },
          .is_list = true};
}

bool isWord(std::string_view value, std::string_view also) {
  return !value.empty() && value.size() <= 255 &&
         std::all_of(value.begin(), value.end(), [&](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) ||
                  also.find(c) != std::string_view::npos;
         });
}

bool isHost(std::string_view value) { return isWord(value, ".-_:[]"); }

bool isOrigin(std::string_view value) {
  const auto at = value.find("://");
  const bool http = value.starts_with("http://") || value.starts_with("https://");
  return http && isHost(value.substr(at + 3));
}

bool isRegion(std::string_view value) { return value.size() <= 128 && isWord(value, "._~:-"); }

bool isPath(std::string_view value) {
  return !value.empty() && value.find('\0') == std::string_view::npos;
}

bool isArtifactType(std::string_view value) {
  return value.size() <= 128 && isWord(value, "._~:/+-");
}

bool isHostName(std::string_view value) {
  return !value.empty() && value.size() <= 256 && isWord(value, "._~:-");
}

bool isNodeId(std::string_view value) { return isValidId(value); }

bool isWorkerMode(std::string_view value) { return value == "once" || value == "loop"; }

bool isStore(std::string_view value) {
  if (value == "memory:" || (isPostgres(value) && value.find(' ') == std::string_view::npos)) {
    return true;
  }
  if (!value.starts_with("sqlite:")) return false;
  const auto path = value.substr(7);
  return !path.empty() && path != ":memory:" && path.find('\0') == std::string_view::npos;
}

bool readListen(std::string_view value, Settings& settings) {
  const auto colon = value.rfind(':');
  if (colon == std::string_view::npos) return false;
  auto host = value.substr(0, colon);
  const auto port = parseNumber<std::uint16_t>(value.substr(colon + 1));
  const bool bracketed = host.starts_with('[') && host.ends_with(']') && host.size() > 2;
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (!port || !isWord(host, bracketed ? ":.%" : ".-_")) return false;
  settings.listen = {std::string(host), *port};
  return true;
}

std::string showListen(const Settings& settings) {
  const auto& [host, port] = settings.listen;
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

SettingRow row(std::string_view name, std::string_view bare_name, Kind kind,
               std::string_view help) {
  return {name,         bare_name,      help,      std::move(kind.expected),
          kind.is_list, kind.is_switch, kind.read, kind.show};
}

SettingRow row(std::string_view name, Kind kind, std::string_view help) {
  return row(name, "", std::move(kind), help);
}

std::vector<SettingRow> makeTable() {
  using S = Settings;
  return {
      row("listen", {"HOST:PORT, for example 127.0.0.1:8080", readListen, showListen},
          "address to serve; port 0 picks a free one"),
      row("store", text<&S::store, isStore>("sqlite:PATH, memory: or postgresql://HOST/DATABASE"),
          "where jobs are kept: sqlite:PATH, memory: or postgresql://USER:PASSWORD@HOST/DATABASE"),
      row("durability", choice<&S::durability, kDurabilities>(),
          "full survives a power cut, normal a crash of the process"),
      row("insecure", onOff<&S::insecure>(), "serve other machines without asking for a token"),
      row("tls_cert", text<&S::tls_cert, isPath>("a file"),
          "certificate chain (PEM), the service's own first: serve https"),
      row("tls_key", text<&S::tls_key, isPath>("a file"), "private key (PEM) of tls_cert"),
      row("tls_client_ca", text<&S::tls_client_ca, isPath>("a file"),
          "authorities (PEM) whose certificates callers may show; see tls_clients"),
      row("allowed_hosts", list<&S::allowed_hosts, isHost>("host names"),
          "our names in the Host header, besides localhost"),
      row("allowed_origins",
          list<&S::allowed_origins, isOrigin>("origins like https://example.org"),
          "web pages that may call the API from a browser"),
      row("max_body_bytes", whole<&S::max_body_bytes, 1024, 1 << 30>(), "largest request body"),
      row("max_buffered_bytes", whole<&S::max_buffered_bytes, 1024, std::int64_t{1} << 40>(),
          "most bytes of requests in memory, of all clients together"),
      row("max_connections", whole<&S::max_connections, 0, kMany>(),
          "most connections; 0: 20000, or fewer by the limit of open files"),
      row("max_connections_per_address", whole<&S::max_connections_per_address, 0, kMany>(),
          "most connections of one address; 0: half of all for other machines"),
      row("head_timeout_seconds", whole<&S::head_timeout, 1, kDay>(),
          "how long the head of a request may take to come"),
      row("body_timeout_seconds", whole<&S::body_timeout, 1, kDay>(),
          "how long a body may take to come, and a second more for each 64 KiB"),
      row("threads", whole<&S::threads, 0, 1024>(), "threads that serve HTTP; 0: one per core"),
      row("log_level", choice<&S::log_level, kLogLevels>(),
          "least important message that is logged"),
      row("shutdown_timeout_seconds", whole<&S::shutdown_timeout, 0, kDay>(),
          "how long a stop waits for requests in flight"),
      row("ticker", onOff<&S::ticker>(), "run periodic duties; off: only POST /v1/tick does"),
      row("audit_retention_days", whole<&S::audit_retention, 1, 36500>(),
          "how long changes stay in the audit"),
      row("retention_hours", whole<&S::retention, 0, 876000>(),
          "how long finished jobs, flows, workers and events are kept"),
      row("auto_create_pools", onOff<&S::auto_create_pools>(),
          "the first push to an unknown pool creates it"),
      row("max_pools", whole<&S::max_pools, 1, kMany>(), "most pools there may be"),
      row("flow_max_jobs", whole<&S::flow_max_jobs, 1, kCount>(), "most jobs of one flow"),
      row("flow_max_depth", whole<&S::flow_max_depth, 1, 1000>(),
          "most levels of a flow: its jobs, their children, and so on"),
      row("upstream_inline_limit_bytes", whole<&S::upstream_inline_limit_bytes, 0, kCount>(),
          "most bytes of upstream results that a claimed job carries"),
      row("inline_payload_limit_bytes", whole<&S::inline_payload_limit_bytes, 0, kCount>(),
          "most bytes of a result and the values of its artifacts together"),
      row("forced_reference_types", list<&S::forced_reference_types, isArtifactType>("types"),
          "types of artifacts that must not be handed back as a value"),
      row("blob_dir", text<&S::blob_dir, isPath>("a folder"),
          "folder of the bytes of resources; beside the store"),
      row("resource_max_disk_bytes", whole<&S::resource_max_disk_bytes, 0, kMostBytes>(),
          "most bytes of resources in a folder of blobs, and in that of a host"),
      row("resource_max_mem_bytes", whole<&S::resource_max_mem_bytes, 0, kMostBytes>(),
          "most memory that the resources of a worker may take"),
      row("resource_high_watermark_pct", whole<&S::resource_high_watermark_pct, 1, 100>(),
          "part of that, in percent, above which unused resources are evicted"),
      row("resource_low_watermark_pct", whole<&S::resource_low_watermark_pct, 0, 99>(),
          "part of that, in percent, down to which they are"),
      row("resource_gc_interval_seconds", whole<&S::resource_gc_interval, 1, kDay>(),
          "how often a folder of resources is tended"),
      row("default_resource_ttl_seconds", whole<&S::default_resource_ttl, 1, 365 * kDay>(),
          "how long an unused resource stays that was registered without an end"),
      row("upload_ttl_seconds", whole<&S::upload_ttl, 1, 30 * kDay>(),
          "silence after which an upload is given up"),
      row("blob_grace_seconds", whole<&S::blob_grace, 0, kDay>(),
          "how long bytes stay that no resource has any more"),
      row("tenant_max_disk_bytes", whole<&S::tenant_max_disk_bytes, 0, kMostBytes>(),
          "most bytes stored for one tenant; 0: no limit"),
      row("affinity_ttl_seconds", whole<&S::affinity_ttl, 1, 365 * kDay>(),
          "how long a key without jobs stays with its holder"),
      row("affinity_grace_seconds", whole<&S::affinity_grace, 0, kDay>(),
          "how long a silent worker keeps its keys, its resources and what must run on it"),
      row("affinity_wait_seconds", whole<&S::affinity_wait, 0, kDay>(),
          "how long a job waits for a preferred holder"),
      row("affinity_max_failures", whole<&S::affinity_max_failures, 1, 1000>(),
          "failed tries in a row on a holder that release its key"),
      row("host_name", text<&S::host_name, isHostName>("1 to 256 of A-Z a-z 0-9 . _ ~ : -"),
          "name of this machine; fix it where names change, as in containers"),
      row("host_stale_seconds", whole<&S::host_stale, 1, kDay>(),
          "how long a host counts as up after it told of its folder"),
      row("host_grace_seconds", whole<&S::host_grace, 0, 30 * kDay>(),
          "how long a host may be away before what it holds is lost"),
      row("strict_workers", onOff<&S::strict_workers>(), "only registered workers may claim"),
      row("trigger_registry", text<&S::trigger_registry, isPath>("a file"),
          "file with triggers, like trigger_registry.yml"),
      row("heartbeat_interval_seconds", whole<&S::heartbeat_interval, 1, kDay>(),
          "how often a worker reports that it is alive"),
      row("stale_threshold_seconds", whole<&S::stale_threshold, 1, kDay>(),
          "silence after which a worker is lost (2 heartbeats)"),
      row("lease_seconds", whole<&S::lease, 1, kDay>(), "how long a claim holds unless renewed"),
      row("max_retries", "MAX_RETRIES", whole<&S::max_retries, 0, 1000>(),
          "tries in all before a job is poisoned"),
      row("retry_base_ms", "RETRY_BASE_MS", whole<&S::retry_base, 0, kCount>(),
          "wait before the second try; doubles with each further one"),
      row("retry_jitter_pct", "RETRY_JITTER_PCT", real<&S::retry_jitter, 1>(),
          "part of the wait that is left to chance, 0 to 1"),
      row("retry_cap_ms", whole<&S::retry_cap, 0, kCount>(), "longest wait between two tries"),
      row("per_tenant_max_concurrency", "PER_TENANT_MAX_CONCURRENCY",
          whole<&S::per_tenant_max_concurrency, 1, kMany>(),
          "jobs of one tenant that run at a time in a pool"),
      row("global_qps_limit", "GLOBAL_QPS_LIMIT", real<&S::global_qps_limit, 10'000'000>(),
          "requests a second; 0: no limit"),
      row("token_qps_limit", real<&S::token_qps_limit, 10'000'000>(),
          "requests a second of one token; 0: no limit"),
      row("tenant_qps_limit", real<&S::tenant_qps_limit, 10'000'000>(),
          "pushed jobs a second that name one tenant; 0: no limit"),
      row("current_region", "CURRENT_REGION", text<&S::current_region, isRegion>("a name"),
          "region this service stands in"),
      row("max_workers", whole<&S::max_workers, 0, kMany>(),
          "most workers of a pool in queue mode"),
      row("adaptive_min_workers", "MIN_WORKERS", whole<&S::adaptive_min_workers, 0, kMany>(),
          "fewest workers of a pool in adaptive mode"),
      row("adaptive_max_workers", "MAX_WORKERS", whole<&S::adaptive_max_workers, 0, kMany>(),
          "most workers of a pool in adaptive mode"),
      row("target_p95_latency_ms", "TARGET_P95_LATENCY_MS",
          whole<&S::target_p95_latency, 0, kCount>(), "adaptive mode scales up above it"),
      row("target_queue_depth", "TARGET_QUEUE_DEPTH", whole<&S::target_queue_depth, 0, kCount>(),
          "adaptive mode scales up above it"),
      row("scale_up_step", "SCALE_UP_STEP", whole<&S::scale_up_step, 0, kMany>(),
          "workers added at a time in adaptive mode"),
      row("scale_down_step", "SCALE_DOWN_STEP", whole<&S::scale_down_step, 0, kMany>(),
          "workers removed at a time in adaptive mode"),
      row("scale_decision_interval_ms", "SCALE_DECISION_INTERVAL_MS",
          whole<&S::scale_decision_interval, 0, kCount>(),
          "least time between two steps in adaptive mode"),
      row("worker_mode", text<&S::worker_mode, isWorkerMode>("once or loop"),
          "once: a worker runs one job and exits; loop: it stays"),
      row("worker_start_timeout_seconds", whole<&S::worker_start_timeout, 1, kDay>(),
          "how long a launched worker may take to register"),
      row("worker_shutdown_timeout_seconds", whole<&S::worker_shutdown_timeout, 0, kDay>(),
          "how long a worker that is told to stop may finish its job"),
      row("worker_max_jobs", whole<&S::worker_max_jobs, 0, kMany>(),
          "jobs a launched loop worker runs before it exits; 0: no limit"),
      row("worker_idle_timeout_seconds", whole<&S::worker_idle_timeout, 0, kDay>(),
          "how long a launched loop worker waits for a job; 0: for ever"),
      row("launch_rate", whole<&S::launch_rate, 1, kMany>(), "most workers launched a second"),
      row("worker_environment",
          list<&S::worker_environment, isVariablePattern>(
              "names of variables like PATH, or prefixes like LC_*; none of MUSTER_*"),
          "variables of the service that launched workers get"),
      row("on_stop", choice<&S::on_stop, kOnStops>(),
          "what a stop does to launched workers: leave them, or have them finish"),
      row("webhook_allow",
          list<&S::webhook_allow, isGuardEntry>("host names, addresses or ranges like 10.0.0.0/8"),
          "private hosts and addresses that webhooks may call"),
      row("webhook_timeout_seconds", whole<&S::webhook_timeout, 1, 300>(),
          "how long the receiver of a webhook may take to answer"),
      row("webhook_retry_base_seconds", whole<&S::webhook_retry_base, 0, 3600>(),
          "wait before a webhook is tried again; grows up to a day with each further try"),
      row("webhook_disable_after_hours", whole<&S::webhook_disable_after, 0, 876000>(),
          "failing so long disables a webhook; 0: never"),
      row("cluster", choice<&S::cluster, kClusterModes>(),
          "several nodes share the store; auto: with PostgreSQL"),
      row("node_id", text<&S::node_id, isNodeId>("1 to 128 of A-Z a-z 0-9 . _ ~ : -"),
          "name of this node; made from the machine and the port"),
      row("node_role", choice<&S::node_role, kNodeRoles>(),
          "auto and leader may lead, a worker does not, an observer only reads"),
      row("node_url", text<&S::node_url, isOrigin>("an address like http://node-1:8080"),
          "where other nodes and clients reach this one"),
      row("leader_lease_seconds", whole<&S::leader_lease, 1, kDay>(),
          "silence after which another node leads"),
      row("leader_renew_seconds", whole<&S::leader_renew, 1, kDay>(),
          "how often the leader renews, and others try"),
      row("node_heartbeat_seconds", whole<&S::node_heartbeat, 1, kDay>(),
          "how often a node reports that it is alive"),
      row("node_stale_seconds", whole<&S::node_stale, 1, kDay>(),
          "silence after which a node is stale"),
      row("node_dead_seconds", whole<&S::node_dead, 1, kDay>(),
          "silence after which a node is dead"),
      row("write_policy", choice<&S::write_policy, kWritePolicies>(),
          "any: every node takes writes; leader: only the leader does"),
  };
}

}  // namespace

std::string SettingRow::flag() const {
  std::string flag = "--" + std::string(name);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

std::string SettingRow::environment() const {
  std::string variable = "MUSTER_" + std::string(name);
  for (char& c : variable) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return variable;
}

const std::vector<SettingRow>& settingTable() {
  static const std::vector<SettingRow> table = makeTable();
  return table;
}

const SettingRow* findSetting(std::string_view key) {
  const auto& table = settingTable();
  const auto found = std::find_if(table.begin(), table.end(), [&](const SettingRow& row) {
    return row.name == key || (!row.bare_name.empty() && row.bare_name == key);
  });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace muster
