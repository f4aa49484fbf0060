-- The parts of the pool's retry policy that a job overrides, as it was sent.
ALTER TABLE job_payloads ADD COLUMN retry TEXT;

-- What a try that failed has in common with others of the same cause.
ALTER TABLE attempts ADD COLUMN error_class TEXT;

-- The circuit breakers of the pools in which jobs have failed of late.
CREATE TABLE circuits (
  pool_id     TEXT COLLATE "C" PRIMARY KEY,
  error_class TEXT NOT NULL,     -- of the failures in a row
  error       TEXT NOT NULL,     -- the first of them
  failures    BIGINT NOT NULL,
  recent      TEXT NOT NULL,     -- JSON array: when they were, while it is closed
  opened_at   BIGINT,            -- NULL = it is closed
  probe_at    BIGINT NOT NULL,
  wait_ms     BIGINT NOT NULL,
  probe       TEXT               -- the job that is tried, NULL = none
);

-- Rises when a circuit opens, closes, or has its first failure: who has not seen that need not look.
ALTER TABLE store_clock ADD COLUMN circuits BIGINT NOT NULL DEFAULT 0;
