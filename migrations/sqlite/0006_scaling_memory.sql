-- What the checker has to know of its earlier checks of a pool.
CREATE TABLE pool_scaling (
  pool_id        TEXT PRIMARY KEY,
  last_scaled_at INTEGER,               -- in adaptive mode: the cooldown runs from here
  level          INTEGER NOT NULL,      -- how many once-workers it last wanted at a time
  spare_since    INTEGER,               -- since then some workers were to spare at every check
  spare_least    INTEGER NOT NULL       -- at least so many
) WITHOUT ROWID;
