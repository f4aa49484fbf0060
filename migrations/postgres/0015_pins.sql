-- Who must or should run a job: pins of lanes, and keys that are bound to a holder.

-- pin: '' = anybody; '*' = jobs whose key nobody has, which anybody may take; 'host:NAME',
-- 'worker:ID' = only that holder. So the pins that bind come last.
ALTER TABLE lanes ADD COLUMN pin TEXT COLLATE "C" NOT NULL DEFAULT '';
DROP INDEX lanes_alike;
CREATE UNIQUE INDEX lanes_alike ON lanes (pool_id, tenant, md5(placement), pin);  -- which may be long
CREATE INDEX lanes_by_pin ON lanes (pool_id, pin);
CREATE INDEX lanes_of_holder ON lanes (pin) WHERE pin >= 'a';

-- A row for each job with a pin or a key, as long as the job is there.
CREATE TABLE job_pins (
  seq           BIGINT PRIMARY KEY,
  affinity_seq  BIGINT,                -- NULL = no key
  affinity_mode TEXT COLLATE "C" NOT NULL,         -- '', preferred, required
  ref_pin       TEXT COLLATE "C" NOT NULL,         -- holder by what it refers to, '' = none
  ref_mode      TEXT COLLATE "C" NOT NULL,         -- '', preferred, required
  mode          TEXT COLLATE "C" NOT NULL,         -- of the pin of its lane; '' = it stands in an open one
  wait_ms       BIGINT,                -- of the job; NULL = as the service has it
  unpin_at      BIGINT,                -- of a preferred pin; fixed when the job is first claimable
  runs_out      BIGINT NOT NULL,       -- 1: unpin_at is still to be seen to
  ended         BIGINT NOT NULL        -- 1: the job has ended
);
CREATE INDEX job_pins_of_key ON job_pins (affinity_seq, seq)
  WHERE affinity_seq IS NOT NULL AND ended = 0;
CREATE INDEX job_pins_due ON job_pins (unpin_at, seq) WHERE runs_out = 1;

CREATE TABLE affinities (
  affinity_seq BIGINT PRIMARY KEY,
  tenant       TEXT COLLATE "C" NOT NULL,          -- '' = none
  affinity_key TEXT COLLATE "C" NOT NULL,
  state        TEXT COLLATE "C" NOT NULL,          -- unbound, active, draining, stale
  holder       TEXT COLLATE "C" NOT NULL,          -- host:NAME, worker:ID, '' = unbound
  worker_id    TEXT COLLATE "C" NOT NULL,          -- of a claim or a request, '' = none
  host         TEXT COLLATE "C" NOT NULL,          -- '' = none
  acquired_at  BIGINT NOT NULL,        -- of one that is unbound: since when
  expires_at   BIGINT NOT NULL,        -- likewise: when it is looked at again
  ttl_ms       BIGINT NOT NULL,
  failures     BIGINT NOT NULL,        -- failed tries in a row on the holder
  metadata     TEXT NOT NULL,          -- JSON object, '' = none
  version      BIGINT NOT NULL
);
CREATE UNIQUE INDEX affinities_key ON affinities (tenant, affinity_key);
CREATE INDEX affinities_of_holder ON affinities (holder, affinity_seq) WHERE holder <> '';
CREATE INDEX affinities_in_state ON affinities (state) WHERE holder <> '';
CREATE INDEX affinities_due ON affinities (expires_at, affinity_seq);

-- Holders that were lost, until what waits for them has been ended.
CREATE TABLE lost_holders (
  holder TEXT COLLATE "C" PRIMARY KEY,
  due_at BIGINT NOT NULL               -- when it is given up
);
CREATE INDEX lost_holders_due ON lost_holders (due_at, holder);

CREATE INDEX workers_of_host ON workers (host) WHERE ended_at IS NULL;
