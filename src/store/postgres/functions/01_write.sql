-- Writes. Plans of statements inside functions are kept by the server process, whatever a pooler
-- does with connections; so nothing here needs a setting of the session.
--
--   start_run                   makes a run, or answers the one that has its id
--   commit_one, commit_batch    a holder's changes under its fence (I2, I4, I10)
--   amend_write                 what a client or a former holder writes, under the row's lock
--
-- Functions that others may call are `security definer` with a search path of their own; the rest
-- are helpers, which act with the rights of whoever calls them. What nearly every commit has
-- comes as lists of rows of the four types below, which are read six times as fast as JSON; the
-- rest as JSON.

-- The only clock that leases, wake-ups and due times are judged by.
create or replace function now_ms() returns double precision
language sql volatile as $$
  select floor(extract(epoch from clock_timestamp()) * 1000)::double precision
$$;

-- I8: what is acknowledged stays, whatever the role or the database is set to; never less than set.
create or replace function keep_durable() returns void language plpgsql as $$
begin
  if current_setting('synchronous_commit') = 'off' then
    perform set_config('synchronous_commit', 'on', true);
  end if;
end $$;

create or replace function notify_change(p_what text) returns void language sql as $$
  select pg_notify('counterfoil:' || current_schema(), p_what)
$$;

-- `applyRunChange` of policy.ts; a test compares the two.
create or replace function change_run(
  p_namespace text, p_run_id text, p_commit_id text, c run_change, p_now double precision
) returns void language plpgsql as $$
declare
  v_state text;
  v_generation bigint;
  v_visit bigint;
begin
  update runs r set
    state = coalesce(c.state, r.state),
    node = coalesce(c.node, r.node),
    visit = coalesce(c.visit, r.visit),
    reached = greatest(r.reached, coalesce(c.visit, r.visit), c.reached),
    stop = case when coalesce(c.state, r.state) in ('running', 'pending')
      then case when c.sets_stop then c.stop else r.stop end end,
    output_digest = case when c.sets_output_digest then c.output_digest else r.output_digest end,
    waiting_for = case when c.sets_waiting_for then c.waiting_for else r.waiting_for end,
    output_json = case when c.sets_output_json then c.output_json else r.output_json end,
    error_json = case when c.sets_error_json then c.error_json else r.error_json end,
    arrivals = r.arrivals + case when c.arrive then 1 else 0 end,
    worker_id = case when c.release then null else r.worker_id end,
    claims = case when c.progress then 0 else r.claims end,
    wake_at = case when coalesce(c.state, r.state) in ('waiting_tool', 'waiting_human')
      then case when c.sets_wake_at or c.state is not null then c.wake_at else r.wake_at end end,
    ended_at = case when coalesce(c.state, r.state) in ('completed', 'failed', 'cancelled')
      then coalesce(r.ended_at, p_now) end,
    commit_id = coalesce(p_commit_id, r.commit_id),
    updated_at = p_now
  where r.namespace = p_namespace and r.run_id = p_run_id
  returning r.state, r.generation, r.visit into v_state, v_generation, v_visit;
  if c.rewind then
    delete from checkpoints k
    where k.namespace = p_namespace and k.run_id = p_run_id
      and k.generation = v_generation and k.visit > v_visit;
  end if;
  -- A park wakes nobody.
  if (c.state is not null and v_state in ('pending', 'completed', 'failed', 'cancelled'))
    or c.arrive or c.stop is not null
  then
    perform notify_change(v_state);
  end if;
end $$;

-- Calls that the attempt with this id may belong to: those of its visit, which are found as in
-- `records_of_visit`, or, as the ids of a scope are its host's, those of the whole run.
create or replace function calls_like(
  p_namespace text, p_run_id text, p_place text, p_tool text, p_input_hash text, p_occurrence bigint
) returns setof tool_call_results language plpgsql stable as $$
begin
  return query
  with recursive found (node, stem) as (
    (select t.node_id, split_part(t.checkpoint_id, '#', 1)
     from tool_call_results t
     where t.namespace = p_namespace and t.workflow_id = p_run_id
     order by t.node_id, t.checkpoint_id limit 1)
    union all
    select n.node_id, split_part(n.checkpoint_id, '#', 1)
    from found f cross join lateral (
      select t.node_id, t.checkpoint_id from tool_call_results t
      where t.namespace = p_namespace and t.workflow_id = p_run_id
        and (t.node_id, t.checkpoint_id) > (f.node, f.stem || '$')
      order by t.node_id, t.checkpoint_id limit 1) n
  )
  select t.* from found f join tool_call_results t
    on t.namespace = p_namespace and t.workflow_id = p_run_id and t.node_id = f.node
      and t.checkpoint_id = f.stem || '#' || p_place and t.tool_name = p_tool
      and t.input_hash = p_input_hash and t.occurrence = p_occurrence;
  if found then return; end if;
  return query
  select t.* from tool_call_results t
  where t.namespace = p_namespace and t.workflow_id = p_run_id and t.tool_name = p_tool
    and t.input_hash = p_input_hash and t.occurrence = p_occurrence;
