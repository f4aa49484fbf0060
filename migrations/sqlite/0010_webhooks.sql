-- Who is told of events, and how far each has read in the event table.
CREATE TABLE webhooks (
  webhook_id        TEXT PRIMARY KEY,
  url               TEXT NOT NULL,
  types             TEXT NOT NULL,     -- separated by spaces; '' = all
  pool_id           TEXT,
  description       TEXT,
  enabled           INTEGER NOT NULL,
  disabled_reason   TEXT,
  secret            TEXT NOT NULL,
  old_secret        TEXT,              -- signs along until then
  old_secret_until  INTEGER,
  version           INTEGER NOT NULL,
  created_at        INTEGER NOT NULL,
  updated_at        INTEGER NOT NULL,
  after_seq         INTEGER NOT NULL,  -- events up to here have their deliveries
  events_expired    INTEGER NOT NULL,
  failing_since     INTEGER,
  last_delivered_at INTEGER,
  last_error        TEXT
) WITHOUT ROWID;

-- One event on its way to one webhook. It has its own copy of the event, whose row may go first.
CREATE TABLE webhook_deliveries (
  webhook_id      TEXT NOT NULL,
  event_seq       INTEGER NOT NULL,
  type            TEXT NOT NULL,
  body            TEXT NOT NULL,
  status          TEXT NOT NULL,
  attempts        INTEGER NOT NULL,
  created_at      INTEGER NOT NULL,
  next_at         INTEGER,             -- while it is pending
  finished_at     INTEGER,             -- when it is not
  last_attempt_at INTEGER,
  response_status INTEGER,
  duration_ms     INTEGER,
  response_body   TEXT,
  error           TEXT,
  PRIMARY KEY (webhook_id, event_seq)
) WITHOUT ROWID;
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, next_at, event_seq)
  WHERE next_at IS NOT NULL;
CREATE INDEX webhook_deliveries_open ON webhook_deliveries (webhook_id, event_seq)
  WHERE status <> 'delivered';
CREATE INDEX webhook_deliveries_finished ON webhook_deliveries (finished_at)
  WHERE finished_at IS NOT NULL;
