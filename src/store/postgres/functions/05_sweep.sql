-- What comes due: runs to wake, rows to take. Every function does a bounded amount of work and can
-- be called by many at once.

create or replace function wake_due(
  p_count bigint, out woken bigint, out lag_ms double precision, out next_at double precision
) language plpgsql security definer set search_path from current as $$
declare
  r runs;
  v_now double precision := now_ms();
begin
  woken := 0;
  lag_ms := 0;
  for r in
    select * from runs k where k.wake_at <= v_now
    order by k.wake_at limit p_count for update skip locked
  loop
    if woken = 0 then perform keep_durable(); end if;
    perform arrive(r, v_now, 'its time has come');
    woken := woken + 1;
    lag_ms := greatest(lag_ms, v_now - r.wake_at);
  end loop;
  select min(k.wake_at) into next_at from runs k where k.wake_at is not null;
end $$;

-- Some rows of an ended run: those of the classes that are due and have an end, with what belongs
-- to their attempts. A call of another visit may have the same key: what is left of it stays whole.
create or replace function take_calls(r runs, p_classes text[]) returns void language plpgsql as $$
declare
  v_gone text[];
begin
  -- What lies in a row that goes may be about a call that stays.
  {{first to own row}};
  with gone as (
    delete from tool_call_results t
    where t.namespace = r.namespace and t.workflow_id = r.run_id
      and t.replay_class = any (p_classes)
      and (t.replay_class = 'pure' or t.status not in ('pending', 'in_doubt'))
    returning t.tool_name || '/' || t.input_hash || '/' || t.occurrence as key)
  select array_agg(distinct g.key) into v_gone from gone g;
  v_gone := array(
    select unnest(v_gone) except
    select t.tool_name || '/' || t.input_hash || '/' || t.occurrence from tool_call_results t
    where t.namespace = r.namespace and t.workflow_id = r.run_id);
  delete from tool_call_attempts t
  where t.namespace = r.namespace and t.workflow_id = r.run_id
    and key_of_attempt(t.attempt_id) = any (v_gone);
  delete from call_evidence t
  where t.namespace = r.namespace and t.workflow_id = r.run_id
    and key_of_attempt(t.attempt_id) = any (v_gone);
end $$;

-- `generation#visit/key/attempt`; the key has slashes of its own.
create or replace function key_of_attempt(p_id text) returns text language sql immutable as $$
  select regexp_replace(substr(p_id, strpos(p_id, '/') + 1), '/[^/]*$', '')
$$;

-- Everything but the row, whose id stays taken (C8).
create or replace function take_all(r runs) returns void language plpgsql as $$
begin
  delete from tool_call_results t where t.namespace = r.namespace and t.workflow_id = r.run_id;
  delete from tool_call_attempts t where t.namespace = r.namespace and t.workflow_id = r.run_id;
  delete from call_evidence t where t.namespace = r.namespace and t.workflow_id = r.run_id;
  delete from checkpoints t where t.namespace = r.namespace and t.run_id = r.run_id;
  delete from inbox_items t where t.namespace = r.namespace and t.run_id = r.run_id;
  delete from decisions t where t.namespace = r.namespace and t.run_id = r.run_id;
  delete from signals t where t.namespace = r.namespace and t.run_id = r.run_id;
  delete from events t where t.namespace = r.namespace and t.run_id = r.run_id;
  update runs k
  set output_json = null, output_digest = null, error_json = null, waiting_for = null,
    stop = null, swept = 'all'
  where k.namespace = r.namespace and k.run_id = r.run_id;
end $$;

-- The rule is retention.ts; this checks again what a caller cannot be trusted with: that a run has
-- ended, for how long, and the floor of 14 days.
create or replace function retain(
  p_pure_ms double precision, p_keyed_ms double precision, p_unsafe_ms double precision,
  p_count bigint
) returns bigint
language plpgsql security definer set search_path from current as $$
declare
  r runs;
  v_now double precision := now_ms();
  v_age double precision;
  v_taken bigint := 0;
