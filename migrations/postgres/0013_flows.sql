-- What of flows and resources concerns the job, as a sum; NULL: nothing does.
--   1 in a flow   2 has downstream jobs   32 has children   64 is the callback of a flow
--   128 has upstream jobs   (4, 8 and 16 are of resources)
ALTER TABLE jobs ADD COLUMN links BIGINT;

-- A job of a flow that waits for others is 'blocked', before it is 'pending'.
ALTER TABLE lane_counts ADD COLUMN blocked BIGINT NOT NULL DEFAULT 0;
DROP INDEX jobs_unique;
CREATE UNIQUE INDEX jobs_unique ON jobs (pool_id, unique_key)
  WHERE unique_key IS NOT NULL AND status IN ('blocked', 'pending', 'claimed');
DROP INDEX jobs_expiring;
CREATE INDEX jobs_expiring ON jobs (expires_at, seq)
  WHERE status IN ('blocked', 'pending') AND expires_at IS NOT NULL;
-- Jobs of a flow are kept as long as the flow.
DROP INDEX jobs_finished;
CREATE INDEX jobs_finished ON jobs (finished_at, seq)
  WHERE finished_at IS NOT NULL AND (links IS NULL OR (links & 1) = 0);

CREATE TABLE flows (
  flow_seq      BIGINT PRIMARY KEY,
  flow_id       TEXT COLLATE "C" NOT NULL UNIQUE,
  name          TEXT COLLATE "C" NOT NULL,         -- '' = none
  tenant        TEXT COLLATE "C" NOT NULL,         -- '' = none
  priority      BIGINT,
  status        TEXT NOT NULL,         -- running, cancelling, succeeded, failed, cancelled
  cause         TEXT NOT NULL,         -- why it is cancelling: cancel, deadline, fail_fast; '' = it is not
  reason        TEXT NOT NULL,         -- of its end, '' = none
  closed        BIGINT NOT NULL,
  round         BIGINT NOT NULL,
  fail_fast     BIGINT NOT NULL,
  deadline_at   BIGINT,               -- while it has not ended
  callbacks     TEXT NOT NULL,         -- JSON array, '' = none
  metadata      TEXT NOT NULL,         -- JSON object, '' = none
  pools         TEXT NOT NULL,         -- of its jobs, separated by spaces
  created_at    BIGINT NOT NULL,
  began_at      BIGINT NOT NULL,      -- this round
  ended_at      BIGINT,
  version       BIGINT NOT NULL,
  total         BIGINT NOT NULL,      -- jobs of all levels; the next four are among them
  blocked       BIGINT NOT NULL,
  done          BIGINT NOT NULL,
  poisoned      BIGINT NOT NULL,
  cancelled     BIGINT NOT NULL,
  top_open      BIGINT NOT NULL,      -- jobs of the top level without a verdict
  top_failed    BIGINT NOT NULL,      -- with this verdict, as far as it counts
  top_cancelled BIGINT NOT NULL,
  todo          BIGINT NOT NULL,      -- 0 nothing, 1 end, 2 cancel, 3 retry, 4 remove
  todo_after    BIGINT NOT NULL       -- jobs up to this number are done with
) WITH (fillfactor = 50);
CREATE INDEX flows_todo ON flows (flow_seq) WHERE todo <> 0;
CREATE INDEX flows_by_status ON flows (status, flow_seq);
CREATE INDEX flows_by_name ON flows (name, flow_seq) WHERE name <> '';
CREATE INDEX flows_deadline ON flows (deadline_at, flow_seq) WHERE deadline_at IS NOT NULL;
CREATE INDEX flows_ended ON flows (ended_at, flow_seq) WHERE ended_at IS NOT NULL;

CREATE TABLE flow_jobs (
  seq                BIGINT PRIMARY KEY,   -- jobs.seq; if the job is gone, a negative number
  flow_seq           BIGINT NOT NULL,
  parent_seq         BIGINT NOT NULL,      -- 0 = top level
  depth              BIGINT NOT NULL,      -- 1 = top level
  name               TEXT COLLATE "C" NOT NULL,
  body_hash          TEXT NOT NULL,
  may_fail           BIGINT NOT NULL,
  delay_ms           BIGINT NOT NULL,      -- from when it is unblocked
  remaining          BIGINT NOT NULL,      -- edges to it that are not met yet
  children_open      BIGINT NOT NULL,      -- children without a verdict, and one more while the
                                            -- job itself has not ended; 0 without children
  children_failed    BIGINT NOT NULL,      -- children with this verdict, as far as it counts
  children_cancelled BIGINT NOT NULL,
  ended_as           BIGINT NOT NULL,      -- 0 as its status says, 1 upstream_failed,
                                            -- 2 upstream_cancelled, 3 not_needed; the job is gone
                                            -- and was: 4 done, 5 poisoned, 6 cancelled
  todo               BIGINT NOT NULL,      -- 0 nothing, 1 its verdict is to be told,
                                            -- 2 some edges are, 3 it is to be put back
  told_to            BIGINT NOT NULL       -- edges to jobs up to this number are settled
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX flow_jobs_name ON flow_jobs (flow_seq, parent_seq, name);
CREATE INDEX flow_jobs_of_flow ON flow_jobs (flow_seq, seq);
CREATE INDEX flow_jobs_todo ON flow_jobs (todo, flow_seq, seq) WHERE todo <> 0;

CREATE TABLE flow_edges (
  upstream_seq   BIGINT NOT NULL,
  downstream_seq BIGINT NOT NULL,
  condition      BIGINT NOT NULL,          -- 0 after, 1 after_failure, 2 after_any
  PRIMARY KEY (upstream_seq, downstream_seq)
);
CREATE INDEX flow_edges_downstream ON flow_edges (downstream_seq, upstream_seq);

-- Of a job that a flow has pushed at its end: what its worker is told of the flow.
CREATE TABLE flow_callbacks (
  seq  BIGINT PRIMARY KEY,                 -- jobs.seq
  flow TEXT NOT NULL                        -- JSON
);
