-- What the checker has to know of its earlier checks of a pool.
CREATE TABLE pool_scaling (
  pool_id        TEXT COLLATE "C" PRIMARY KEY,
  last_scaled_at BIGINT,               -- in adaptive mode: the cooldown runs from here
  level          BIGINT NOT NULL,      -- how many once-workers it last wanted at a time
  spare_since    BIGINT,               -- since then some workers were to spare at every check
  spare_least    BIGINT NOT NULL       -- at least so many
);
