-- The launches of a pool that are not judged yet are few, whatever number it had before.
DROP INDEX workers_open;
CREATE INDEX workers_open ON workers (pool_id, launched_at) WHERE launch_verdict = 'open';
