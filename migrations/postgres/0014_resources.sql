-- Resources: what outlives a job, the bytes that the service keeps, and who uses what.

CREATE TABLE resources (
  resource_seq  BIGINT PRIMARY KEY,
  uid           TEXT COLLATE "C" NOT NULL UNIQUE,
  resource_id   TEXT COLLATE "C" NOT NULL,
  type          TEXT NOT NULL,
  holder        TEXT COLLATE "C" NOT NULL,         -- store, external, host:NAME, worker:ID
  worker_id     TEXT COLLATE "C" NOT NULL,         -- that holds or made it, '' = none
  host          TEXT NOT NULL,         -- '' = none
  scope         TEXT COLLATE "C" NOT NULL,         -- '' = none
  tenant        TEXT COLLATE "C" NOT NULL,         -- '' = none
  state         TEXT NOT NULL,         -- uploading, active, stale, evicting, evicted, lost
  reason        TEXT NOT NULL,         -- '' = none
  size_bytes    BIGINT,
  mem_bytes     BIGINT,
  sha256        TEXT COLLATE "C" NOT NULL,         -- '' = not known
  stored        BIGINT NOT NULL,      -- 1: all its bytes are in the place
  place_id      TEXT COLLATE "C" NOT NULL,         -- of its bytes or of their upload, '' = none yet
  upload_offset BIGINT,               -- while something is being uploaded
  uploaded_at   BIGINT,               -- its last part, or its beginning; likewise
  uri           TEXT NOT NULL,         -- these three: '' = none
  path          TEXT NOT NULL,
  mime          TEXT NOT NULL,
  ttl_ms        BIGINT,               -- from its last use
  expires_at    BIGINT,               -- while nothing uses it
  ref_count     BIGINT NOT NULL,      -- living jobs that refer to it
  lease_count   BIGINT NOT NULL,
  metadata      TEXT NOT NULL,         -- JSON object, '' = none
  body_hash     TEXT NOT NULL,         -- of what it was registered with
  job_id        TEXT COLLATE "C" NOT NULL,         -- of the job whose artifact it is, '' = none
  attempt       BIGINT,               -- of that job
  created_at    BIGINT NOT NULL,
  last_used_at  BIGINT NOT NULL,
  changed_at    BIGINT NOT NULL,      -- its state
  synced_at     BIGINT,               -- when its host last named it
  version       BIGINT NOT NULL
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX resources_living ON resources (resource_id)
  WHERE state IN ('uploading', 'active', 'stale', 'evicting');
CREATE INDEX resources_by_id ON resources (resource_id, resource_seq);
CREATE INDEX resources_of_scope ON resources (scope, resource_seq)
  WHERE scope <> '' AND state IN ('uploading', 'active', 'stale', 'evicting');
CREATE INDEX resources_of_holder ON resources (holder, resource_seq)
  WHERE state IN ('uploading', 'active', 'stale', 'evicting');
CREATE INDEX resources_of_job ON resources (job_id, resource_seq) WHERE job_id <> '';
CREATE INDEX resources_same ON resources (tenant, sha256, size_bytes, resource_seq)
  WHERE state = 'active' AND stored = 1;
CREATE INDEX resources_due ON resources (expires_at, resource_seq)
  WHERE state = 'active' AND expires_at IS NOT NULL;
CREATE INDEX resources_idle ON resources (place_id, last_used_at, resource_seq)
  WHERE state = 'active' AND stored = 1 AND ref_count = 0 AND lease_count = 0;
CREATE INDEX resources_uploads ON resources (uploaded_at, resource_seq) WHERE uploaded_at IS NOT NULL;
CREATE INDEX resources_uploads_of_place ON resources (place_id, resource_seq)
  WHERE uploaded_at IS NOT NULL;
CREATE INDEX resources_evicting ON resources (place_id, resource_seq) WHERE state = 'evicting';
CREATE INDEX resources_gone ON resources (changed_at, resource_seq) WHERE state IN ('evicted', 'lost');
CREATE INDEX resources_missed ON resources (resource_seq)  -- by jobs that still refer to them
  WHERE ref_count > 0 AND state IN ('evicted', 'lost');

-- The folders of blobs, and who has them.
CREATE TABLE places (
  place_id     TEXT COLLATE "C" PRIMARY KEY,
  node_id      TEXT NOT NULL,          -- '' = the only node
  node_url     TEXT NOT NULL,
  blob_bytes   BIGINT NOT NULL,       -- of all blobs in it
  used_bytes   BIGINT NOT NULL,       -- of those with a user
  announced_at BIGINT NOT NULL
);

CREATE TABLE blobs (
  place_id   TEXT COLLATE "C" NOT NULL,
  sha256     TEXT COLLATE "C" NOT NULL,
  size_bytes BIGINT NOT NULL,
  users      BIGINT NOT NULL,         -- resources with these bytes
  doomed_at  BIGINT,                  -- since nobody uses it
  PRIMARY KEY (place_id, sha256)
);
CREATE INDEX blobs_doomed ON blobs (place_id, doomed_at) WHERE users = 0;

-- How many resources there are that live, and their bytes.
CREATE TABLE resource_counts (
  holder     TEXT COLLATE "C" NOT NULL,  -- its kind
  state      TEXT COLLATE "C" NOT NULL,
  count      BIGINT NOT NULL,
  size_bytes BIGINT NOT NULL,
  PRIMARY KEY (holder, state)
);

-- What is stored for a tenant, open uploads with the size that was declared.
CREATE TABLE tenant_usage (
  tenant     TEXT COLLATE "C" PRIMARY KEY,
  disk_bytes BIGINT NOT NULL
);

CREATE TABLE resource_leases (
  lease_id     TEXT COLLATE "C" PRIMARY KEY,
  resource_seq BIGINT NOT NULL,
  worker_id    TEXT COLLATE "C" NOT NULL,          -- '' = none
  job_seq      BIGINT NOT NULL,       -- 0 = none; then it ends with the try
  attempt      BIGINT NOT NULL,
  expires_at   BIGINT                  -- NULL = with the try
);
CREATE INDEX resource_leases_of_resource ON resource_leases (resource_seq);
CREATE INDEX resource_leases_of_worker ON resource_leases (worker_id) WHERE worker_id <> '';
CREATE INDEX resource_leases_of_job ON resource_leases (job_seq) WHERE job_seq <> 0;
CREATE INDEX resource_leases_due ON resource_leases (expires_at) WHERE expires_at IS NOT NULL;

-- A row for each registered resource that a job refers to, as long as the job is there.
CREATE TABLE job_refs (
  job_seq      BIGINT NOT NULL,
  resource_seq BIGINT NOT NULL,
  name         TEXT COLLATE "C" NOT NULL,          -- under which the job sees it
  is_input     BIGINT NOT NULL,       -- 1: an artifact, found for an input of the job
  PRIMARY KEY (job_seq, resource_seq, name)
);
CREATE INDEX job_refs_of_resource ON job_refs (resource_seq);

-- What jobs have stored beside their results.
CREATE TABLE artifacts (
  job_seq      BIGINT NOT NULL,
  name         TEXT COLLATE "C" NOT NULL,
  attempt      BIGINT NOT NULL,       -- in which it was put, 0 = the job only names it
  resource_seq BIGINT NOT NULL,
  PRIMARY KEY (job_seq, name)
);
CREATE INDEX artifacts_of_resource ON artifacts (resource_seq);

ALTER TABLE flow_jobs ADD COLUMN inputs TEXT;  -- JSON array, NULL = none
-- The artifacts as they were reported, where others are shown; NULL = the same.
ALTER TABLE job_results ADD COLUMN handed TEXT;
