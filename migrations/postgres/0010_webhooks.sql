-- Who is told of events, and how far each has read in the event table.
CREATE TABLE webhooks (
  webhook_id        TEXT COLLATE "C" PRIMARY KEY,
  url               TEXT NOT NULL,
  types             TEXT NOT NULL,     -- separated by spaces; '' = all
  pool_id           TEXT COLLATE "C",
  description       TEXT,
  enabled           BIGINT NOT NULL,
  disabled_reason   TEXT,
  secret            TEXT NOT NULL,
  old_secret        TEXT,              -- signs along until then
  old_secret_until  BIGINT,
  version           BIGINT NOT NULL,
  created_at        BIGINT NOT NULL,
  updated_at        BIGINT NOT NULL,
  after_seq         BIGINT NOT NULL,  -- events up to here have their deliveries
  events_expired    BIGINT NOT NULL,
  failing_since     BIGINT,
  last_delivered_at BIGINT,
  last_error        TEXT
);

-- One event on its way to one webhook. It has its own copy of the event, whose row may go first.
CREATE TABLE webhook_deliveries (
  webhook_id      TEXT COLLATE "C" NOT NULL,
  event_seq       BIGINT NOT NULL,
  type            TEXT NOT NULL,
  body            TEXT NOT NULL,
  status          TEXT NOT NULL,
  attempts        BIGINT NOT NULL,
  created_at      BIGINT NOT NULL,
  next_at         BIGINT,             -- while it is pending
  finished_at     BIGINT,             -- when it is not
  last_attempt_at BIGINT,
  response_status BIGINT,
  duration_ms     BIGINT,
  response_body   TEXT,
  error           TEXT,
  PRIMARY KEY (webhook_id, event_seq)
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, next_at, event_seq)
  WHERE next_at IS NOT NULL;
CREATE INDEX webhook_deliveries_open ON webhook_deliveries (webhook_id, event_seq)
  WHERE status <> 'delivered';
CREATE INDEX webhook_deliveries_finished ON webhook_deliveries (finished_at)
  WHERE finished_at IS NOT NULL;
