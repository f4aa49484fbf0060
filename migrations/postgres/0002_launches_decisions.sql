-- The launch a worker came from; NULL for one that was started by hand.
ALTER TABLE workers ADD COLUMN template TEXT;
ALTER TABLE workers ADD COLUMN template_version TEXT;
ALTER TABLE workers ADD COLUMN launched_at BIGINT;
ALTER TABLE workers ADD COLUMN start_deadline BIGINT;
ALTER TABLE workers ADD COLUMN launch_token_hash TEXT;
ALTER TABLE workers ADD COLUMN launch_verdict TEXT;    -- open, ok, failed, none
ALTER TABLE workers ADD COLUMN process_key TEXT;       -- with the pid, names a process for good
ALTER TABLE workers ADD COLUMN exited_at BIGINT;
ALTER TABLE workers ADD COLUMN exit_code BIGINT;
ALTER TABLE workers ADD COLUMN exit_signal BIGINT;
ALTER TABLE workers ADD COLUMN max_rss_bytes BIGINT;

CREATE INDEX workers_live ON workers (pool_id) WHERE ended_at IS NULL;
CREATE INDEX workers_starting ON workers (start_deadline) WHERE status = 'starting';
CREATE INDEX workers_open ON workers (launched_at) WHERE launch_verdict = 'open';
CREATE INDEX workers_running ON workers (pool_id) WHERE launched_at IS NOT NULL AND exited_at IS NULL;

CREATE TABLE worker_outputs (
  worker_id TEXT COLLATE "C" PRIMARY KEY,
  output    TEXT NOT NULL,
  truncated BIGINT NOT NULL
);

-- How the launches of a template version in a pool have gone on a host.
CREATE TABLE launch_records (
  pool_id          TEXT COLLATE "C" NOT NULL,
  template_version TEXT COLLATE "C" NOT NULL,
  host             TEXT COLLATE "C" NOT NULL,
  failures         BIGINT NOT NULL,
  successes        BIGINT NOT NULL,
  retry_at         BIGINT,
  suspended        BIGINT NOT NULL,
  crashed_jobs     TEXT NOT NULL,      -- the different jobs whose worker crashed since one did well
  PRIMARY KEY (pool_id, template_version, host)
);

CREATE TABLE decisions (
  decision_id     BIGINT PRIMARY KEY,
  pool_id         TEXT COLLATE "C" NOT NULL,
  at              BIGINT NOT NULL,
  trigger_name    TEXT COLLATE "C" NOT NULL,
  inputs          TEXT NOT NULL,
  limits          TEXT NOT NULL,
  binding_limit   TEXT NOT NULL,
  direction       TEXT NOT NULL,
  current_workers BIGINT NOT NULL,
  desired_workers BIGINT NOT NULL,
  to_launch       BIGINT NOT NULL,
  launched        BIGINT NOT NULL,
  reason          TEXT NOT NULL
);
CREATE INDEX decisions_of_pool ON decisions (pool_id, decision_id);
