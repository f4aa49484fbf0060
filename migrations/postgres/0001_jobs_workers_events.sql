-- Times are milliseconds since 1970 UTC. JSON is kept as the text that was sent. Names and ids are
-- ordered by their bytes, whatever the database's language. The same tables as in SQLite, and those
-- that many writers need.

-- One row. Every transaction that writes events raises last_event and so holds the row until its
-- commit: numbers become visible in their order. `catalog` rises when pools or lanes change.
CREATE TABLE store_clock (
  last_event BIGINT NOT NULL,
  catalog    BIGINT NOT NULL
);
INSERT INTO store_clock (last_event, catalog) VALUES (0, 0);

-- The numbers of jobs, lanes and decisions.
CREATE SEQUENCE row_numbers;

CREATE TABLE meta (
  name  TEXT COLLATE "C" PRIMARY KEY,
  value TEXT NOT NULL
);

CREATE TABLE pools (
  pool_id    TEXT COLLATE "C" PRIMARY KEY,
  settings   TEXT NOT NULL,      -- only what was set; the service's defaults fill the rest
  version    BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);

-- The jobs of a pool that are alike to the claim: same tenant, same placement. A claim looks at
-- the head of each lane its worker may serve, so jobs it may not serve never stand in its way.
CREATE TABLE lanes (
  lane_id   BIGINT PRIMARY KEY,
  pool_id   TEXT COLLATE "C" NOT NULL,
  tenant    TEXT COLLATE "C" NOT NULL,       -- '' = none
  placement TEXT NOT NULL        -- '' = anywhere
);
CREATE UNIQUE INDEX lanes_alike ON lanes (pool_id, tenant, md5(placement));  -- which may be long

-- How many jobs of a lane are in each state, written once per commit: the sum over the writers.
CREATE TABLE lane_counts (
  lane_id   BIGINT NOT NULL,
  writer    BIGINT NOT NULL,    -- 0; where there are several, each has a row of its own
  pending   BIGINT NOT NULL,
  claimed   BIGINT NOT NULL,
  done      BIGINT NOT NULL,
  poisoned  BIGINT NOT NULL,
  cancelled BIGINT NOT NULL,
  PRIMARY KEY (lane_id, writer)
);

-- How many jobs of a tenant are claimed: the claim checks and raises it in its own transaction.
CREATE TABLE tenants (
  pool_id TEXT COLLATE "C" NOT NULL,
  tenant  TEXT COLLATE "C" NOT NULL,
  claimed BIGINT NOT NULL,
  PRIMARY KEY (pool_id, tenant)
);

CREATE TABLE jobs (
  seq              BIGINT PRIMARY KEY,
  id               TEXT COLLATE "C" NOT NULL UNIQUE,
  lane_id          BIGINT NOT NULL,
  pool_id          TEXT COLLATE "C" NOT NULL,
  status           TEXT NOT NULL,
  delayed          BIGINT NOT NULL,     -- pending and not due yet: kept out of the claim's index
  priority         BIGINT NOT NULL,
  attempts         BIGINT NOT NULL,
  max_retries      BIGINT NOT NULL,
  crashes          BIGINT NOT NULL,
  version          BIGINT NOT NULL,
  available_at     BIGINT NOT NULL,
  created_at       BIGINT NOT NULL,
  expires_at       BIGINT,
  claimed_at       BIGINT,
  finished_at      BIGINT,
  claimed_by       TEXT COLLATE "C",
  lease_token      TEXT,
  lease_expires_at BIGINT,
  cancel_requested BIGINT NOT NULL,
  tenant           TEXT COLLATE "C",
  unique_key       TEXT COLLATE "C",
  error            TEXT,
  reason           TEXT,
  progress         DOUBLE PRECISION,
  progress_message TEXT
);
CREATE INDEX jobs_ready ON jobs (lane_id, priority DESC, seq) WHERE status = 'pending' AND delayed = 0;
CREATE INDEX jobs_delayed ON jobs (available_at) WHERE status = 'pending' AND delayed = 1;
CREATE INDEX jobs_delayed_of_pool ON jobs (pool_id, available_at)
  WHERE status = 'pending' AND delayed = 1;
