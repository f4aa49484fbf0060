-- Who asked for what happened, and from where: "TOKEN ADDRESS".
ALTER TABLE events ADD COLUMN caller TEXT;

-- What was changed with the tokens of the configuration. It is kept for longer than events.
CREATE TABLE audit (
  audit_id   TEXT PRIMARY KEY,  -- rises with time
  at         INTEGER NOT NULL,
  caller     TEXT NOT NULL,
  method     TEXT NOT NULL,
  path       TEXT NOT NULL,
  status     INTEGER NOT NULL,
  request_id TEXT NOT NULL
) WITHOUT ROWID;
