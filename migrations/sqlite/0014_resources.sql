-- Resources: what outlives a job, the bytes that the service keeps, and who uses what.

CREATE TABLE resources (
  resource_seq  INTEGER PRIMARY KEY,
  uid           TEXT NOT NULL UNIQUE,
  resource_id   TEXT NOT NULL,
  type          TEXT NOT NULL,
  holder        TEXT NOT NULL,         -- store, external, host:NAME, worker:ID
  worker_id     TEXT NOT NULL,         -- that holds or made it, '' = none
  host          TEXT NOT NULL,         -- '' = none
  scope         TEXT NOT NULL,         -- '' = none
  tenant        TEXT NOT NULL,         -- '' = none
  state         TEXT NOT NULL,         -- uploading, active, stale, evicting, evicted, lost
  reason        TEXT NOT NULL,         -- '' = none
  size_bytes    INTEGER,
  mem_bytes     INTEGER,
  sha256        TEXT NOT NULL,         -- '' = not known
  stored        INTEGER NOT NULL,      -- 1: all its bytes are in the place
  place_id      TEXT NOT NULL,         -- of its bytes or of their upload, '' = none yet
  upload_offset INTEGER,               -- while something is being uploaded
  uploaded_at   INTEGER,               -- its last part, or its beginning; likewise
  uri           TEXT NOT NULL,         -- these three: '' = none
  path          TEXT NOT NULL,
  mime          TEXT NOT NULL,
  ttl_ms        INTEGER,               -- from its last use
  expires_at    INTEGER,               -- while nothing uses it
  ref_count     INTEGER NOT NULL,      -- living jobs that refer to it
  lease_count   INTEGER NOT NULL,
  metadata      TEXT NOT NULL,         -- JSON object, '' = none
  body_hash     TEXT NOT NULL,         -- of what it was registered with
  job_id        TEXT NOT NULL,         -- of the job whose artifact it is, '' = none
  attempt       INTEGER,               -- of that job
  created_at    INTEGER NOT NULL,
  last_used_at  INTEGER NOT NULL,
  changed_at    INTEGER NOT NULL,      -- its state
  synced_at     INTEGER,               -- when its host last named it
  version       INTEGER NOT NULL
);
CREATE UNIQUE INDEX resources_living ON resources (resource_id)
  WHERE state IN ('uploading', 'active', 'stale', 'evicting');
CREATE INDEX resources_by_id ON resources (resource_id, resource_seq);
CREATE INDEX resources_of_scope ON resources (scope, resource_seq)
  WHERE scope <> '' AND state IN ('uploading', 'active', 'stale', 'evicting');
CREATE INDEX resources_of_holder ON resources (holder, resource_seq)
  WHERE state IN ('uploading', 'active', 'stale', 'evicting');
CREATE INDEX resources_of_job ON resources (job_id, resource_seq) WHERE job_id <> '';
CREATE INDEX resources_same ON resources (tenant, sha256, size_bytes)
  WHERE state = 'active' AND stored = 1;
CREATE INDEX resources_due ON resources (expires_at)
  WHERE state = 'active' AND expires_at IS NOT NULL;
CREATE INDEX resources_idle ON resources (place_id, last_used_at)
  WHERE state = 'active' AND stored = 1 AND ref_count = 0 AND lease_count = 0;
CREATE INDEX resources_uploads ON resources (uploaded_at) WHERE uploaded_at IS NOT NULL;
CREATE INDEX resources_uploads_of_place ON resources (place_id)
  WHERE uploaded_at IS NOT NULL;
CREATE INDEX resources_evicting ON resources (place_id) WHERE state = 'evicting';
CREATE INDEX resources_gone ON resources (changed_at) WHERE state IN ('evicted', 'lost');
CREATE INDEX resources_missed ON resources (resource_seq)  -- by jobs that still refer to them
  WHERE ref_count > 0 AND state IN ('evicted', 'lost');

-- The folders of blobs, and who has them.
CREATE TABLE places (
  place_id     TEXT PRIMARY KEY,
  node_id      TEXT NOT NULL,          -- '' = the only node
  node_url     TEXT NOT NULL,
  blob_bytes   INTEGER NOT NULL,       -- of all blobs in it
  used_bytes   INTEGER NOT NULL,       -- of those with a user
  announced_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE blobs (
  place_id   TEXT NOT NULL,
  sha256     TEXT NOT NULL,
  size_bytes INTEGER NOT NULL,
  users      INTEGER NOT NULL,         -- resources with these bytes
  doomed_at  INTEGER,                  -- since nobody uses it
  PRIMARY KEY (place_id, sha256)
) WITHOUT ROWID;
CREATE INDEX blobs_doomed ON blobs (place_id, doomed_at) WHERE users = 0;

-- How many resources there are that live, and their bytes.
CREATE TABLE resource_counts (
  holder     TEXT NOT NULL,    -- its kind
  state      TEXT NOT NULL,
  count      INTEGER NOT NULL,
  size_bytes INTEGER NOT NULL,
  PRIMARY KEY (holder, state)
) WITHOUT ROWID;

-- What is stored for a tenant, open uploads with the size that was declared.
CREATE TABLE tenant_usage (
  tenant     TEXT PRIMARY KEY,
  disk_bytes INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE resource_leases (
  lease_id     TEXT PRIMARY KEY,
  resource_seq INTEGER NOT NULL,
  worker_id    TEXT NOT NULL,          -- '' = none
  job_seq      INTEGER NOT NULL,       -- 0 = none; then it ends with the try
  attempt      INTEGER NOT NULL,
  expires_at   INTEGER                 -- NULL = with the try
) WITHOUT ROWID;
CREATE INDEX resource_leases_of_resource ON resource_leases (resource_seq);
CREATE INDEX resource_leases_of_worker ON resource_leases (worker_id) WHERE worker_id <> '';
CREATE INDEX resource_leases_of_job ON resource_leases (job_seq) WHERE job_seq <> 0;
CREATE INDEX resource_leases_due ON resource_leases (expires_at) WHERE expires_at IS NOT NULL;

-- A row for each registered resource that a job refers to, as long as the job is there.
CREATE TABLE job_refs (
  job_seq      INTEGER NOT NULL,
  resource_seq INTEGER NOT NULL,
  name         TEXT NOT NULL,          -- under which the job sees it
  is_input     INTEGER NOT NULL,       -- 1: an artifact, found for an input of the job
  PRIMARY KEY (job_seq, resource_seq, name)
) WITHOUT ROWID;
CREATE INDEX job_refs_of_resource ON job_refs (resource_seq);

-- What jobs have stored beside their results.
CREATE TABLE artifacts (
  job_seq      INTEGER NOT NULL,
  name         TEXT NOT NULL,
  attempt      INTEGER NOT NULL,       -- in which it was put, 0 = the job only names it
  resource_seq INTEGER NOT NULL,
  PRIMARY KEY (job_seq, name)
) WITHOUT ROWID;
CREATE INDEX artifacts_of_resource ON artifacts (resource_seq);

ALTER TABLE flow_jobs ADD COLUMN inputs TEXT;  -- JSON array, NULL = none
-- The artifacts as they were reported, where others are shown; NULL = the same.
ALTER TABLE job_results ADD COLUMN handed TEXT;
