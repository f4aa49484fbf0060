-- A row that is inserted tells Muster that there is work. For PostgreSQL with the extension pg_net
-- (Supabase has it): the call is made after the commit and holds nobody up.
--
-- A trigger is a hint. One that gets lost loses no work, and a hundred cause one or two checks.

create extension if not exists pg_net;

create or replace function muster_work_added() returns trigger
language plpgsql security definer as $$
begin
  perform net.http_post(
    url := 'https://jobs.example.org/v1/hooks/work_added?pool_id=' || tg_argv[0],
    headers := jsonb_build_object(
      'Content-Type', 'application/json',
      -- The secret of the trigger `work_added`, of its auth type `token`.
      'X-Webhook-Token', current_setting('app.muster_webhook_token', true)),
    body := jsonb_build_object(
      'type', tg_op,
      'table', tg_table_name,
      'record', to_jsonb(new)),
    timeout_milliseconds := 1000);
  return new;
end;
$$;

-- One of these for every table whose rows are work; the pool is the argument.
create or replace trigger orders_work_added
  after insert on orders
  for each row execute function muster_work_added('orders');
