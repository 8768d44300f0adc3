-- Who holds which run, and until when, by the clock of this server.
--
-- D2 a claim raises the fence in the transaction that changes the holder, so that from then on
-- nothing of the former holder lands (I2). I9 a death on record ends a lease at once.
-- I12 no claim on a database that was restored or failed over until a person has adopted it.

-- System, timeline, database and table: a failover changes the second, a copy one of the others.
create or replace function incarnation() returns text
language plpgsql security definer set search_path from current as $$
declare
  v_system text := 'unknown';
  v_timeline text := 'unknown';
begin
  begin
    select system_identifier::text into v_system from pg_catalog.pg_control_system();
  exception when insufficient_privilege or undefined_function then
    null;
  end;
  begin
    v_timeline := left(pg_walfile_name(pg_current_wal_lsn()), 8);
  exception when insufficient_privilege or undefined_function then
    null;
  end;
  return v_system || '/' || v_timeline
    || '/' || (select oid from pg_catalog.pg_database where datname = current_database())
    || '/' || 'runs'::regclass::oid;
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

-- The check value of a key that signs from now on. One that is there stays as it is.
create or replace function add_key_check(p_id text, p_check text) returns void
language plpgsql security definer set search_path from current as $$
begin
  perform keep_durable();
  insert into meta (name, value) values ('key_check:' || p_id, p_check) on conflict do nothing;
end $$;

create or replace function add_graph(p_row json) returns void
language plpgsql security definer set search_path from current as $$
begin
  perform keep_durable();
  insert into graphs select * from json_populate_record(null::graphs, p_row)
  on conflict do nothing;
end $$;

-- A name that is vouched for and another boot: whoever was there before is dead.
create or replace function register_worker(p_row json, p_lease_ms double precision) returns boolean
language plpgsql security definer set search_path from current as $$
declare
  w workers := json_populate_record(null::workers, p_row);
  v_now double precision := now_ms();
begin
  perform keep_durable();
  if w.host like 'machine:%' and w.boot_id <> 'unknown' then
    update workers k
    set died_at = v_now, death_proof = 'the machine has been started again since'
    where k.host = w.host and k.boot_id <> w.boot_id and k.boot_id <> 'unknown'
      and k.died_at is null;
  end if;
  insert into workers (
    worker_id, pid, host, boot_id, socket_path, socket_inode, started_at, lease_until)
  values (
    w.worker_id, w.pid, w.host, w.boot_id, w.socket_path, w.socket_inode, w.started_at,
    v_now + p_lease_ms)
  on conflict (worker_id) do update set lease_until = excluded.lease_until
  where workers.stopped_at is null and workers.died_at is null;
  return found;
end $$;

create or replace function renew_worker(
  p_worker_id text, p_lease_ms double precision, out renewed boolean, out at double precision
) language plpgsql security definer set search_path from current as $$
begin
  at := now_ms();
  update workers set lease_until = at + p_lease_ms
  where worker_id = p_worker_id and stopped_at is null and died_at is null;
  renewed := found;
end $$;

create or replace function stop_worker(p_worker_id text, p_ended boolean) returns void
language plpgsql security definer set search_path from current as $$
begin
  perform keep_durable();
  update workers
  set stopped_at = now_ms(), socket_path = case when p_ended then null else socket_path end
  where worker_id = p_worker_id and stopped_at is null;
  if found then perform notify_change('worker'); end if;
end $$;

create or replace function declare_dead(p_worker_id text, p_proof text) returns void
language plpgsql security definer set search_path from current as $$
begin
  perform keep_durable();
  update workers set died_at = now_ms(), death_proof = p_proof
  where worker_id = p_worker_id and died_at is null;
  if found then perform notify_change('worker'); end if;
end $$;

-- Why a holder holds no longer, or null.
create or replace function lapse(p_worker_id text, p_now double precision) returns text
language plpgsql stable as $$
declare
  w workers;
begin
  select * into w from workers where worker_id = p_worker_id;
  if not found then return 'unknown'; end if;
  if w.died_at is not null then return 'dead'; end if;
  if w.stopped_at is not null then return 'stopped'; end if;
  return case when w.lease_until <= p_now then 'expired' end;
end $$;

-- One look per worker that holds runs, however many runs and workers there ever were.
create or replace function lapsed_workers(p_now double precision) returns setof text
language plpgsql stable as $$
declare
  v_worker text := '';
begin
  loop
    select worker_id into v_worker from runs
    where state = 'running' and worker_id > v_worker order by worker_id limit 1;
    exit when not found;
    if lapse(v_worker, p_now) is not null then return next v_worker; end if;
  end loop;
end $$;

-- Namespaces with runs of a graph that wait, from one of them on, and around.
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

create or replace function take_run(
  r runs, p_worker_id text, p_claim_id text, p_cause text, p_now double precision
) returns runs language plpgsql as $$
declare
  v_taken runs;
