-- What happens under a run row's lock when a holder, a client or a former holder writes.
--
-- Rows are locked in the order of `runs.id`; a parent was made before its children, so it comes
-- first. A commit that comes alone waits for its row, for a bound; of several, one whose row (or
-- whose parent's or child's) somebody else has is answered 'locked' and comes again.
--
-- An ordinary commit (`isOrdinary` of rules/commit.ts) reads the run's row and does not write it.
-- The lock that it takes is shared: whoever changes the run waits for it, or it for them.

-- Commit ids of the engine are `fence.number`; of any other form it cannot tell.
create or replace function is_before(p_a text, p_b text) returns boolean
language sql immutable as $$
  select case
    when p_a ~ '^\d{1,18}\.\d{1,18}$' and p_b ~ '^\d{1,18}\.\d{1,18}$'
    then split_part(p_a, '.', 1) = split_part(p_b, '.', 1)
      and split_part(p_a, '.', 2)::bigint < split_part(p_b, '.', 2)::bigint
    else false
  end
$$;

-- The fence first: a commit that landed before a takeover permits nothing after it. A commit of a
-- lower number than the last was applied before it, and comes late by a connection given up.
create or replace function judge(
  p_fence bigint, p_commit_id text, p_worker_id text, p_state text, p_arrivals bigint,
  p_said_fence bigint, p_said_commit_id text, p_said_worker_id text, p_arrivals_seen bigint
) returns text language sql immutable as $$
  select case
    when p_fence is distinct from p_said_fence then 'stale_fence'
    when p_commit_id = p_said_commit_id then 'done'
    when p_worker_id is distinct from p_said_worker_id or p_state <> 'running' then 'stale_fence'
    when is_before(p_said_commit_id, p_commit_id) then 'done'
    when p_arrivals_seen <> p_arrivals then 'arrived'
    else 'write'
  end
$$;

create or replace function add_event(
  r runs, p_at double precision, p_kind text, p_data json
) returns void language plpgsql as $$
begin
  insert into events (namespace, run_id, at, kind, generation, visit, data_json)
  values (r.namespace, r.run_id, p_at, p_kind, r.generation, r.visit, p_data::text);
end $$;

-- `woken` of family.ts: something has come for the run from outside its lease.
create or replace function arrive(r runs, p_now double precision, p_cause text) returns void
language plpgsql as $$
declare
  c run_change;
begin
  c.arrive := true;
  if r.state in ('waiting_tool', 'waiting_human') then
    c.state := 'pending';
    c.sets_waiting_for := true;
    perform add_event(r, p_now, 'state',
      json_build_object('from', r.state, 'to', 'pending', 'cause', p_cause));
  end if;
  perform change_run(r.namespace, r.run_id, null, c, p_now);
end $$;

-- `toldOfCancel` of family.ts, for every live child.
create or replace function cancel_children(p_namespace text, p_run_id text, p_now double precision)
returns void language plpgsql as $$
declare
  r runs;
  c run_change;
  v_why text := 'its parent run ' || p_run_id || ' was cancelled';
begin
  for r in
    select * from runs k
    where k.namespace = p_namespace and k.parent_run_id = p_run_id and k.ended_at is null
    order by k.id for update
  loop
    c := null;
    c.arrive := true;
    c.sets_stop := true;
    c.stop := r.stop;
    if as_jsonb(r.stop) ->> 'to' is distinct from 'cancelled' then
      c.stop := json_build_object(
        'at', p_now, 'by', 'parent', 'to', 'cancelled', 'why', v_why)::text;
    end if;
    if r.state in ('waiting_tool', 'waiting_human', 'paused') then
      c.state := 'pending';
      c.sets_waiting_for := true;
    end if;
    perform change_run(r.namespace, r.run_id, null, c, p_now);
    perform add_event(r, p_now, 'stop_asked',
      json_build_object('to', 'cancelled', 'by', 'parent', 'why', v_why));
  end loop;
end $$;

-- `toldOfEnd` of family.ts. `p_news` is one row of evidence; the first end is the one that counts.
create or replace function tell_parent(
  p_namespace text, p_parent text, p_child text, p_news json, p_now double precision
) returns void language plpgsql as $$
declare
  r runs;
begin
  select * into r from runs k
  where k.namespace = p_namespace and k.run_id = p_parent for update;
  if not found or r.swept = 'all' then return; end if;
  {{insert call_evidence}}
  from json_populate_record(null::call_evidence, p_news)
  on conflict do nothing;
  perform arrive(r, p_now, 'its child ' || p_child || ' ended');
end $$;

-- The run, its parent if that is told of its end, its live children if it is cancelled. False if
-- one of them is somebody else's just now and is not to be waited for.
create or replace function lock_family(
  p_namespace text, p_run_id text, p_parent text, p_cancels boolean, p_wait boolean
) returns boolean language plpgsql as $$
declare
  v_ids text[] := array[p_run_id, p_parent];
  v_locked bigint;
