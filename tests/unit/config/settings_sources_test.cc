#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "app/config/settings_sources.h"

namespace muster {
namespace {

struct Sample {
  std::string name;
  std::string good;   // not the default
  std::string other;  // another good one
  std::string bad;
};

const std::vector<Sample> kSamples = {
    {"listen", "localhost:9000", "[::1]:0", "localhost"},
    {"store", "memory:", "sqlite:/var/lib/jobs.db", "mysql://db"},
    {"durability", "normal", "full", "most"},
    {"insecure", "on", "off", "maybe"},
    {"tls_cert", "trigger_registry.yml", "/etc/muster/triggers.yml", ""},
    {"tls_key", "trigger_registry.yml", "/etc/muster/triggers.yml", ""},
    {"tls_client_ca", "trigger_registry.yml", "/etc/muster/triggers.yml", ""},
    {"allowed_hosts", "jobs.example.org", "a.example,b.example", "a b"},
    {"allowed_origins", "https://ui.example.org", "http://a.example,http://b.example",
     "example.org"},
    {"max_body_bytes", "4096", "1048576", "12"},
    {"max_buffered_bytes", "16777216", "536870912", "12"},
    {"max_connections", "500", "0", "-1"},
    {"max_connections_per_address", "50", "0", "some"},
    {"head_timeout_seconds", "5", "30", "0"},
    {"body_timeout_seconds", "5", "300", "0"},
    {"threads", "4", "2", "-1"},
    {"log_level", "debug", "error", "loud"},
    {"shutdown_timeout_seconds", "3", "0", "soon"},
    {"ticker", "off", "on", "2"},
    {"audit_retention_days", "7", "365", "0"},
    {"retention_hours", "1", "72", "1.5"},
    {"auto_create_pools", "off", "on", "never"},
    {"max_pools", "7", "8", "0"},
    {"flow_max_jobs", "1000", "2000000", "0"},
    {"flow_max_depth", "2", "1000", "1001"},
    {"upstream_inline_limit_bytes", "0", "1048576", "-1"},
    {"inline_payload_limit_bytes", "100", "0", "-1"},
    {"forced_reference_types", "video,image/png", "model", "a b"},
    {"blob_dir", "blobs", "/var/lib/blobs", ""},
    {"resource_max_disk_bytes", "1073741824", "0", "-1"},
    {"resource_max_mem_bytes", "1073741824", "0", "much"},
    {"resource_high_watermark_pct", "95", "100", "101"},
    {"resource_low_watermark_pct", "50", "0", "100"},
    {"resource_gc_interval_seconds", "5", "300", "0"},
    {"default_resource_ttl_seconds", "60", "86400", "0"},
    {"upload_ttl_seconds", "60", "7200", "0"},
    {"blob_grace_seconds", "0", "60", "-1"},
    {"tenant_max_disk_bytes", "1073741824", "0", "-1"},
    {"affinity_ttl_seconds", "60", "86400", "0"},
    {"affinity_grace_seconds", "0", "120", "-1"},
    {"affinity_wait_seconds", "0", "30", "soon"},
    {"affinity_max_failures", "1", "10", "0"},
    {"host_name", "node-1", "10.0.0.7", "a b"},
    {"host_stale_seconds", "60", "600", "0"},
    {"host_grace_seconds", "0", "7200", "-1"},
    {"strict_workers", "on", "off", "very"},
    {"trigger_registry", "trigger_registry.yml", "/etc/muster/triggers.yml", ""},
    {"heartbeat_interval_seconds", "5", "10", "0"},
    {"stale_threshold_seconds", "90", "120", "0"},
    {"lease_seconds", "45", "100", "99999999999999999999"},
    {"max_retries", "5", "0", "-1"},
    {"retry_base_ms", "0", "100", "ten"},
    {"retry_jitter_pct", "0.5", "0", "1.01"},
    {"retry_cap_ms", "1000", "2000", ""},
    {"per_tenant_max_concurrency", "7", "8", "0"},
    {"global_qps_limit", "30", "0.5", "nan"},
    {"token_qps_limit", "10", "2.5", "-1"},
    {"tenant_qps_limit", "10", "2.5", "inf"},
    {"current_region", "us-east", "eu", "a b"},
    {"max_workers", "20", "0", "x"},
    {"adaptive_min_workers", "2", "0", "-1"},
    {"adaptive_max_workers", "20", "6", "many"},
    {"target_p95_latency_ms", "500", "5000", "x"},
    {"target_queue_depth", "10", "200", "x"},
    {"scale_up_step", "3", "0", "x"},
    {"scale_down_step", "2", "0", "x"},
    {"scale_decision_interval_ms", "3000", "5000", "x"},
    {"worker_mode", "loop", "once", "twice"},
    {"worker_start_timeout_seconds", "5", "60", "0"},
    {"worker_shutdown_timeout_seconds", "0", "90", "-1"},
    {"worker_max_jobs", "7", "0", "many"},
    {"worker_idle_timeout_seconds", "0", "300", "-3"},
    {"launch_rate", "5", "1000", "0"},
    {"worker_environment", "PATH,LC_*", "*", "MUSTER_TOKEN"},
    {"on_stop", "drain", "leave", "kill"},
    {"webhook_allow", "10.0.0.0/8,hooks.internal", "::1", "10.0.0.0/99"},
    {"webhook_timeout_seconds", "5", "60", "0"},
    {"webhook_retry_base_seconds", "1", "0", "-1"},
    {"webhook_disable_after_hours", "24", "0", "soon"},
    {"cluster", "off", "auto", "sometimes"},
    {"node_id", "node-1", "a.b~c:d_e", "node 1"},
    {"node_role", "observer", "worker", "king"},
    {"node_url", "http://node-1:8080", "https://muster.example.org", "node-1:8080"},
    {"leader_lease_seconds", "60", "5", "0"},
    {"leader_renew_seconds", "5", "2", "0.5"},
    {"node_heartbeat_seconds", "5", "2", "0"},
    {"node_stale_seconds", "60", "20", "x"},
    {"node_dead_seconds", "600", "90", "-1"},
    {"write_policy", "leader", "any", "all"},
};

const SettingRow& rowOf(const Sample& sample) {
  const SettingRow* row = findSetting(sample.name);
  if (row == nullptr) throw std::logic_error("no setting " + sample.name);
  return *row;
}

SettingsDraft draftFrom(const std::string& yaml, const Environment& env = {},
                        const std::map<std::string, std::string>& flags = {}) {
  SettingsDraft draft;
  readYamlSettings("muster.yml", yaml, draft);
  readEnvironmentSettings(env, draft);
  readFlagSettings({std::nullopt, flags}, draft);
  return draft;
}

std::string quoted(const std::string& text) { return "'" + text + "'"; }

class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / "muster-settings-XXXXXX") {
    std::string name = path_.string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }

