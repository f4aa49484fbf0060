-- When a tenant was last served, as a number that rises with every claim in its pool: of two that
-- wait the one with the lower number is next. Jobs without a tenant have a row too, under '', where
-- others have one.
ALTER TABLE tenants ADD COLUMN turn INTEGER NOT NULL DEFAULT 0;
