-- Where this store answered otherwise than the others (test/differential).

-- A run that is running and has no holder was never claimed: nobody is gone from it.
create or replace function claim_one(
  p_worker_id text, p_namespace text, p_run_id text, p_graphs text[], p_claim_id text
) returns setof runs language plpgsql as $$
declare
  r runs;
  v_cause text;
  v_now double precision := now_ms();
begin
  for r in
    select * from runs k
    where k.run_id = p_run_id and k.namespace = p_namespace
      and k.graph || '@' || k.version = any (p_graphs)
      and (k.state = 'pending' or (k.state = 'running' and k.worker_id is not null))
    for update skip locked
  loop
    v_cause := case r.state when 'pending' then 'pending' else lapse(r.worker_id, v_now) end;
    if v_cause is not null then
      return next take_run(r, p_worker_id, p_claim_id, v_cause, v_now);
    end if;
  end loop;
end $$;

-- A worker whose own lease has ended takes its runs once in a claim, and not again in its next
-- round.
create or replace function claim_group(
  p_worker_id text, p_claim_id text, p_namespace text, p_graph text, p_versions text[],
  p_lapsed text[], p_count bigint, p_now double precision
) returns setof runs language plpgsql as $$
declare
  f record;
begin
  for f in
    select c.run, c.holder from (
      select k.run, k.id, null as holder
      from unnest(p_versions) v (version)
      cross join lateral (
        select r as run, r.id from runs r
        where r.state = 'pending' and r.graph = p_graph and r.version = v.version
          and r.namespace = p_namespace
        order by r.id limit p_count for update skip locked) k
      union all
      select k.run, k.id, l.worker_id
      from unnest(p_lapsed) l (worker_id)
      cross join lateral (
        select r as run, r.id from runs r
        where r.state = 'running' and r.worker_id = l.worker_id and r.namespace = p_namespace
          and r.graph = p_graph and r.version = any (p_versions)
          and r.claim_id is distinct from p_claim_id
        order by r.id limit p_count for update skip locked) k
    ) c
    order by c.id limit p_count
  loop
    return next take_run(f.run, p_worker_id, p_claim_id,
      case when f.holder is null then 'pending' else lapse(f.holder, p_now) end, p_now);
  end loop;
end $$;

-- To go around takes a step of its own: without it a claim of one run, after one of the last
-- namespace, found nothing in the others, however often it was made.
create or replace function namespaces_waiting(
  p_graph text, p_version text, p_from text, p_count bigint
) returns setof text language plpgsql stable as $$
declare
  v_at text := p_from;
  v_around boolean := false;
begin
  if exists (
    select 1 from runs where state = 'pending' and graph = p_graph and version = p_version
      and namespace = p_from)
  then
    return next p_from;
  end if;
  for i in 1 .. p_count + 1 loop
    select namespace into v_at from runs
    where state = 'pending' and graph = p_graph and version = p_version and namespace > v_at
    order by namespace limit 1;
    if not found then
      exit when v_around;
      v_around := true;
      v_at := '';
    else
      exit when v_around and v_at >= p_from;
      return next v_at;
    end if;
  end loop;
end $$;

-- A commit that names a parent for a run that has none is refused, and tells nobody of the end.
create or replace function commit_one(
  p_namespace text, p_run_id text, p_commit_id text, p_worker_id text, p_fence bigint,
  p_arrivals_seen bigint, p_change json, p_records record_row[], p_attempts attempt_row[],
  p_events event_row[], p_checkpoints checkpoint_row[], p_rest json, p_wait boolean,
  p_family boolean, p_parent text, p_news json
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
  -- What nearly every commit is: lock, fence and commit id in one statement.
  if p_change is null and p_wait then
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

-- `letGo` of adoption.ts, for every run that is held: its holder knows what is missing here, and
-- what it writes next would stand on that (I12).
create or replace function adopt(p_by text, p_reason text) returns void
language plpgsql security definer set search_path from current as $$
declare
  r runs;
  v_now double precision := now_ms();
  v_new text := incarnation();
begin
  perform keep_durable();
  insert into adoptions (at, adopted_by, reason, old_incarnation, new_incarnation)
  values (v_now, p_by, p_reason,
    coalesce((select value from meta where name = 'incarnation'), ''), v_new);
  update meta set value = v_new where name = 'incarnation';
  for r in select * from runs k where k.state = 'running' order by k.id for update loop
    update runs k
    set state = 'pending', worker_id = null, fence = k.fence + 1, updated_at = v_now
    where k.namespace = r.namespace and k.run_id = r.run_id;
    perform add_event(r, v_now, 'state', json_build_object('from', 'running', 'to', 'pending',
      'cause', 'the store was adopted', 'worker', r.worker_id));
  end loop;
  perform notify_change('adopted');
end $$;
