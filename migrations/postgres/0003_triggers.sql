CREATE TABLE triggers (
  name          TEXT COLLATE "C" PRIMARY KEY,
  spec          TEXT NOT NULL,       -- JSON, with its secrets
  configured    BIGINT NOT NULL,    -- of the configuration, not of a request
  version       BIGINT NOT NULL,
  created_at    BIGINT NOT NULL,
  updated_at    BIGINT NOT NULL,
  due_from      BIGINT NOT NULL,    -- its schedule is reckoned from here
  last_fired_at BIGINT
);

-- What hooks were sent already, so that a sender may try again.
CREATE TABLE hook_deliveries (
  trigger_name TEXT COLLATE "C" NOT NULL,
  delivery     TEXT COLLATE "C" NOT NULL,        -- the sender's id of it
  run_id       TEXT NOT NULL,
  expires_at   BIGINT NOT NULL,
  PRIMARY KEY (trigger_name, delivery)
);
CREATE INDEX hook_deliveries_expiry ON hook_deliveries (expires_at);