begin
  if p_cancels then
    v_ids := v_ids || array(
      select k.run_id from runs k
      where k.namespace = p_namespace and k.parent_run_id = p_run_id and k.ended_at is null);
  end if;
  if p_wait then
    perform 1 from runs r where r.namespace = p_namespace and r.run_id = any (v_ids)
    order by r.id for update;
    return true;
  end if;
  select count(*) into v_locked from (
    select 1 from runs r where r.namespace = p_namespace and r.run_id = any (v_ids)
    order by r.id for update skip locked) l;
  return v_locked = (
    select count(*) from runs r where r.namespace = p_namespace and r.run_id = any (v_ids));
end $$;

create or replace function is_end(p_state text) returns boolean language sql immutable as $$
  select coalesce(p_state in ('completed', 'failed', 'cancelled'), false)
$$;

-- `p_family`: the change ends a run that has a parent, or cancels one that may have children.
-- 'other_parent': the run ends and its parent is another one than was said, or was not said.
-- A commit that names a parent for a run that has none is refused, and tells nobody of the end.
create or replace function commit_one(
  p_namespace text, p_run_id text, p_commit_id text, p_worker_id text, p_fence bigint,
  p_arrivals_seen bigint, p_change json, p_records record_row[], p_attempts attempt_row[],
  p_events event_row[], p_checkpoints checkpoint_row[], p_rest json, p_ordinary boolean,
  p_wait boolean, p_family boolean, p_parent text, p_news json
) returns text
language plpgsql security definer set search_path from current
set plan_cache_mode = force_generic_plan as $$
declare
  c run_change;
  v_fence bigint;
  v_commit_id text;
  v_worker_id text;
  v_state text;
  v_arrivals bigint;
  v_parent text;
  v_attempt text;
  v_answer text;
  v_now double precision;
begin
  if current_setting('synchronous_commit') = 'off' then perform keep_durable(); end if;
  -- A holder that was cut off is waited for so long; then the same commit comes again.
  if p_wait then perform set_config('lock_timeout', '2000', true); end if;
  -- What nearly every commit is: lock and fence, or lock, fence and commit id, in one statement.
  if p_ordinary and p_wait then
    perform 1 from runs k
    where k.namespace = p_namespace and k.run_id = p_run_id
      and judge(k.fence, k.commit_id, k.worker_id, k.state, k.arrivals,
        p_fence, p_commit_id, p_worker_id, p_arrivals_seen) = 'write'
    for share;
    if found then
      perform put_rows(p_records, p_attempts, p_events, p_checkpoints, p_rest, null);
      return 'done';
    end if;
  elsif p_change is null and p_wait then
    update runs k set commit_id = p_commit_id, updated_at = now_ms()
    where k.namespace = p_namespace and k.run_id = p_run_id
      and judge(k.fence, k.commit_id, k.worker_id, k.state, k.arrivals,
        p_fence, p_commit_id, p_worker_id, p_arrivals_seen) = 'write';
    if found then
      perform put_rows(p_records, p_attempts, p_events, p_checkpoints, p_rest, null);
      return 'done';
    end if;
  end if;
  if p_change is not null then c := json_populate_record(null::run_change, p_change); end if;
  if p_family
    and not lock_family(p_namespace, p_run_id, p_parent, c.state = 'cancelled', p_wait)
  then
    return 'locked';
  end if;
  if p_wait then
    select fence, commit_id, worker_id, state, arrivals, parent_run_id, parent_attempt_id
    into v_fence, v_commit_id, v_worker_id, v_state, v_arrivals, v_parent, v_attempt
    from runs where namespace = p_namespace and run_id = p_run_id for update;
  else
    select fence, commit_id, worker_id, state, arrivals, parent_run_id, parent_attempt_id
    into v_fence, v_commit_id, v_worker_id, v_state, v_arrivals, v_parent, v_attempt
    from runs where namespace = p_namespace and run_id = p_run_id for update skip locked;
    if not found and exists (
      select 1 from runs where namespace = p_namespace and run_id = p_run_id)
    then
      return 'locked';
    end if;
  end if;
  v_answer := judge(v_fence, v_commit_id, v_worker_id, v_state, v_arrivals,
    p_fence, p_commit_id, p_worker_id, p_arrivals_seen);
  if v_answer <> 'write' then return v_answer; end if;
  if v_parent is null or v_attempt is null then
    v_parent := null;
    v_attempt := null;
  end if;
  if is_end(c.state)
    and (v_parent is distinct from p_parent or v_attempt is distinct from p_news ->> 'attempt_id')
  then
    return 'other_parent';
  end if;

  v_now := now_ms();
  perform put_rows(p_records, p_attempts, p_events, p_checkpoints, p_rest, null);
  if p_ordinary then return 'done'; end if;
  if p_change is null then
    update runs k set commit_id = p_commit_id, updated_at = v_now
    where k.namespace = p_namespace and k.run_id = p_run_id;
    return 'done';
  end if;
  perform change_run(p_namespace, p_run_id, p_commit_id, c, v_now);
  if p_family then
    if p_parent is not null then
      perform tell_parent(p_namespace, p_parent, p_run_id, p_news, v_now);
    end if;
    if c.state = 'cancelled' then perform cancel_children(p_namespace, p_run_id, v_now); end if;
  end if;
  return 'done';
