-- The launch a worker came from; NULL for one that was started by hand.
ALTER TABLE workers ADD COLUMN template TEXT;
ALTER TABLE workers ADD COLUMN template_version TEXT;
ALTER TABLE workers ADD COLUMN launched_at INTEGER;
ALTER TABLE workers ADD COLUMN start_deadline INTEGER;
ALTER TABLE workers ADD COLUMN launch_token_hash TEXT;
ALTER TABLE workers ADD COLUMN launch_verdict TEXT;    -- open, ok, failed, none
ALTER TABLE workers ADD COLUMN process_key TEXT;       -- with the pid, names a process for good
ALTER TABLE workers ADD COLUMN exited_at INTEGER;
ALTER TABLE workers ADD COLUMN exit_code INTEGER;
ALTER TABLE workers ADD COLUMN exit_signal INTEGER;
ALTER TABLE workers ADD COLUMN max_rss_bytes INTEGER;

CREATE INDEX workers_live ON workers (pool_id) WHERE ended_at IS NULL;
CREATE INDEX workers_starting ON workers (start_deadline) WHERE status = 'starting';
CREATE INDEX workers_open ON workers (launched_at) WHERE launch_verdict = 'open';
CREATE INDEX workers_running ON workers (pool_id) WHERE launched_at IS NOT NULL AND exited_at IS NULL;

CREATE TABLE worker_outputs (
  worker_id TEXT PRIMARY KEY,
  output    TEXT NOT NULL,
  truncated INTEGER NOT NULL
) WITHOUT ROWID;

-- How the launches of a template version in a pool have gone on a host.
CREATE TABLE launch_records (
  pool_id          TEXT NOT NULL,
  template_version TEXT NOT NULL,
  host             TEXT NOT NULL,
  failures         INTEGER NOT NULL,
  successes        INTEGER NOT NULL,
  retry_at         INTEGER,
  suspended        INTEGER NOT NULL,
  crashed_jobs     TEXT NOT NULL,      -- the different jobs whose worker crashed since one did well
  PRIMARY KEY (pool_id, template_version, host)
) WITHOUT ROWID;

CREATE TABLE decisions (
  decision_id     INTEGER PRIMARY KEY,
  pool_id         TEXT NOT NULL,
  at              INTEGER NOT NULL,
  trigger_name    TEXT NOT NULL,
  inputs          TEXT NOT NULL,
  limits          TEXT NOT NULL,
  binding_limit   TEXT NOT NULL,
  direction       TEXT NOT NULL,
  current_workers INTEGER NOT NULL,
  desired_workers INTEGER NOT NULL,
  to_launch       INTEGER NOT NULL,
  launched        INTEGER NOT NULL,
  reason          TEXT NOT NULL
);
CREATE INDEX decisions_of_pool ON decisions (pool_id);
