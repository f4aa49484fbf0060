-- Times are milliseconds since 1970 UTC. JSON is kept as the text that was sent.

CREATE TABLE meta (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE pools (
  pool_id    TEXT PRIMARY KEY,
  settings   TEXT NOT NULL,      -- only what was set; the service's defaults fill the rest
  version    INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) WITHOUT ROWID;

-- The jobs of a pool that are alike to the claim: same tenant, same placement. A claim looks at
-- the head of each lane its worker may serve, so jobs it may not serve never stand in its way.
CREATE TABLE lanes (
  lane_id   INTEGER PRIMARY KEY,
  pool_id   TEXT NOT NULL,
  tenant    TEXT NOT NULL,       -- '' = none
  placement TEXT NOT NULL,       -- '' = anywhere
  UNIQUE (pool_id, tenant, placement)
);

-- How many jobs of a lane are in each state, written once per commit: the sum over the writers.
CREATE TABLE lane_counts (
  lane_id   INTEGER NOT NULL,
  writer    INTEGER NOT NULL,    -- 0; where there are several, each has a row of its own
  pending   INTEGER NOT NULL,
  claimed   INTEGER NOT NULL,
  done      INTEGER NOT NULL,
  poisoned  INTEGER NOT NULL,
  cancelled INTEGER NOT NULL,
  PRIMARY KEY (lane_id, writer)
) WITHOUT ROWID;

-- How many jobs of a tenant are claimed: the claim checks and raises it in its own transaction.
CREATE TABLE tenants (
  pool_id TEXT NOT NULL,
  tenant  TEXT NOT NULL,
  claimed INTEGER NOT NULL,
  PRIMARY KEY (pool_id, tenant)
) WITHOUT ROWID;

CREATE TABLE jobs (
  seq              INTEGER PRIMARY KEY,
  id               TEXT NOT NULL UNIQUE,
  lane_id          INTEGER NOT NULL,
  pool_id          TEXT NOT NULL,
  status           TEXT NOT NULL,
  delayed          INTEGER NOT NULL,     -- pending and not due yet: kept out of the claim's index
  priority         INTEGER NOT NULL,
  attempts         INTEGER NOT NULL,
  max_retries      INTEGER NOT NULL,
  crashes          INTEGER NOT NULL,
  version          INTEGER NOT NULL,
  available_at     INTEGER NOT NULL,
  created_at       INTEGER NOT NULL,
  expires_at       INTEGER,
  claimed_at       INTEGER,
  finished_at      INTEGER,
  claimed_by       TEXT,
  lease_token      TEXT,
  lease_expires_at INTEGER,
  cancel_requested INTEGER NOT NULL,
  tenant           TEXT,
  unique_key       TEXT,
  error            TEXT,
  reason           TEXT,
  progress         REAL,
  progress_message TEXT
);
CREATE INDEX jobs_ready ON jobs (lane_id, priority DESC) WHERE status = 'pending' AND delayed = 0;
CREATE INDEX jobs_delayed ON jobs (available_at) WHERE status = 'pending' AND delayed = 1;
CREATE INDEX jobs_delayed_of_pool ON jobs (pool_id, available_at)
  WHERE status = 'pending' AND delayed = 1;
CREATE INDEX jobs_expiring ON jobs (expires_at) WHERE status = 'pending' AND expires_at IS NOT NULL;
CREATE INDEX jobs_leases ON jobs (lease_expires_at) WHERE status = 'claimed';
CREATE INDEX jobs_holders ON jobs (claimed_by) WHERE status = 'claimed';
CREATE INDEX jobs_finished ON jobs (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX jobs_listed ON jobs (lane_id, status);
CREATE UNIQUE INDEX jobs_unique ON jobs (pool_id, unique_key)
  WHERE unique_key IS NOT NULL AND status IN ('pending', 'claimed');

-- What a producer gave and a state change never touches, apart from the row that changes.
CREATE TABLE job_payloads (
  seq           INTEGER PRIMARY KEY,
  data          TEXT NOT NULL,
  placement     TEXT,
  affinity      TEXT,
  resource_refs TEXT,
  traceparent   TEXT
);

CREATE TABLE job_results (
  seq       INTEGER PRIMARY KEY,
  result    TEXT,
  artifacts TEXT
);

-- The tries that did not finish their job well; the last good one is the job itself.
CREATE TABLE attempts (
  attempt_id    INTEGER PRIMARY KEY,
  seq           INTEGER NOT NULL,
  attempt       INTEGER NOT NULL,
  worker_id     TEXT,
  lease_token   TEXT,
  claimed_at    INTEGER NOT NULL,
  ended_at      INTEGER NOT NULL,
  outcome       TEXT NOT NULL,
  error         TEXT,
  exit_code     INTEGER,
  exit_signal   INTEGER,
  max_rss_bytes INTEGER,
  output_tail   TEXT
);
CREATE INDEX attempts_of_job ON attempts (seq);

CREATE TABLE workers (
  worker_id      TEXT PRIMARY KEY,
  pool_id        TEXT,
  status         TEXT NOT NULL,
  status_reason  TEXT,
  mode           TEXT,
  host           TEXT,
  region         TEXT,
  pid            INTEGER,
  capabilities   TEXT NOT NULL,
  executor_types TEXT NOT NULL,
  slots          INTEGER NOT NULL,
  started_at     INTEGER NOT NULL,
  last_heartbeat INTEGER NOT NULL,
  ended_at       INTEGER,
  current_task   TEXT,
  metadata       TEXT NOT NULL,
  metrics        TEXT NOT NULL,
  jobs_done      INTEGER NOT NULL,
  jobs_failed    INTEGER NOT NULL,
  version        INTEGER NOT NULL
);
CREATE INDEX workers_alive ON workers (last_heartbeat) WHERE ended_at IS NULL;
CREATE INDEX workers_ended ON workers (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX workers_of_pool ON workers (pool_id, status);

CREATE TABLE events (
  seq       INTEGER PRIMARY KEY,
  at        INTEGER NOT NULL,
  type      TEXT NOT NULL,
  pool_id   TEXT,
  job_id    TEXT,
  job_seq   INTEGER,             -- jobs.seq: a number is half the index that a text is
  worker_id TEXT,
  attempt   INTEGER,
  details   TEXT
);
CREATE INDEX events_of_job ON events (job_seq) WHERE job_seq IS NOT NULL;

CREATE TABLE idempotency (
  principal  TEXT NOT NULL,
  method     TEXT NOT NULL,
  path       TEXT NOT NULL,
  key        TEXT NOT NULL,
  body_hash  TEXT NOT NULL,
  status     INTEGER NOT NULL,
  body       TEXT NOT NULL,
  etag       TEXT NOT NULL,      -- '' = none
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (principal, method, path, key)
);
CREATE INDEX idempotency_expiry ON idempotency (expires_at);