end $$;

-- Commits of different runs, none of which concerns a parent or a child; `i` counts them from one.
-- Answers in their order.
create or replace function commit_batch(
  p_heads commit_head[], p_records record_row[], p_attempts attempt_row[], p_events event_row[],
  p_checkpoints checkpoint_row[], p_rest json
) returns text[]
language plpgsql security definer set search_path from current
set plan_cache_mode = force_generic_plan as $$
declare
  v_answers text[] := array_fill(null::text, array[cardinality(p_heads)]);
  v_all boolean := true;
  v_keys text[];
  v_touched commit_head[];
  v_changed commit_head[];
  f record;
  h commit_head;
  v_answer text;
  v_now double precision := now_ms();
begin
  if current_setting('synchronous_commit') = 'off' then perform keep_durable(); end if;
  for f in
    with written as (
      select a.i, r.fence, r.commit_id, r.worker_id, r.state, r.arrivals, r.parent_attempt_id
      from unnest(p_heads) a
      join runs r on r.namespace = a.namespace and r.run_id = a.run_id
      where not a.ordinary
      order by r.id
      for update of r skip locked
    ), read as (
      select a.i, r.fence, r.commit_id, r.worker_id, r.state, r.arrivals, r.parent_attempt_id
      from unnest(p_heads) a
      join runs r on r.namespace = a.namespace and r.run_id = a.run_id
      where a.ordinary
      order by r.id
      for share of r skip locked
    )
    select * from written union all select * from read
  loop
    h := p_heads[f.i];
    v_answer := judge(f.fence, f.commit_id, f.worker_id, f.state, f.arrivals,
      h.fence, h.commit_id, h.worker_id, h.arrivals_seen);
    if v_answer = 'write' and f.parent_attempt_id is not null and is_end(h.change ->> 'state') then
      v_answer := 'other_parent';
    end if;
    v_answers[f.i] := v_answer;
    if v_answer = 'write' then
      v_answers[f.i] := 'done';
      v_keys := v_keys || (h.namespace || '/' || h.run_id);
      if h.change is not null then
        v_changed := v_changed || h;
      elsif not h.ordinary then
        v_touched := v_touched || h;
      end if;
    else
      v_all := false;
    end if;
  end loop;
  foreach h in array p_heads loop
    if v_answers[h.i] is null then
      v_all := false;
      v_answers[h.i] := case when exists (
        select 1 from runs r where r.namespace = h.namespace and r.run_id = h.run_id)
        then 'locked' else 'stale_fence' end;
    end if;
  end loop;
  if v_keys is null then return v_answers; end if;
  if v_all then v_keys := null; end if;

  perform put_rows(p_records, p_attempts, p_events, p_checkpoints, p_rest, v_keys);
  if v_touched is not null then
    update runs r set commit_id = t.commit_id, updated_at = v_now
    from unnest(v_touched) t
    where r.namespace = t.namespace and r.run_id = t.run_id;
  end if;
  if v_changed is not null then
    foreach h in array v_changed loop
      perform change_run(h.namespace, h.run_id, h.commit_id,
        json_populate_record(null::run_change, h.change), v_now);
    end loop;
  end if;
  return v_answers;
end $$;

-- The second half of an amendment; the first has locked the row (03_read.sql) and decided on it.
create or replace function amend_write(
  p_namespace text, p_run_id text, p_change json, p_records record_row[],
  p_attempts attempt_row[], p_events event_row[], p_checkpoints checkpoint_row[], p_rest json,
  p_parent text, p_news json
) returns void
language plpgsql security definer set search_path from current as $$
declare
  c run_change := json_populate_record(null::run_change, p_change);
  v_now double precision := now_ms();
  -- A run that was cancelled before has told its children then.
  v_cancels boolean := c.state = 'cancelled' and exists (
    select 1 from runs r
    where r.namespace = p_namespace and r.run_id = p_run_id and r.ended_at is null);
begin
  perform keep_durable();
  perform lock_family(p_namespace, p_run_id, p_parent, v_cancels, true);
  perform put_rows(p_records, p_attempts, p_events, p_checkpoints, p_rest, null);
  perform change_run(p_namespace, p_run_id, null, c, v_now);
  if p_parent is not null then
    perform tell_parent(p_namespace, p_parent, p_run_id, p_news, v_now);
  end if;
  if v_cancels then perform cancel_children(p_namespace, p_run_id, v_now); end if;
end $$;
