-- The token of a worker is good for one registration of it.
ALTER TABLE workers ADD COLUMN registration BIGINT NOT NULL DEFAULT 0;
