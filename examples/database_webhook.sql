-- Every row that is inserted becomes a job. For PostgreSQL with the extension pg_net (Supabase has it):
-- the call is made after the commit and holds nobody up.
--
-- The hook it calls is made once, with a token of scope admin where tokens are configured:
--
--   curl --fail -X PUT "$MUSTER_URL/v1/triggers/orders" -d '{
--     "type": "webhook", "machine": "parallelization_checker",
--     "input": {"pool_id": "orders", "job_from": "/record", "events": ["INSERT"]},
--     "auth": {"type": "token", "secrets": ["a-long-random-secret"]}}'
--
-- The database has the same secret:
--
--   alter database app set app.muster_webhook_token = 'a-long-random-secret';
--
-- pg_net does not try again. Where no row may be missed, push the job yourself and with an
-- Idempotency-Key; where rows are only a sign that there is work, leave out "job_from".

create extension if not exists pg_net;

create or replace function muster_hook() returns trigger
language plpgsql security definer as $$
begin
  perform net.http_post(
    url := 'https://jobs.example.org/v1/hooks/' || tg_argv[0],
    headers := jsonb_build_object(
      'Content-Type', 'application/json',
      'Authorization', 'Bearer ' || current_setting('app.muster_webhook_token')),
    body := jsonb_build_object(
      'type', tg_op,
      'table', tg_table_name,
      'record', to_jsonb(new)),
    timeout_milliseconds := 1000);
  return new;
end;
$$;

-- One of these for every table whose rows are work; the argument is the name of the hook.
create or replace trigger orders_muster
  after insert on orders
  for each row execute function muster_hook('orders');
