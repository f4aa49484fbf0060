-- The instances of the service that share this store.
CREATE TABLE distributed_nodes (
  node_id       TEXT COLLATE "C" PRIMARY KEY,
  instance      TEXT NOT NULL,       -- the process: a node that comes back is another one
  role          TEXT NOT NULL,       -- as configured
  url           TEXT NOT NULL,
  version       TEXT NOT NULL,
  host          TEXT NOT NULL,
  status        TEXT NOT NULL,       -- healthy, stale, dead: as it was last noted
  heartbeat_at  BIGINT NOT NULL,
  registered_at BIGINT NOT NULL
);

-- Who leads. One row, never deleted, so that the epoch only grows.
CREATE TABLE leader (
  only_row    BIGINT PRIMARY KEY CHECK (only_row = 1),
  node_id     TEXT COLLATE "C" NOT NULL,
  token       TEXT NOT NULL,         -- '' = the leader resigned
  epoch       BIGINT NOT NULL,
  acquired_at BIGINT NOT NULL,
  expires_at  BIGINT NOT NULL
);

ALTER TABLE workers ADD COLUMN node_id TEXT COLLATE "C";           -- the node that launched it
ALTER TABLE events ADD COLUMN node_id TEXT COLLATE "C";
ALTER TABLE decisions ADD COLUMN leader_epoch BIGINT;  -- of the leader it was made for