begin
  if not p_unsafe_ms >= 14 * 24 * 3600000.0 or p_unsafe_ms = 'NaN' or p_keyed_ms > p_unsafe_ms
    or p_pure_ms > p_keyed_ms or p_pure_ms < 0
  then
    raise exception using errcode = 'CF003', message = 'retention below the floor';
  end if;
  perform keep_durable(), set_config('counterfoil.retaining', 'on', true);
  for r in
    select k.* from (
      values ('completed', '', p_pure_ms), ('completed', 'pure', p_keyed_ms),
        ('completed', 'keyed', p_unsafe_ms), ('cancelled', '', p_pure_ms),
        ('cancelled', 'pure', p_keyed_ms), ('cancelled', 'keyed', p_unsafe_ms),
        ('failed', '', p_unsafe_ms)) s (state, swept, age_ms)
    cross join lateral (
      select * from runs q
      where q.state = s.state and coalesce(q.swept, '') = s.swept
        and q.ended_at is not null and q.swept is distinct from 'all'
        and q.ended_at <= v_now - s.age_ms
        and not exists (
          select 1 from runs p
          where p.namespace = q.namespace and p.run_id = q.parent_run_id
            and (p.ended_at is null or (p.state = 'failed' and p.swept is null)))
      order by q.ended_at limit p_count for update skip locked) k
    order by k.ended_at limit p_count
  loop
    v_age := v_now - r.ended_at;
    v_taken := v_taken + 1;
    if v_age >= p_unsafe_ms then
      perform take_all(r);
    elsif v_age >= p_keyed_ms then
      perform take_calls(r, array['pure', 'idempotent_with_key']);
      update runs k set swept = 'keyed' where k.namespace = r.namespace and k.run_id = r.run_id;
    else
      perform take_calls(r, array['pure']);
      update runs k set swept = 'pure' where k.namespace = r.namespace and k.run_id = r.run_id;
    end if;
  end loop;
  delete from workers w where w.worker_id in (
    select o.worker_id from workers o
    where coalesce(o.died_at, o.stopped_at) < v_now - p_unsafe_ms
      and not exists (select 1 from tool_call_attempts t where t.worker_id = o.worker_id)
      and not exists (
        select 1 from tool_call_results t
        where t.worker_id = o.worker_id and t.dispatched_at is not null and t.attempt = 1)
      and not exists (
        select 1 from runs k where k.state = 'running' and k.worker_id = o.worker_id)
    limit greatest(p_count, 0) for update skip locked);
  delete from shares s where (s.namespace, s.tool_name, s.input_hash) in (
    select o.namespace, o.tool_name, o.input_hash from shares o
    where o.until <= v_now order by o.until limit 10 * greatest(p_count, 0)
    for update skip locked);
  return v_taken;
end $$;

-- `p_forged`: the MAC of a result that is not to be used.
-- The right to make a shared result ends with its maker: who is dead, has stopped or has lost its
-- lease keeps nobody waiting for the rest of the tool's time.
create or replace function take_share(
  p_namespace text, p_tool text, p_input_hash text, p_worker_id text, p_make_ms double precision,
  p_forged text
) returns json
language plpgsql security definer set search_path from current as $$
declare
  s shares;
  v_now double precision := now_ms();
begin
  insert into shares (namespace, tool_name, input_hash, maker, until)
  values (p_namespace, p_tool, p_input_hash, p_worker_id, v_now + p_make_ms)
  on conflict (namespace, tool_name, input_hash) do update
  set maker = excluded.maker, until = excluded.until, result_json = null, external_id = null,
    mac = null
  where shares.until <= v_now or shares.mac = p_forged
    or exists (
      select 1 from workers w
      where w.worker_id = shares.maker
        and (w.died_at is not null or w.stopped_at is not null or w.lease_until <= v_now));
  if found then return json_build_object('do', 'make'); end if;
  select * into s from shares k
  where k.namespace = p_namespace and k.tool_name = p_tool and k.input_hash = p_input_hash;
  if not found or s.maker is not null then return json_build_object('do', 'wait'); end if;
  return json_build_object('do', 'use', 'resultJson', s.result_json,
    'externalId', s.external_id, 'until', s.until, 'mac', s.mac);
end $$;

-- `p_mac` null gives the right to make it back.
create or replace function put_share(
  p_namespace text, p_tool text, p_input_hash text, p_worker_id text, p_result_json text,
  p_external_id text, p_until double precision, p_mac text
) returns void
language plpgsql security definer set search_path from current as $$
declare
  v_now double precision := now_ms();
begin
  update shares
  set maker = case when p_mac is null then maker end,
    until = case when p_mac is null then v_now else p_until end,
    result_json = p_result_json, external_id = p_external_id, mac = p_mac
  where namespace = p_namespace and tool_name = p_tool and input_hash = p_input_hash
    and maker = p_worker_id and until > v_now;
end $$;
