-- Writes. Plans of statements inside functions are kept by the server process, whatever a pooler
-- does with connections; so nothing here needs a named statement or a setting of the session.
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
create function now_ms() returns double precision
language sql volatile as $$
  select floor(extract(epoch from clock_timestamp()) * 1000)::double precision
$$;

-- I8: what is acknowledged stays, whatever the role or the database is set to; never less than set.
create function keep_durable() returns void language plpgsql as $$
begin
  if current_setting('synchronous_commit') = 'off' then
    perform set_config('synchronous_commit', 'on', true);
  end if;
end $$;

create function notify_change(p_what text) returns void language sql as $$
  select pg_notify('counterfoil:' || current_schema(), p_what)
$$;

create type run_change as (
  state text,
  node text,
  visit bigint,
  reached bigint,
  sets_stop boolean,
  stop text,
  sets_waiting_for boolean,
  waiting_for text,
  sets_output_json boolean,
  output_json text,
  sets_output_digest boolean,
  output_digest text,
  sets_error_json boolean,
  error_json text,
  sets_wake_at boolean,
  wake_at double precision,
  arrive boolean,
  release boolean,
  progress boolean,
  rewind boolean
);

-- `applyRunChange` of policy.ts; a test compares the two.
create function change_run(
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

-- Types of their own: a table may get another column while workers that do not know it go on.
create type record_row as (
  namespace text, workflow_id text, node_id text, checkpoint_id text, tool_name text,
  input_hash text, occurrence bigint, nth bigint, replay_class text, idempotency_key text,
  expires_at double precision, due_at double precision, status text, seq bigint, after_seq bigint,
  input_json text, result_json text, result_digest text, external_id text, error_json text,
  usage_json text, unresolved boolean, attempt bigint, fence bigint, worker_id text, span_id text,
  created_at double precision, settled_at double precision, mac text
);

create type attempt_row as (
  namespace text, workflow_id text, attempt_id text, attempt bigint, fence bigint, worker_id text,
  outlives boolean, quiet_ms double precision, dispatched_at double precision, token_hash text,
  beat_at double precision, beat_json text, ended_at double precision, outcome text, mac text
);

create type event_row as (
  namespace text, run_id text, at double precision, kind text, generation bigint, visit bigint,
  data_json text
);

create type checkpoint_row as (
  namespace text, run_id text, generation bigint, visit bigint, node text, version text,
  schema_version bigint, kind text, base_visit bigint, previous text, body_json text,
  body_digest text, digest text, created_at double precision
);

-- `p_keys`: the runs, as `namespace/run_id`, whose rows are written; null for all. One function, as
-- each call of another costs as much as a row.
create function put_rows(
  p_records record_row[], p_attempts attempt_row[], p_events event_row[],
  p_checkpoints checkpoint_row[], p_rest json, p_keys text[]
) returns void language plpgsql as $$
begin
  if p_records is not null then
    insert into tool_call_results (
      namespace, workflow_id, node_id, checkpoint_id, tool_name, input_hash, occurrence, nth,
      replay_class, idempotency_key, expires_at, due_at, status, seq, after_seq, input_json,
      result_json, result_digest, external_id, error_json, usage_json, unresolved, attempt, fence,
      worker_id, span_id, created_at, settled_at, mac)
    select
      namespace, workflow_id, node_id, checkpoint_id, tool_name, input_hash, occurrence, nth,
      replay_class, idempotency_key, expires_at, due_at, status, seq, after_seq, input_json,
      result_json, result_digest, external_id, error_json, usage_json, unresolved, attempt, fence,
      worker_id, span_id, created_at, settled_at, mac
    from unnest(p_records)
    where p_keys is null or namespace || '/' || workflow_id = any (p_keys)
    on conflict (namespace, workflow_id, node_id, checkpoint_id, tool_name, input_hash, occurrence)
    do update set
      nth = excluded.nth, replay_class = excluded.replay_class,
      idempotency_key = excluded.idempotency_key, expires_at = excluded.expires_at,
      due_at = excluded.due_at, status = excluded.status, seq = excluded.seq,
      after_seq = excluded.after_seq, input_json = excluded.input_json,
      result_json = excluded.result_json, result_digest = excluded.result_digest,
      external_id = excluded.external_id, error_json = excluded.error_json,
      usage_json = excluded.usage_json, unresolved = excluded.unresolved,
      attempt = excluded.attempt, fence = excluded.fence, worker_id = excluded.worker_id,
      span_id = excluded.span_id, created_at = excluded.created_at,
      settled_at = excluded.settled_at, mac = excluded.mac;
  end if;
  if p_attempts is not null then
    insert into tool_call_attempts (
      namespace, workflow_id, attempt_id, attempt, fence, worker_id, outlives, quiet_ms,
      dispatched_at, token_hash, beat_at, beat_json, ended_at, outcome, mac)
    select
      namespace, workflow_id, attempt_id, attempt, fence, worker_id, outlives, quiet_ms,
      dispatched_at, token_hash, beat_at, beat_json, ended_at, outcome, mac
    from unnest(p_attempts)
    where p_keys is null or namespace || '/' || workflow_id = any (p_keys)
    on conflict (namespace, workflow_id, attempt_id) do update set
      attempt = excluded.attempt, fence = excluded.fence, worker_id = excluded.worker_id,
      outlives = excluded.outlives, quiet_ms = excluded.quiet_ms,
      dispatched_at = excluded.dispatched_at, token_hash = excluded.token_hash,
      beat_at = excluded.beat_at, beat_json = excluded.beat_json, ended_at = excluded.ended_at,
      outcome = excluded.outcome, mac = excluded.mac;
  end if;
  if p_events is not null then
    insert into events (namespace, run_id, at, kind, generation, visit, data_json)
    select namespace, run_id, at, kind, generation, visit, data_json
    from unnest(p_events)
    where p_keys is null or namespace || '/' || run_id = any (p_keys);
  end if;
  if p_checkpoints is not null then
    insert into checkpoints (
      namespace, run_id, generation, visit, node, version, schema_version, kind, base_visit,
      previous, body_json, body_digest, digest, created_at)
    select
      namespace, run_id, generation, visit, node, version, schema_version, kind, base_visit,
      previous, body_json, body_digest, digest, created_at
    from unnest(p_checkpoints)
    where p_keys is null or namespace || '/' || run_id = any (p_keys)
    on conflict (namespace, run_id, generation, visit) do update set
      node = excluded.node, version = excluded.version, schema_version = excluded.schema_version,
      kind = excluded.kind, base_visit = excluded.base_visit, previous = excluded.previous,
      body_json = excluded.body_json, body_digest = excluded.body_digest, digest = excluded.digest,
      created_at = excluded.created_at;
  end if;
  if p_rest is not null then perform put_rest(p_rest, p_keys); end if;
end $$;

create function put_evidence(p_rows json, p_keys text[]) returns void language plpgsql as $$
begin
  insert into call_evidence (
    namespace, workflow_id, attempt_id, outcome, result_json, result_digest, external_id,
    error_json, at, seq, mac)
  select
    namespace, workflow_id, attempt_id, outcome, result_json, result_digest, external_id,
    error_json, at, seq, mac
  from json_populate_recordset(null::call_evidence, p_rows)
  where p_keys is null or namespace || '/' || workflow_id = any (p_keys)
  on conflict (namespace, workflow_id, attempt_id) do update set
    outcome = excluded.outcome, result_json = excluded.result_json,
    result_digest = excluded.result_digest, external_id = excluded.external_id,
    error_json = excluded.error_json, at = excluded.at, seq = excluded.seq, mac = excluded.mac;
end $$;

create function put_items(p_rows json, p_keys text[]) returns void language plpgsql as $$
begin
  insert into inbox_items (
    namespace, run_id, item_id, kind, reason, state, version, queue, title, generation, visit,
    due_at, overdue_at, body_json, created_at, closed_at, closed_by)
  select
    namespace, run_id, item_id, kind, reason, state, version, queue, title, generation, visit,
    due_at, overdue_at, body_json, created_at, closed_at, closed_by
  from json_populate_recordset(null::inbox_items, p_rows)
  where p_keys is null or namespace || '/' || run_id = any (p_keys)
  on conflict (namespace, item_id) do update set
    run_id = excluded.run_id, kind = excluded.kind, reason = excluded.reason,
    state = excluded.state, version = excluded.version, queue = excluded.queue,
    title = excluded.title, generation = excluded.generation, visit = excluded.visit,
    due_at = excluded.due_at, overdue_at = excluded.overdue_at, body_json = excluded.body_json,
    created_at = excluded.created_at, closed_at = excluded.closed_at,
    closed_by = excluded.closed_by;
end $$;

create function put_decisions(p_rows json, p_keys text[]) returns void language plpgsql as $$
begin
  insert into decisions (
    namespace, run_id, decision_id, item_id, kind, reason, generation, visit, subject_json,
    outcome, record_json, result_json, shown_hash, decided_by, why, evidence, made_sure, version,
    at, seq, used_by, voided_at, mac)
  select
    namespace, run_id, decision_id, item_id, kind, reason, generation, visit, subject_json,
    outcome, record_json, result_json, shown_hash, decided_by, why, evidence, made_sure, version,
    at, seq, used_by, voided_at, mac
  from json_populate_recordset(null::decisions, p_rows)
  where p_keys is null or namespace || '/' || run_id = any (p_keys)
  on conflict (namespace, run_id, decision_id) do update set
    item_id = excluded.item_id, kind = excluded.kind, reason = excluded.reason,
    generation = excluded.generation, visit = excluded.visit,
    subject_json = excluded.subject_json, outcome = excluded.outcome,
    record_json = excluded.record_json, result_json = excluded.result_json,
    shown_hash = excluded.shown_hash, decided_by = excluded.decided_by, why = excluded.why,
    evidence = excluded.evidence, made_sure = excluded.made_sure, version = excluded.version,
    at = excluded.at, seq = excluded.seq, used_by = excluded.used_by,
    voided_at = excluded.voided_at, mac = excluded.mac;
end $$;

-- A client sends one, which is new; the holder takes one, which is there.
create function put_signals(p_rows json, p_keys text[]) returns void language plpgsql as $$
declare
  v_taken bigint;
  v_found bigint;
begin
  insert into signals (namespace, run_id, signal_id, name, data_json, at, mac)
  select namespace, run_id, signal_id, name, data_json, at, mac
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

create function add_run(p_run json) returns boolean language plpgsql as $$
begin
  insert into runs (
    namespace, run_id, graph, version, state, node, generation, visit, reached, input_hash,
    output_json, output_digest, error_json, waiting_for, stop, fence, worker_id, arrivals, claims,
    commit_id, trace_id, parent_run_id, parent_attempt_id, wake_at, ended_at, swept, created_at,
    updated_at, started_by)
  select
    namespace, run_id, graph, version, state, node, generation, visit, reached, input_hash,
    output_json, output_digest, error_json, waiting_for, stop, fence, worker_id, arrivals, claims,
    commit_id, trace_id, parent_run_id, parent_attempt_id, wake_at, ended_at, swept, created_at,
    updated_at, started_by
  from json_populate_record(null::runs, p_run)
  on conflict (namespace, run_id) do nothing;
  return found;
end $$;

-- `p_new`: `{ run, checkpoint, event }`; the last two are lists of rows.
create function add_new(p_new json) returns boolean language plpgsql as $$
begin
  if not add_run(p_new -> 'run') then return false; end if;
  perform put_rows(null, null,
    array(select e from json_populate_recordset(null::event_row, p_new -> 'events') e),
    array(select k from json_populate_recordset(null::checkpoint_row, p_new -> 'checkpoints') k),
    null, null);
  perform notify_change('pending');
  return true;
end $$;

create function start_run(p_new json) returns json
language plpgsql security definer set search_path from current as $$
declare
  v_run runs;
begin
  perform keep_durable();
  if add_new(p_new) then return null; end if;
  select * into v_run from runs r
  where r.namespace = p_new -> 'run' ->> 'namespace' and r.run_id = p_new -> 'run' ->> 'run_id';
  return row_to_json(v_run);
end $$;

-- What few commits have: `p_rest` has a list for each kind that is there.
create function put_rest(p_rest json, p_keys text[]) returns void language plpgsql as $$
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