  std::string write(const std::string& name, const std::string& text) const {
    const auto file = path_ / name;
    std::ofstream(file) << text;
    return file.string();
  }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST(SettingsSources, everySettingHasASample) {
  ASSERT_EQ(kSamples.size(), settingTable().size());
  for (std::size_t i = 0; i < kSamples.size(); ++i) {
    EXPECT_EQ(kSamples[i].name, settingTable()[i].name);
  }
}

TEST(SettingsSources, everySettingIsReadFromTheFile) {
  for (const auto& sample : kSamples) {
    const auto draft = draftFrom(sample.name + ": " + quoted(sample.good) + "\n");
    EXPECT_TRUE(draft.faults.empty()) << sample.name;
    EXPECT_EQ(rowOf(sample).show(draft.settings), sample.good) << sample.name;
  }
}

TEST(SettingsSources, everySettingIsReadFromTheEnvironment) {
  for (const auto& sample : kSamples) {
    const auto& row = rowOf(sample);
    const auto draft = draftFrom("", {{row.environment(), sample.good}});
    EXPECT_TRUE(draft.faults.empty()) << sample.name;
    EXPECT_TRUE(draft.settings.warnings.empty()) << sample.name;
    EXPECT_EQ(row.show(draft.settings), sample.good) << sample.name;
  }
}

TEST(SettingsSources, everySettingIsReadFromAFlag) {
  for (const auto& sample : kSamples) {
    const auto draft = draftFrom("", {}, {{sample.name, sample.good}});
    EXPECT_TRUE(draft.faults.empty()) << sample.name;
    EXPECT_EQ(rowOf(sample).show(draft.settings), sample.good) << sample.name;
  }
}

TEST(SettingsSources, bareNamesAreReadFromFileAndEnvironment) {
  int bare_names = 0;
  for (const auto& sample : kSamples) {
    const auto& row = rowOf(sample);
    if (row.bare_name.empty()) continue;
    ++bare_names;
    const std::string bare(row.bare_name);
    EXPECT_EQ(row.show(draftFrom(bare + ": " + sample.good).settings), sample.good) << bare;
    EXPECT_EQ(row.show(draftFrom("", {{bare, sample.good}}).settings), sample.good) << bare;
  }
  EXPECT_EQ(bare_names, 13);
}

TEST(SettingsSources, flagBeatsEnvironmentBeatsFileBeatsDefault) {
  for (const auto& sample : kSamples) {
    const auto& row = rowOf(sample);
    const std::string file = sample.name + ": " + quoted(sample.good);
    const Environment env = {{row.environment(), sample.other}};
    EXPECT_EQ(row.show(draftFrom(file, env).settings), sample.other) << sample.name;
    EXPECT_EQ(row.show(draftFrom(file, env, {{sample.name, sample.good}}).settings), sample.good)
        << sample.name;
    EXPECT_NE(row.show(Settings{}), sample.good) << sample.name;
  }
}

TEST(SettingsSources, everySettingRefusesWhatItCannotUse) {
  for (const auto& sample : kSamples) {
    const auto draft = draftFrom("\n  \n" + sample.name + ":  " + quoted(sample.bad) + "\n", {},
                                 {{sample.name, sample.bad}});
    ASSERT_EQ(draft.faults.size(), 2u) << sample.name;
    EXPECT_EQ(draft.faults[0].pointer, "muster.yml:3:" + std::to_string(sample.name.size() + 4));
    EXPECT_EQ(draft.faults[0].detail,
              sample.name + " is \"" + sample.bad + "\", expected " + rowOf(sample).expected);
    EXPECT_EQ(draft.faults[1].pointer, rowOf(sample).flag());
    EXPECT_EQ(rowOf(sample).show(draft.settings), rowOf(sample).show(Settings{}));
  }
}

TEST(SettingsSources, prefixedVariableBeatsTheBareOne) {
  const Environment env = {{"MAX_RETRIES", "4"}, {"MUSTER_MAX_RETRIES", "6"}};
  EXPECT_EQ(draftFrom("", env).settings.max_retries, 6);
}

TEST(SettingsSources, unknownVariablesWithOurPrefixAreWarnedAbout) {
  const auto draft = draftFrom("", {{"MUSTER_LISTN", "x"},
                                    {"MUSTER_TOKEN", "secret"},
                                    {"MUSTER_PORT", "tcp://10.0.0.1:80"},
                                    {"MUSTER_SERVICE_HOST", "10.0.0.1"},
                                    {"MUSTER_STORE", ""}});
  EXPECT_TRUE(draft.faults.empty());
  ASSERT_EQ(draft.settings.warnings.size(), 1u);
  EXPECT_EQ(draft.settings.warnings[0],
            "environment variable MUSTER_LISTN is no setting, did you mean \"MUSTER_LISTEN\"?");
}

TEST(SettingsSources, listsMayBeListsOrTextWithCommas) {
  const std::vector<std::string> both = {"a.example", "b.example"};
  EXPECT_EQ(draftFrom("allowed_hosts: [a.example, b.example]").settings.allowed_hosts, both);
  EXPECT_EQ(draftFrom("allowed_hosts: a.example, b.example").settings.allowed_hosts, both);
  EXPECT_TRUE(draftFrom("allowed_hosts: []").settings.allowed_hosts.empty());
}

TEST(LoadSettings, warns_when_tokens_travel_in_the_open) {
  const std::string tokens =
      "tokens: [{name: a, scopes: [read], sha256: " + std::string(64, 'a') + "}]\n";
  const std::string tls = "tls_cert: c.pem\ntls_key: c.key\n";
  struct Row {
    const char* why;
    std::string yaml;
    bool warned;
  };
  const Row rows[] = {
      {"other machines reach it", "listen: 0.0.0.0:1\n" + tokens, true},
      {"by one address", "listen: 192.0.2.1:1\n" + tokens, true},
      {"it speaks TLS", "listen: 0.0.0.0:1\n" + tokens + tls, false},
      {"only this machine reaches it", "listen: 127.0.0.1:1\n" + tokens, false},
      {"there are none", "listen: 0.0.0.0:1\ninsecure: on\n", false},
  };
  for (const Row& row : rows) {
    auto draft = draftFrom(row.yaml);
    checkSettings(draft);
    ASSERT_TRUE(draft.faults.empty()) << row.why << draft.faults[0].detail;
    ASSERT_EQ(draft.settings.warnings.size(), row.warned ? 1U : 0U) << row.why;
    if (!row.warned) continue;
    EXPECT_NE(draft.settings.warnings[0].find("tls_cert"), std::string::npos);
  }
}

TEST(LoadSettings, tls_settings_must_fit_together) {
  const std::string client = "tls_clients: [{name: a, subject: b, scopes: [work]}]\n";
  const std::string pair = "tls_cert: c\ntls_key: k\n";
  struct Row {
    std::string yaml;
    const char* says;
  };
  const Row rows[] = {
      {"tls_cert: c\n", "tls_key is not"},
      {"tls_key: k\n", "tls_cert is not"},
      {"tls_client_ca: a\n" + client, "callers show certificates over https only"},
      {pair + client, "tls_client_ca is not set"},
      {pair, nullptr},
      {pair + "tls_client_ca: a\n" + client, nullptr},
      {"listen: 0.0.0.0:1\ntls_client_ca: a\n" + pair + client, nullptr},
  };
  for (const Row& row : rows) {
    auto draft = draftFrom(row.yaml);
    checkSettings(draft);
    EXPECT_EQ(draft.faults.empty(), row.says == nullptr) << row.yaml;
    if (row.says == nullptr || draft.faults.empty()) continue;
    EXPECT_NE(draft.faults[0].detail.find(row.says), std::string::npos) << draft.faults[0].detail;
    EXPECT_TRUE(draft.faults[0].pointer.starts_with("muster.yml:") ||
                draft.faults[0].pointer == "tls_clients")
        << draft.faults[0].pointer;
  }
}

TEST(LoadSettings, readsTheNamedFileAndChecksTheWhole) {
  const Folder folder;
  const std::string file = folder.write("my.yml", "listen: 0.0.0.0:8080\n");
  const auto refused = loadSettings({file, {}}, {});
  ASSERT_FALSE(refused);
  ASSERT_EQ(refused.error().fields.size(), 1u);
  EXPECT_EQ(refused.error().fields[0].pointer, file + ":1:9");
  const auto loaded = loadSettings({file, {{"insecure", "on"}}}, {});
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->listen.host, "0.0.0.0");
}