end $$;

create or replace function id_of_first(t tool_call_results) returns text
language sql immutable as $$
  select {{id of first}}
$$;

-- What the row of a call says of its first attempt, a row of its own may not say otherwise.
create or replace function check_first(p_attempts attempt_row[]) returns void
language plpgsql as $$
declare
  a attempt_row;
  v_parts text[];
begin
  foreach a in array p_attempts loop
    continue when a.attempt <> 1 or exists (
      select 1 from tool_call_attempts t
      where t.namespace = a.namespace and t.workflow_id = a.workflow_id
        and t.attempt_id = a.attempt_id);
    v_parts := regexp_match(a.attempt_id, '^([^/]*)/(.*)/([^/]*)/(\d{1,18})/1(~[^/~]*)?$');
    continue when v_parts is null;
    if exists (
      select 1 from calls_like(a.namespace, a.workflow_id, v_parts[1], v_parts[2], v_parts[3],
        v_parts[4]::bigint) t
      where t.attempt = 1 and t.dispatched_at is not null and id_of_first(t) = a.attempt_id
        and (t.fence, t.worker_id, t.outlives, t.quiet_ms, t.dispatched_at)
          is distinct from (a.fence, a.worker_id, a.outlives, a.quiet_ms, a.dispatched_at))
    then
      raise exception using errcode = 'P0001', message = 'row is final: who has sent an attempt';
    end if;
  end loop;
end $$;

-- Attempts that came with rows which were there already: they get rows of their own.
create or replace function put_sent(p_records record_row[], p_keys text[]) returns void
language plpgsql as $$
declare
  v_sent attempt_row[];
begin
  select array_agg(row(r.namespace, r.workflow_id, id_of_first(r), 1, r.fence, r.worker_id,
    r.outlives, r.quiet_ms, r.dispatched_at, null, null, null, null, null, null)::attempt_row)
  into v_sent
  from unnest(p_records) n
  cross join lateral json_populate_record(null::tool_call_results, row_to_json(n)) r
  where n.dispatched_at is not null
    and (p_keys is null or n.namespace || '/' || n.workflow_id = any (p_keys))
    and not exists (
      select 1 from tool_call_results t
      where t.namespace = n.namespace and t.workflow_id = n.workflow_id and t.node_id = n.node_id
        and t.checkpoint_id = n.checkpoint_id and t.tool_name = n.tool_name
        and t.input_hash = n.input_hash and t.occurrence = n.occurrence and t.attempt = 1
        and t.attempt_id = n.attempt_id
        and (t.fence, t.worker_id, t.outlives, t.quiet_ms, t.dispatched_at)
          is not distinct from (n.fence, n.worker_id, n.outlives, n.quiet_ms, n.dispatched_at));
  if v_sent is not null then perform put_rows(null, v_sent, null, null, null, null); end if;
end $$;

-- `p_keys`: the runs, as `namespace/run_id`, whose rows are written; null for all. One function, as
-- each call of another costs as much as a row.
create or replace function put_rows(
  p_records record_row[], p_attempts attempt_row[], p_events event_row[],
  p_checkpoints checkpoint_row[], p_rest json, p_keys text[]
) returns void language plpgsql as $$
declare
  v_missing bigint;
begin
  if p_records is not null then
    with put as (
      {{insert tool_call_results}}
      from unnest(p_records)
      where p_keys is null or namespace || '/' || workflow_id = any (p_keys)
      {{replace tool_call_results}}
      -- Of a row that is new nobody has had the lock before.
      returning dispatched_at is not null and xmax = 0 as sent)
    select (select count(r.dispatched_at) from unnest(p_records) r) - count(*) into v_missing
    from put where sent;
    if v_missing > 0 then perform put_sent(p_records, p_keys); end if;
  end if;
  if p_attempts is not null then
    perform check_first(p_attempts);
    {{insert tool_call_attempts}}
    from unnest(p_attempts)
    where p_keys is null or namespace || '/' || workflow_id = any (p_keys)
    {{replace tool_call_attempts}};
  end if;
  if p_events is not null then
    {{insert events}}
    from unnest(p_events)
    where p_keys is null or namespace || '/' || run_id = any (p_keys);
  end if;
  if p_checkpoints is not null then
    {{insert checkpoints}}
    from unnest(p_checkpoints)
    where p_keys is null or namespace || '/' || run_id = any (p_keys)
    {{replace checkpoints}};
  end if;
  if p_rest is not null then perform put_rest(p_rest, p_keys); end if;
end $$;

create or replace function put_evidence(p_rows json, p_keys text[]) returns void
language plpgsql as $$
begin
  {{insert call_evidence}}
  from json_populate_recordset(null::call_evidence, p_rows)
  where p_keys is null or namespace || '/' || workflow_id = any (p_keys)
  {{replace call_evidence}};
