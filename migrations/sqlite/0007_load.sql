-- What the jobs of a pool did in each ten seconds, as each node saw it.
CREATE TABLE pool_load (
  pool_id      TEXT NOT NULL,
  at           INTEGER NOT NULL,   -- the beginning of the ten seconds
  node         TEXT NOT NULL,      -- '' = the only one
  added        INTEGER NOT NULL,
  claimed      INTEGER NOT NULL,
  done         INTEGER NOT NULL,
  failed       INTEGER NOT NULL,
  poisoned     INTEGER NOT NULL,
  cancelled    INTEGER NOT NULL,
  waits        TEXT NOT NULL,      -- histograms, class:count,…
  runs         TEXT NOT NULL,
  totals       TEXT NOT NULL,
  pending      INTEGER,            -- this and the rest: what was there when the leader looked
  claimed_now  INTEGER,
  workers      INTEGER,
  busy_workers INTEGER,
  PRIMARY KEY (pool_id, at, node)
) WITHOUT ROWID;
CREATE INDEX pool_load_at ON pool_load (at);
CREATE INDEX pool_load_looks ON pool_load (at) WHERE pending IS NOT NULL;

-- The same by the hour, and kept for weeks.
CREATE TABLE pool_hours (
  pool_id  TEXT NOT NULL,
  hour     INTEGER NOT NULL,       -- its beginning
  node     TEXT NOT NULL,
  added    INTEGER NOT NULL,
  finished INTEGER NOT NULL,
  run_ms   INTEGER NOT NULL,
  PRIMARY KEY (pool_id, hour, node)
) WITHOUT ROWID;
CREATE INDEX pool_hours_hour ON pool_hours (hour);