TEST(LoadSettings, reportsTheFaultsOfAllSourcesAtOnce) {
  const Folder folder;
  const std::string file = folder.write("my.yml", "listne: x\nthreads: many\n");
  const auto refused =
      loadSettings({file, {{"log_level", "loud"}}}, {{"MUSTER_DURABILITY", "some"}});
  ASSERT_FALSE(refused);
  std::vector<std::string> places;
  for (const auto& fault : refused.error().fields) places.push_back(fault.pointer);
  EXPECT_EQ(places, (std::vector<std::string>{file + ":1:1", file + ":2:10", "MUSTER_DURABILITY",
                                              "--log-level"}));
}

TEST(LoadSettings, aNamedFileMustBeReadable) {
  const Folder folder;
  for (const std::string& path : {folder.path() + "/none.yml", folder.path()}) {
    const auto refused = loadSettings({path, {}}, {});
    ASSERT_FALSE(refused) << path;
    EXPECT_EQ(refused.error().fields.at(0).pointer, path);
  }
}

struct ListenCase {
  std::string host;
  bool loopback;
};

TEST(ListenAddress, knowsWhichHostsOnlyThisMachineReaches) {
  const std::vector<ListenCase> cases = {
      {"127.0.0.1", true},
      {"127.8.8.8", true},
      {"localhost", true},
      {"::1", true},
      {"0.0.0.0", false},
      {"::", false},
      {"10.0.0.1", false},
      {"example.org", false},
      {"127.evil.example.org", false},
      {"127.0.0.1.nip.io", false},
  };
  for (const auto& [host, loopback] : cases) {
    EXPECT_EQ((ListenAddress{host, 1}.isLoopback()), loopback) << host;
  }
}