begin
  update runs k
  set state = 'running', waiting_for = null, wake_at = null, fence = k.fence + 1,
    worker_id = p_worker_id, claim_id = p_claim_id, claims = k.claims + 1, updated_at = p_now
  where k.namespace = r.namespace and k.run_id = r.run_id
  returning * into v_taken;
  perform add_event(r, p_now, case p_cause when 'pending' then 'claimed' else 'taken_over' end,
    json_build_object('worker', p_worker_id, 'from', r.worker_id, 'cause', p_cause,
      'fence', v_taken.fence));
  return v_taken;
end $$;

-- One run by its id.
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

-- Runs of one graph in one namespace are a group (fair.ts): those with something to claim, each as
-- {namespace, graph}, beginning after the one that was served last.
create or replace function groups_waiting(
  p_namespace text, p_names text[], p_versions text[], p_lapsed text[], p_count bigint,
  p_after text[]
) returns text[][] language plpgsql stable as $$
begin
  return array(
    select array[g.namespace, g.graph] from (
      select n.namespace, a.name as graph
      from unnest(p_names, p_versions) a (name, version)
      cross join lateral (
        select p_namespace as namespace where p_namespace is not null
        union all
        select w from namespaces_waiting(a.name, a.version, p_after[1], p_count) w
        where p_namespace is null) n
      union
      select k.namespace, k.graph
      from unnest(p_lapsed) l (worker_id)
      cross join lateral (
        select r.namespace, r.graph, r.version from runs r
        where r.state = 'running' and r.worker_id = l.worker_id
          and (p_namespace is null or r.namespace = p_namespace)
        order by r.id limit 10 * p_count) k
      where (k.graph, k.version) in (
        select a.name, a.version from unnest(p_names, p_versions) a (name, version))
    ) g
    order by (g.namespace, g.graph) <= (p_after[1], p_after[2]), g.namespace, g.graph);
end $$;

-- The oldest of one group that wait or whose holder is gone. Rows of each version and of each such
-- holder are locked up to the number asked for; what is not taken is free again in a moment.
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

-- A fair share of each group.
create or replace function claim_some(
  p_worker_id text, p_namespace text, p_names text[], p_versions text[], p_count bigint,
  p_claim_id text, p_after text[]
) returns setof runs language plpgsql as $$
declare
  r runs;
  v_now double precision := now_ms();
  v_lapsed text[] := array(select lapsed_workers(v_now));
  v_groups text[][] := groups_waiting(
    p_namespace, p_names, p_versions, v_lapsed, p_count, p_after);
  v_full text[][];
  v_group text[];
  v_left bigint := p_count;
  v_share bigint;
  v_got bigint;
begin
  while v_left > 0 and cardinality(v_groups) > 0 loop
    v_share := greatest(1, v_left / array_length(v_groups, 1));
    v_full := '{}';
    foreach v_group slice 1 in array v_groups loop
      exit when v_left <= 0;
      v_got := 0;
      for r in
        select * from claim_group(p_worker_id, p_claim_id, v_group[1], v_group[2],
          array(select a.version from unnest(p_names, p_versions) a (name, version)
            where a.name = v_group[2]),
          v_lapsed, least(v_share, v_left), v_now)
      loop
        return next r;
        v_got := v_got + 1;
      end loop;
      v_left := v_left - v_got;
      if v_got = v_share then v_full := v_full || array[v_group]; end if;
    end loop;
    v_groups := v_full;
  end loop;
end $$;

-- `p_lost`: claims of this worker whose answer never came; what they took and nobody has written to
-- since is its own already.
create or replace function claim_runs(
  p_worker_id text, p_namespace text, p_names text[], p_versions text[], p_count bigint,
  p_run_id text, p_claim_id text, p_lost text[], p_after text[]
) returns setof runs
language plpgsql security definer set search_path from current
set plan_cache_mode = force_generic_plan as $$
declare
  r runs;
  v_left bigint := greatest(p_count, 0);
  v_graphs text[] := array(
    select name || '@' || version from unnest(p_names, p_versions) a (name, version));
begin
  perform keep_durable();
  if incarnation() is distinct from (select value from meta where name = 'incarnation') then
    raise exception using errcode = 'CF001', message = 'the database has moved';
  end if;
  if coalesce(lapse(p_worker_id, now_ms()), '') not in ('', 'expired') then
    raise exception using errcode = 'CF002', message = 'the worker is dead';
  end if;
  for r in
    update runs u set claim_id = p_claim_id
    where cardinality(p_lost) > 0 and (u.namespace, u.run_id) in (
      select k.namespace, k.run_id from runs k
      where k.state = 'running' and k.worker_id = p_worker_id and k.claim_id = any (p_lost)
        and (p_run_id is null or k.run_id = p_run_id)
        and (p_namespace is null or k.namespace = p_namespace)
      order by k.id limit v_left
      for update skip locked)
    returning *
  loop
    return next r;
    v_left := v_left - 1;
  end loop;
  if v_left <= 0 then return; end if;
  if p_run_id is not null then
    return query select * from claim_one(
      p_worker_id, p_namespace, p_run_id, v_graphs, p_claim_id);
    return;
  end if;
  return query select * from claim_some(
    p_worker_id, p_namespace, p_names, p_versions, v_left, p_claim_id, p_after);
end $$;
