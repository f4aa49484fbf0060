-- The instances of the service that share this store.
CREATE TABLE distributed_nodes (
  node_id       TEXT PRIMARY KEY,
  instance      TEXT NOT NULL,       -- the process: a node that comes back is another one
  role          TEXT NOT NULL,       -- as configured
  url           TEXT NOT NULL,
  version       TEXT NOT NULL,
  host          TEXT NOT NULL,
  status        TEXT NOT NULL,       -- healthy, stale, dead: as it was last noted
  heartbeat_at  INTEGER NOT NULL,
  registered_at INTEGER NOT NULL
) WITHOUT ROWID;

-- Who leads. One row, never deleted, so that the epoch only grows.
CREATE TABLE leader (
  only_row    INTEGER PRIMARY KEY CHECK (only_row = 1),
  node_id     TEXT NOT NULL,
  token       TEXT NOT NULL,         -- '' = the leader resigned
  epoch       INTEGER NOT NULL,
  acquired_at INTEGER NOT NULL,
  expires_at  INTEGER NOT NULL
);

ALTER TABLE workers ADD COLUMN node_id TEXT;            -- the node that launched it
ALTER TABLE events ADD COLUMN node_id TEXT;
ALTER TABLE decisions ADD COLUMN leader_epoch INTEGER;  -- of the leader it was made for