TEST(CheckSettings, tokensOrInsecureOpenOtherAddresses) {
  const std::string token =
      "tokens: [{name: a, scopes: [read], sha256: " + std::string(64, 'a') + "}]";
  for (const std::string& more : {std::string("insecure: on"), token}) {
    auto draft = draftFrom("listen: 0.0.0.0:80\n" + more);
    checkSettings(draft);
    EXPECT_TRUE(draft.faults.empty()) << more;
  }
}

TEST(CheckSettings, pairsMustAgree) {
  auto draft = draftFrom("ticker: on\nstale_threshold_seconds: 10\n");
  checkSettings(draft);
  ASSERT_EQ(draft.faults.size(), 1u);
  EXPECT_EQ(draft.faults[0].pointer, "muster.yml:2:26");
}

TEST(CheckSettings, the_memory_for_requests_holds_one_body) {
  auto draft = draftFrom("max_body_bytes: 4096\nmax_buffered_bytes: 4095\n");
  checkSettings(draft);
  ASSERT_EQ(draft.faults.size(), 1U);
  EXPECT_EQ(draft.faults[0].pointer, "muster.yml:2:21");
  EXPECT_EQ(draft.faults[0].detail,
            "max_buffered_bytes is 4095, expected at least max_body_bytes, 4096");
}

