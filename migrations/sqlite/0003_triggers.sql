CREATE TABLE triggers (
  name          TEXT PRIMARY KEY,
  spec          TEXT NOT NULL,       -- JSON, with its secrets
  configured    INTEGER NOT NULL,    -- of the configuration, not of a request
  version       INTEGER NOT NULL,
  created_at    INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL,
  due_from      INTEGER NOT NULL,    -- its schedule is reckoned from here
  last_fired_at INTEGER
) WITHOUT ROWID;

-- What hooks were sent already, so that a sender may try again.
CREATE TABLE hook_deliveries (
  trigger_name TEXT NOT NULL,
  delivery     TEXT NOT NULL,        -- the sender's id of it
  run_id       TEXT NOT NULL,
  expires_at   INTEGER NOT NULL,
  PRIMARY KEY (trigger_name, delivery)
) WITHOUT ROWID;
CREATE INDEX hook_deliveries_expiry ON hook_deliveries (expires_at);
