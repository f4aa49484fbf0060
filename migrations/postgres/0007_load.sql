-- What the jobs of a pool did in each ten seconds, as each node saw it.
CREATE TABLE pool_load (
  pool_id      TEXT COLLATE "C" NOT NULL,
  at           BIGINT NOT NULL,   -- the beginning of the ten seconds
  node         TEXT COLLATE "C" NOT NULL,      -- '' = the only one
  added        BIGINT NOT NULL,
  claimed      BIGINT NOT NULL,
  done         BIGINT NOT NULL,
  failed       BIGINT NOT NULL,
  poisoned     BIGINT NOT NULL,
  cancelled    BIGINT NOT NULL,
  waits        TEXT NOT NULL,      -- histograms, class:count,…
  runs         TEXT NOT NULL,
  totals       TEXT NOT NULL,
  pending      BIGINT,            -- this and the rest: what was there when the leader looked
  claimed_now  BIGINT,
  workers      BIGINT,
  busy_workers BIGINT,
  PRIMARY KEY (pool_id, at, node)
);
CREATE INDEX pool_load_at ON pool_load (at);
CREATE INDEX pool_load_looks ON pool_load (at) WHERE pending IS NOT NULL;

-- The same by the hour, and kept for weeks.
CREATE TABLE pool_hours (
  pool_id  TEXT COLLATE "C" NOT NULL,
  hour     BIGINT NOT NULL,       -- its beginning
  node     TEXT COLLATE "C" NOT NULL,
  added    BIGINT NOT NULL,
  finished BIGINT NOT NULL,
  run_ms   BIGINT NOT NULL,
  PRIMARY KEY (pool_id, hour, node)
);
CREATE INDEX pool_hours_hour ON pool_hours (hour);