TEST(CheckSettings, aClusterNeedsAStoreThatCanBeSharedAndTimesThatFit) {
  struct Fault {
    std::string yaml;
    std::string fault;  // the beginning of it; "" when there is none
  };
  const std::vector<Fault> cases = {
      {"cluster: auto", ""},
      {"cluster: off", ""},
      {"cluster: on", "cluster is on, which only a PostgreSQL store"},
      {"cluster: on\nstore: 'memory:'", "cluster is on, which only a PostgreSQL store"},
      {"node_role: leader", ""},
      {"node_role: worker", "node_role is worker, but this node is alone"},
      {"node_role: observer", "node_role is observer, but this node is alone"},
      {"leader_lease_seconds: 21", ""},
      {"leader_lease_seconds: 20", "leader_lease_seconds is 20, expected more than leader_renew_"},
      {"leader_renew_seconds: 15", "leader_lease_seconds is 30, expected more than leader_renew_"},
      {"node_heartbeat_seconds: 30", "node_stale_seconds is 30, expected more than node_heartbeat"},
      {"node_dead_seconds: 30", "node_dead_seconds is 30, expected more than node_stale_seconds"},
  };
  for (const auto& [yaml, fault] : cases) {
    auto draft = draftFrom(yaml);
    checkSettings(draft);
    ASSERT_EQ(draft.faults.size(), fault.empty() ? 0U : 1U) << yaml;
    if (fault.empty()) continue;
    EXPECT_TRUE(draft.faults[0].detail.starts_with(fault)) << draft.faults[0].detail;
  }
}

TEST(CheckSettings, eviction_ends_below_where_it_begins) {
  auto draft = draftFrom("resource_high_watermark_pct: 80\nresource_low_watermark_pct: 79");
  checkSettings(draft);
  EXPECT_EQ(draft.faults.size(), 0U);
  draft = draftFrom("resource_high_watermark_pct: 80");
  checkSettings(draft);
  ASSERT_EQ(draft.faults.size(), 1U);
  EXPECT_EQ(draft.faults[0].detail,
            "resource_low_watermark_pct is 80, expected less than resource_high_watermark_pct, 80");
}

TEST(CheckSettings, aPostgresStoreMakesACluster) {
  Settings settings;
  settings.store = "postgresql://db/muster";
  EXPECT_TRUE(inCluster(settings));
  settings.cluster = ClusterMode::kOn;
  EXPECT_TRUE(inCluster(settings));
  settings.cluster = ClusterMode::kOff;
  EXPECT_FALSE(inCluster(settings));
  EXPECT_FALSE(inCluster(Settings{}));
}

TEST(PoolDefaults, comeFromTheSettings) {
  EXPECT_EQ(poolDefaults(Settings{}), PoolSettings::builtIn());
  const auto pool = poolDefaults(
      draftFrom("max_retries: 9\nstale_threshold_seconds: 77\nworker_mode: loop\n").settings);
  EXPECT_EQ(pool.max_retries, 9);
  EXPECT_EQ(pool.stale_threshold_seconds, 77);
  EXPECT_EQ(pool.worker_mode, "loop");
}

}  // namespace
}  // namespace muster