end $$;

create or replace function put_items(p_rows json, p_keys text[]) returns void language plpgsql as $$
begin
  {{insert inbox_items}}
  from json_populate_recordset(null::inbox_items, p_rows)
  where p_keys is null or namespace || '/' || run_id = any (p_keys)
  {{replace inbox_items}};
end $$;

create or replace function put_decisions(p_rows json, p_keys text[]) returns void
language plpgsql as $$
begin
  {{insert decisions}}
  from json_populate_recordset(null::decisions, p_rows)
  where p_keys is null or namespace || '/' || run_id = any (p_keys)
  {{replace decisions}};
end $$;

-- A client sends one, which is new; the holder takes one, which is there.
create or replace function put_signals(p_rows json, p_keys text[]) returns void
language plpgsql as $$
declare
  v_taken bigint;
  v_found bigint;
begin
  {{insert signals}}
  from json_populate_recordset(null::signals, p_rows)
  where used_by is null and (p_keys is null or namespace || '/' || run_id = any (p_keys));
  select count(*) into v_taken from json_populate_recordset(null::signals, p_rows)
  where used_by is not null and (p_keys is null or namespace || '/' || run_id = any (p_keys));
  if v_taken = 0 then return; end if;
  update signals s
  set name = n.name, data_json = n.data_json, at = n.at, used_by = n.used_by, mac = n.mac
  from json_populate_recordset(null::signals, p_rows) n
  where n.used_by is not null and s.namespace = n.namespace and s.run_id = n.run_id
    and s.signal_id = n.signal_id
    and (p_keys is null or n.namespace || '/' || n.run_id = any (p_keys));
  get diagnostics v_found = row_count;
  if v_found < v_taken then
    raise exception using errcode = 'P0001', message = 'row is final: a signal that was not sent';
  end if;
end $$;

create or replace function add_run(p_run json) returns boolean language plpgsql as $$
begin
  {{insert runs}}
  from json_populate_record(null::runs, p_run)
  on conflict (namespace, run_id) do nothing;
  return found;
end $$;

-- `p_new`: `{ run, checkpoint, event }`; the last two are lists of rows.
create or replace function add_new(p_new json) returns boolean language plpgsql as $$
begin
  if not add_run(p_new -> 'run') then return false; end if;
  perform put_rows(null, null,
    array(select e from json_populate_recordset(null::event_row, p_new -> 'events') e),
    array(select k from json_populate_recordset(null::checkpoint_row, p_new -> 'checkpoints') k),
    null, null);
  perform notify_change('pending');
  return true;
end $$;

create or replace function start_run(p_new json) returns json
language plpgsql security definer set search_path from current
set plan_cache_mode = force_generic_plan as $$
declare
  v_run runs;
begin
  perform keep_durable();
  if add_new(p_new) then return null; end if;
  select * into v_run from runs r
  where r.namespace = p_new -> 'run' ->> 'namespace' and r.run_id = p_new -> 'run' ->> 'run_id';
  return row_to_json(v_run);
end $$;

-- `p_news`: a list of what `start_run` takes. Answers in its order, null for a run that was made.
-- Ids are taken in their own order, or two who start the same runs might wait for each other.
create or replace function start_runs(p_news json) returns json
language plpgsql security definer set search_path from current
set plan_cache_mode = force_generic_plan as $$
declare
  v_answers json[] := array_fill(null::json, array[json_array_length(p_news)]);
  n record;
begin
  for n in
    select e.value, e.nth from json_array_elements(p_news) with ordinality e (value, nth)
    order by e.value -> 'run' ->> 'namespace' collate "C",
      e.value -> 'run' ->> 'run_id' collate "C", e.nth
  loop
    v_answers[n.nth] := start_run(n.value);
  end loop;
  return array_to_json(v_answers);
end $$;

-- What few commits have: `p_rest` has a list for each kind that is there.
create or replace function put_rest(p_rest json, p_keys text[]) returns void language plpgsql as $$
declare
  v_new json;
begin
  perform put_evidence(p_rest -> 'evidence', p_keys) where p_rest -> 'evidence' is not null;
  perform put_items(p_rest -> 'items', p_keys) where p_rest -> 'items' is not null;
  perform put_decisions(p_rest -> 'decisions', p_keys) where p_rest -> 'decisions' is not null;
  perform put_signals(p_rest -> 'signals', p_keys) where p_rest -> 'signals' is not null;
  perform put_notices(p_rest -> 'notices', p_keys) where p_rest -> 'notices' is not null;
  for v_new in
    select value from json_array_elements(coalesce(p_rest -> 'children', '[]'))
    where p_keys is null
      or (value -> 'run' ->> 'namespace') || '/' || (value -> 'run' ->> 'parent_run_id')
        = any (p_keys)
  loop
    perform add_new(v_new);
  end loop;
end $$;
