-- The token of a worker is good for one registration of it.
ALTER TABLE workers ADD COLUMN registration INTEGER NOT NULL DEFAULT 0;
