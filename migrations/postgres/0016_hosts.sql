-- Hosts, and what workers and hosts hold.

CREATE TABLE hosts (
  host              TEXT PRIMARY KEY,
  holder            TEXT COLLATE "C" NOT NULL,     -- host:NAME, as resources have it
  folder_id         TEXT COLLATE "C" NOT NULL,     -- '' = it never told of one
  data_dir          TEXT NOT NULL,     -- likewise
  state             TEXT COLLATE "C" NOT NULL,     -- up, away, lost: as it was last noted
  seen_at           BIGINT NOT NULL,  -- when it was last known to be up
  away_at           BIGINT,           -- when it was found to be away
  synced_at         BIGINT,
  sync_began_at     BIGINT,           -- of pages of which the last has not come
  disk_bytes_in_use BIGINT,
  disk_bytes_free   BIGINT,
  disk_limit_bytes  BIGINT,
  lost_to           BIGINT NOT NULL,  -- of its resources those up to this number are lost; 0 = none
  forgotten         BIGINT NOT NULL   -- 1: it goes once these are
);

-- holds: 1 = it may hold resources; held_until: then those that it does not have any more are lost;
-- what its resources take, as its last heartbeat with metrics said.
ALTER TABLE workers ADD COLUMN holds BIGINT NOT NULL DEFAULT 0;
ALTER TABLE workers ADD COLUMN held_until BIGINT;
ALTER TABLE workers ADD COLUMN disk_bytes_in_use BIGINT;
ALTER TABLE workers ADD COLUMN mem_bytes_in_use BIGINT;

CREATE INDEX workers_leaving ON workers (held_until, worker_id) WHERE held_until IS NOT NULL;

CREATE INDEX resources_held  -- by a worker or a host
  ON resources (holder, state, resource_seq)
  WHERE holder <> 'store' AND holder <> 'external'
    AND state IN ('uploading', 'active', 'stale', 'evicting');
CREATE INDEX resources_held_idle  -- longest unused first
  ON resources (holder, last_used_at, resource_seq)
  WHERE holder <> 'store' AND holder <> 'external'
    AND state = 'active' AND ref_count = 0 AND lease_count = 0;