CREATE INDEX jobs_expiring ON jobs (expires_at, seq) WHERE status = 'pending' AND expires_at IS NOT NULL;
CREATE INDEX jobs_leases ON jobs (lease_expires_at, seq) WHERE status = 'claimed';
CREATE INDEX jobs_holders ON jobs (claimed_by, seq) WHERE status = 'claimed';
CREATE INDEX jobs_finished ON jobs (finished_at, seq) WHERE finished_at IS NOT NULL;
CREATE INDEX jobs_listed ON jobs (lane_id, status, seq);
CREATE UNIQUE INDEX jobs_unique ON jobs (pool_id, unique_key)
  WHERE unique_key IS NOT NULL AND status IN ('pending', 'claimed');

-- What a producer gave and a state change never touches, apart from the row that changes.
CREATE TABLE job_payloads (
  seq           BIGINT PRIMARY KEY,
  data          TEXT NOT NULL,
  placement     TEXT,
  affinity      TEXT,
  resource_refs TEXT,
  traceparent   TEXT
);

CREATE TABLE job_results (
  seq       BIGINT PRIMARY KEY,
  result    TEXT,
  artifacts TEXT
);

-- The tries that did not finish their job well; the last good one is the job itself.
CREATE TABLE attempts (
  attempt_id    BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  seq           BIGINT NOT NULL,
  attempt       BIGINT NOT NULL,
  worker_id     TEXT COLLATE "C",
  lease_token   TEXT,
  claimed_at    BIGINT NOT NULL,
  ended_at      BIGINT NOT NULL,
  outcome       TEXT NOT NULL,
  error         TEXT,
  exit_code     BIGINT,
  exit_signal   BIGINT,
  max_rss_bytes BIGINT,
  output_tail   TEXT
);
CREATE INDEX attempts_of_job ON attempts (seq, attempt_id);

CREATE TABLE workers (
  worker_id      TEXT COLLATE "C" PRIMARY KEY,
  pool_id        TEXT COLLATE "C",
  status         TEXT NOT NULL,
  status_reason  TEXT,
  mode           TEXT,
  host           TEXT,
  region         TEXT,
  pid            BIGINT,
  capabilities   TEXT NOT NULL,
  executor_types TEXT NOT NULL,
  slots          BIGINT NOT NULL,
  started_at     BIGINT NOT NULL,
  last_heartbeat BIGINT NOT NULL,
  ended_at       BIGINT,
  current_task   TEXT,
  metadata       TEXT NOT NULL,
  metrics        TEXT NOT NULL,
  jobs_done      BIGINT NOT NULL,
  jobs_failed    BIGINT NOT NULL,
  version        BIGINT NOT NULL
);
CREATE INDEX workers_alive ON workers (last_heartbeat) WHERE ended_at IS NULL;
CREATE INDEX workers_ended ON workers (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX workers_of_pool ON workers (pool_id, status);

CREATE TABLE events (
  seq       BIGINT PRIMARY KEY,
  at        BIGINT NOT NULL,
  type      TEXT NOT NULL,
  pool_id   TEXT COLLATE "C",
  job_id    TEXT COLLATE "C",
  job_seq   BIGINT,             -- jobs.seq: a number is half the index that a text is
  worker_id TEXT COLLATE "C",
  attempt   BIGINT,
  details   TEXT,
  origin    BIGINT NOT NULL      -- the running service that wrote it
);
CREATE INDEX events_of_job ON events (job_seq, seq) WHERE job_seq IS NOT NULL;

CREATE TABLE idempotency (
  principal  TEXT COLLATE "C" NOT NULL,
  method     TEXT COLLATE "C" NOT NULL,
  path       TEXT COLLATE "C" NOT NULL,
  key        TEXT COLLATE "C" NOT NULL,
  body_hash  TEXT NOT NULL,
  status     BIGINT NOT NULL,
  body       TEXT NOT NULL,
  etag       TEXT NOT NULL,      -- '' = none
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (principal, method, path, key)
);
CREATE INDEX idempotency_expiry ON idempotency (expires_at);
