#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "app/client/api_client.h"
#include "app/config/settings.h"

namespace muster {

// What a command's exit says to the shell.
constexpr int kExitOk = 0;
constexpr int kExitFailed = 1;  // the service said no, or the job failed
constexpr int kExitUsage = 2;
constexpr int kExitUnreachable = 3;

// The service that the command line and the environment name.
struct ServiceAccess {
  std::string url;
  std::string token;
  ServiceTrust trust = {};
};

// Where a command reads and writes: data to `out`, messages to `err`.
struct Terminal {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  bool json = false;  // for scripts: the service's JSON in place of tables
  bool color = false;
  std::size_t width = 0;  // of a screen; 0 when `out` is none
};

struct ServeCommand {
  Overrides overrides;
};

struct MigrateCommand {
  Overrides overrides;
  bool dry_run = false;
};

struct CopyCommand {
  std::string from;
  std::string to;
};

struct DoctorCommand {
  Overrides overrides;
};

// What a job has besides its data, for commands that make jobs.
struct NewJobOptions {
  std::optional<int> priority;
  std::optional<double> delay_seconds;
  std::optional<int> max_retries;
  std::optional<std::int64_t> retry_base_ms;
  std::optional<std::int64_t> retry_cap_ms;
  std::optional<double> retry_jitter;
  std::string tenant;
  std::string unique_key;
};

struct PushCommand : NewJobOptions {
  std::string pool;
  std::optional<std::string> data;
  std::optional<std::string> file;  // neither: standard input
  bool lines = false;               // one job per line, in batches
  std::optional<int> wait_seconds;
  std::optional<int> count;  // so many jobs with the same data
};

struct JobListCommand {
  std::string pool;
  std::string status;
  std::string tenant;
  std::size_t limit = 50;
};

struct JobShowCommand {
  std::string id;
};

struct JobAttemptsCommand {
  std::string id;
};

struct JobChangeCommand {
  enum class Change { kCancel, kRetry, kRemove };
  Change change = Change::kCancel;
  std::vector<std::string> ids;
};

struct PoolListCommand {
  std::size_t limit = 50;
};

struct PoolShowCommand {
  std::string pool;
};

struct PoolStatsCommand {
  std::string pool;
};

struct PoolSetCommand {
  std::string pool;
  std::vector<std::string> assignments;
};

struct PoolChangeCommand {
  enum class Change { kPause, kResume, kRemove };
  Change change = Change::kPause;
  std::string pool;
  bool force = false;
};

// Jobs of a pool that are made pending again, or removed; what is empty or unset chooses nothing.
struct PoolBulkCommand {
  enum class Bulk { kRetry, kPurge };
  Bulk bulk = Bulk::kRetry;
  std::string pool;
  std::vector<std::string> statuses;
  std::string tenant;
  std::string error_class;
  std::string error_contains;
  std::string created_after, created_before, failed_after;  // RFC 3339
  std::optional<double> older_than_seconds;
  std::optional<std::int64_t> limit;
};

struct WorkerListCommand {
  std::string pool;
  std::vector<std::string> statuses;
  std::string capability;
  std::size_t limit = 50;
};

struct WorkerShowCommand {
  std::string id;
};

struct TriggerListCommand {
  std::size_t limit = 50;
};

struct TriggerShowCommand {
  std::string name;
};

struct TriggerFireCommand {
  std::string name;
  std::string pool;  // empty: the trigger's own, or every pool
};

struct ClusterCommand {};
struct ClusterResignCommand {};

struct WorkerOutputCommand {
  std::string id;
};

struct WorkerStopCommand {
  std::string id;
};

struct CheckCommand {
  std::string pool;      // empty: every pool that has a template
  bool explain = false;  // only say what would be done
  std::optional<std::int64_t> max_workers;
};

struct ReapCommand {
  std::string pool;  // empty: all workers
  bool dry_run = false;
  std::optional<double> stale_threshold_seconds;
};

struct ScaleCommand {
  std::string pool;
  std::optional<std::int64_t> target_workers;  // not set: only show
};

struct ExplainCommand {
  std::vector<std::string> figures;  // name=value
};

struct DecisionsCommand {
  std::string pool;
  std::size_t limit = 20;
};

struct TimelineCommand {
  std::string pool;
  std::string from, to;  // empty: the last hour
  int buckets = 30;
};

struct SimulateCommand {
  std::string pool;
  std::vector<std::string> assignments;  // of the policy to try; none: the pool's own
  std::vector<std::string> compare;      // more policies, the assignments of each in one text
  std::string from;                      // RFC 3339, empty: the first job on record
  std::string to;                        // empty: now
};

struct EventsCommand {
  bool follow = false;
  std::string types;
  std::string pool;
  std::string job;
  std::string worker;
  std::optional<std::int64_t> after;
  std::size_t limit = 50;
};

struct WorkerCommand {
  std::string pool;
  bool loop = false;
  int max_jobs = 0;
  double idle_timeout_seconds = 30;
  double connect_timeout_seconds = 30;
  double shutdown_timeout_seconds = 30;
  std::size_t max_result_bytes = 2'097'152;
  bool spill_result = false;
  bool keep_failed_outputs = false;
  std::string data_dir;
  std::string host;                             // empty: this machine's name
  std::optional<std::uint64_t> max_disk_bytes;  // from the environment
  std::optional<double> artifact_ttl_seconds;   // from the environment
  double gc_interval_seconds = 60;              // from the environment
  std::string builtin;
  std::vector<std::string> capabilities;
  std::vector<std::string> command;
};

struct TopCommand {
  std::string pool;  // empty: all
  double interval_seconds = 1;
  bool once = false;
};

struct DemoCommand {
  bool keep = false;  // the pool, to look at it afterwards
};

struct HealthCommand {};
struct VersionCommand {};

struct TokenCommand {
  std::string name = "client";
  std::vector<std::string> scopes = {"read", "produce", "work"};
};

struct TokenListCommand {};
struct TokenCheckCommand {};
struct TokenRotateWorkersCommand {};

struct AuditCommand {
  std::string by;  // only changes with this token; empty: all
  std::size_t limit = 50;
};

// Each answers the exit code.
int run(const ServeCommand& command, const Environment& env, Terminal& terminal);
int run(const MigrateCommand& command, const Environment& env, Terminal& terminal);
int run(const CopyCommand& command, const Environment& env, Terminal& terminal);
int run(const DoctorCommand& command, const Environment& env, Terminal& terminal);
int run(const WorkerCommand& command, const ServiceAccess& service, const Environment& env,
        Terminal& terminal);
int run(const VersionCommand& command, Terminal& terminal);
int run(const TokenCommand& command, const Environment& env, Terminal& terminal);

int run(const PushCommand& command, ApiClient& api, Terminal& terminal);
int run(const JobListCommand& command, ApiClient& api, Terminal& terminal);
int run(const JobShowCommand& command, ApiClient& api, Terminal& terminal);
int run(const JobAttemptsCommand& command, ApiClient& api, Terminal& terminal);
int run(const JobChangeCommand& command, ApiClient& api, Terminal& terminal);
int run(const PoolListCommand& command, ApiClient& api, Terminal& terminal);
int run(const PoolShowCommand& command, ApiClient& api, Terminal& terminal);
int run(const PoolStatsCommand& command, ApiClient& api, Terminal& terminal);
int run(const PoolSetCommand& command, ApiClient& api, Terminal& terminal);
int run(const PoolChangeCommand& command, ApiClient& api, Terminal& terminal);
int run(const PoolBulkCommand& command, ApiClient& api, Terminal& terminal);
int run(const WorkerListCommand& command, ApiClient& api, Terminal& terminal);
int run(const WorkerShowCommand& command, ApiClient& api, Terminal& terminal);
int run(const ClusterCommand& command, ApiClient& api, Terminal& terminal);
int run(const ClusterResignCommand& command, ApiClient& api, Terminal& terminal);
int run(const TriggerListCommand& command, ApiClient& api, Terminal& terminal);
int run(const TriggerShowCommand& command, ApiClient& api, Terminal& terminal);
int run(const TriggerFireCommand& command, ApiClient& api, Terminal& terminal);
int run(const WorkerOutputCommand& command, ApiClient& api, Terminal& terminal);
int run(const WorkerStopCommand& command, ApiClient& api, Terminal& terminal);
int run(const CheckCommand& command, ApiClient& api, Terminal& terminal);
int run(const ReapCommand& command, ApiClient& api, Terminal& terminal);
int run(const ScaleCommand& command, ApiClient& api, Terminal& terminal);
int run(const ExplainCommand& command, ApiClient& api, Terminal& terminal);
int run(const DecisionsCommand& command, ApiClient& api, Terminal& terminal);
int run(const TimelineCommand& command, ApiClient& api, Terminal& terminal);
int run(const SimulateCommand& command, ApiClient& api, Terminal& terminal);
int run(const EventsCommand& command, ApiClient& api, Terminal& terminal);
int run(const TopCommand& command, ApiClient& api, Terminal& terminal);
int run(const DemoCommand& command, ApiClient& api, Terminal& terminal);
int run(const HealthCommand& command, ApiClient& api, Terminal& terminal);
int run(const TokenListCommand& command, ApiClient& api, Terminal& terminal);
int run(const TokenCheckCommand& command, ApiClient& api, Terminal& terminal);
int run(const TokenRotateWorkersCommand& command, ApiClient& api, Terminal& terminal);
int run(const AuditCommand& command, ApiClient& api, Terminal& terminal);

}  // namespace muster
