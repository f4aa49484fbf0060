-- Who must or should run a job: pins of lanes, and keys that are bound to a holder.

-- pin: '' = anybody; '*' = jobs whose key nobody has, which anybody may take; 'host:NAME',
-- 'worker:ID' = only that holder. So the pins that bind come last.
CREATE TABLE pinned_lanes (
  lane_id   INTEGER PRIMARY KEY,
  pool_id   TEXT NOT NULL,
  tenant    TEXT NOT NULL,       -- '' = none
  placement TEXT NOT NULL,       -- '' = anywhere
  pin       TEXT NOT NULL DEFAULT '',
  UNIQUE (pool_id, tenant, placement, pin)
);
INSERT INTO pinned_lanes (lane_id, pool_id, tenant, placement)
  SELECT lane_id, pool_id, tenant, placement FROM lanes;
DROP TABLE lanes;
ALTER TABLE pinned_lanes RENAME TO lanes;
CREATE INDEX lanes_by_pin ON lanes (pool_id, pin);
CREATE INDEX lanes_of_holder ON lanes (pin) WHERE pin >= 'a';

-- A row for each job with a pin or a key, as long as the job is there.
CREATE TABLE job_pins (
  seq           INTEGER PRIMARY KEY,
  affinity_seq  INTEGER,               -- NULL = no key
  affinity_mode TEXT NOT NULL,         -- '', preferred, required
  ref_pin       TEXT NOT NULL,         -- holder by what it refers to, '' = none
  ref_mode      TEXT NOT NULL,         -- '', preferred, required
  mode          TEXT NOT NULL,         -- of the pin of its lane; '' = it stands in an open one
  wait_ms       INTEGER,               -- of the job; NULL = as the service has it
  unpin_at      INTEGER,               -- of a preferred pin; fixed when the job is first claimable
  runs_out      INTEGER NOT NULL,      -- 1: unpin_at is still to be seen to
  ended         INTEGER NOT NULL       -- 1: the job has ended
);
CREATE INDEX job_pins_of_key ON job_pins (affinity_seq, seq)
  WHERE affinity_seq IS NOT NULL AND ended = 0;
CREATE INDEX job_pins_due ON job_pins (unpin_at) WHERE runs_out = 1;

CREATE TABLE affinities (
  affinity_seq INTEGER PRIMARY KEY,
  tenant       TEXT NOT NULL,          -- '' = none
  affinity_key TEXT NOT NULL,
  state        TEXT NOT NULL,          -- unbound, active, draining, stale
  holder       TEXT NOT NULL,          -- host:NAME, worker:ID, '' = unbound
  worker_id    TEXT NOT NULL,          -- of a claim or a request, '' = none
  host         TEXT NOT NULL,          -- '' = none
  acquired_at  INTEGER NOT NULL,       -- of one that is unbound: since when
  expires_at   INTEGER NOT NULL,       -- likewise: when it is looked at again
  ttl_ms       INTEGER NOT NULL,
  failures     INTEGER NOT NULL,       -- failed tries in a row on the holder
  metadata     TEXT NOT NULL,          -- JSON object, '' = none
  version      INTEGER NOT NULL,
  UNIQUE (tenant, affinity_key)
);
CREATE INDEX affinities_of_holder ON affinities (holder, affinity_seq) WHERE holder <> '';
CREATE INDEX affinities_in_state ON affinities (state) WHERE holder <> '';
CREATE INDEX affinities_due ON affinities (expires_at);

-- Holders that were lost, until what waits for them has been ended.
CREATE TABLE lost_holders (
  holder TEXT PRIMARY KEY,
  due_at INTEGER NOT NULL              -- when it is given up
) WITHOUT ROWID;
CREATE INDEX lost_holders_due ON lost_holders (due_at);

CREATE INDEX workers_of_host ON workers (host) WHERE ended_at IS NULL;
