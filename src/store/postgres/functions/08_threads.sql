-- The threads of foreign runtimes, for adapters.
--
--   thread_steps    the steps of a thread; one that is not whole is a change to its parent, so no
--                   parent goes before it
--   thread_writes   what the tasks of a step have written before it was over
--
-- Whoever appends a change to a step, and whoever takes steps away, locks the thread first. Rows of
-- `thread_writes` are locked in the order of their keys.

-- What is read after this must be what others had committed before they gave the lock back; a
-- transaction that keeps to its first look would not see it.
create or replace function lock_thread(p_namespace text, p_thread_id text) returns void
language plpgsql as $$
begin
  if current_setting('transaction_isolation') in ('repeatable read', 'serializable') then
    raise exception using errcode = 'CF004',
      message = 'threads need default_transaction_isolation = read committed';
  end if;
  perform pg_advisory_xact_lock(hashtextextended(
    json_build_array('counterfoil', current_schema(), p_namespace, p_thread_id)::text, 0));
end $$;

-- Its parent is there, and does not stand on this step itself.
create or replace function may_stand_on(s thread_steps) returns boolean language plpgsql as $$
declare
  v_at thread_steps;
  v_id text := s.parent_id;
begin
  loop
    select k.step_id, k.parent_id, k.whole into v_at.step_id, v_at.parent_id, v_at.whole
    from thread_steps k
    where k.namespace = s.namespace and k.thread_id = s.thread_id and k.space = s.space
      and k.step_id = v_id;
    if not found or v_at.step_id = s.step_id then return false; end if;
    -- Only one that is there already can be stood on.
    exit when v_at.whole or not exists (
      select 1 from thread_steps k
      where k.namespace = s.namespace and k.thread_id = s.thread_id and k.space = s.space
        and k.step_id = s.step_id);
    v_id := v_at.parent_id;
  end loop;
  return true;
end $$;

create or replace function write_step(s thread_steps) returns void language plpgsql as $$
begin
  insert into thread_steps select s.*
  on conflict (namespace, thread_id, space, step_id) do update
  set parent_id = excluded.parent_id, whole = excluded.whole, created_at = excluded.created_at,
    note_json = excluded.note_json, body_json = excluded.body_json;
end $$;

create or replace function put_step(
  p_namespace text, p_thread_id text, p_space text, p_step_id text, p_parent_id text,
  p_whole boolean, p_created_at double precision, p_note_json text, p_body_json text
) returns boolean
language plpgsql security definer set search_path from current as $$
declare
  s thread_steps := row(p_namespace, p_thread_id, p_space, p_step_id, p_parent_id, p_whole,
    p_created_at, p_note_json, p_body_json);
begin
  perform keep_durable();
  if not p_whole then
    perform lock_thread(p_namespace, p_thread_id);
    if not may_stand_on(s) then return false; end if;
  end if;
  perform write_step(s);
  return true;
end $$;

create or replace function put_thread_writes(p_rows json, p_replace boolean) returns void
language plpgsql security definer set search_path from current as $$
begin
  perform keep_durable();
  if p_replace then
    insert into thread_writes
    select * from json_populate_recordset(null::thread_writes, p_rows) w
    order by w.namespace, w.thread_id, w.space, w.step_id, w.task_id, w.place
    on conflict (namespace, thread_id, space, step_id, task_id, place) do update
    set channel = excluded.channel, body_json = excluded.body_json;
  else
    insert into thread_writes
    select * from json_populate_recordset(null::thread_writes, p_rows) w
    order by w.namespace, w.thread_id, w.space, w.step_id, w.task_id, w.place
    on conflict do nothing;
  end if;
end $$;

-- `p_drop` null: all of them. `p_space` null: of all spaces.
create or replace function drop_steps(
  p_namespace text, p_thread_id text, p_space text, p_drop text[]
)
returns void language plpgsql as $$
begin
  perform 1 from thread_writes w
  where w.namespace = p_namespace and w.thread_id = p_thread_id
    and (p_space is null or w.space = p_space) and (p_drop is null or w.step_id = any (p_drop))
  order by w.space, w.step_id, w.task_id, w.place for update;
  delete from thread_writes w
  where w.namespace = p_namespace and w.thread_id = p_thread_id
    and (p_space is null or w.space = p_space) and (p_drop is null or w.step_id = any (p_drop));
  delete from thread_steps s
  where s.namespace = p_namespace and s.thread_id = p_thread_id
    and (p_space is null or s.space = p_space) and (p_drop is null or s.step_id = any (p_drop));
end $$;

create or replace function prune_steps(
  p_namespace text, p_thread_id text, p_space text, p_whole json, p_drop text[]
) returns boolean
language plpgsql security definer set search_path from current as $$
declare
  v_whole thread_steps[] := array(
    select w from json_populate_recordset(null::thread_steps, p_whole) w);
  v_free text[] := p_drop || array(select w.step_id from unnest(v_whole) w);
  s thread_steps;
begin
  perform keep_durable();
  perform lock_thread(p_namespace, p_thread_id);
  if exists (
    select 1 from unnest(v_whole) w where not exists (
      select 1 from thread_steps k
      where k.namespace = p_namespace and k.thread_id = p_thread_id and k.space = p_space
        and k.step_id = w.step_id))
  then
    return false;
  end if;
  if exists (
    select 1 from thread_steps k
    where k.namespace = p_namespace and k.thread_id = p_thread_id and k.space = p_space
      and not k.whole and k.parent_id = any (p_drop) and k.step_id <> all (v_free))
  then
    return false;
  end if;
  foreach s in array v_whole loop
    perform write_step(s);
  end loop;
  perform drop_steps(p_namespace, p_thread_id, p_space, p_drop);
  return true;
end $$;

create or replace function drop_thread(p_namespace text, p_thread_id text) returns void
language plpgsql security definer set search_path from current as $$
begin
  perform keep_durable();
  perform lock_thread(p_namespace, p_thread_id);
  perform drop_steps(p_namespace, p_thread_id, null, null);
end $$;

-- By jumping: a few seeks for a thread, however many steps it has. The longest idle first.
create or replace function idle_threads(p_namespace text, p_before double precision, p_count bigint)
returns setof text
language plpgsql stable security definer set search_path from current as $$
begin
  return query
  with recursive thread (id) as (
    (select s.thread_id from thread_steps s
      where s.namespace = p_namespace order by s.thread_id limit 1)
    union all
    select (
      select s.thread_id from thread_steps s
      where s.namespace = p_namespace and s.thread_id > t.id order by s.thread_id limit 1)
    from thread t where t.id is not null),
  idle as (
    select t.id, l.at from thread t
    cross join lateral (
      select max(s.created_at) as at from thread_steps s
      where s.namespace = p_namespace and s.thread_id = t.id) l
    where l.at < p_before)
  select i.id::text from idle i
  where not exists (
      select 1 from runs r where r.namespace = p_namespace and r.run_id = i.id
        and r.state = 'running' and lapse(r.worker_id, now_ms()) is null)
    and not exists (
      select 1 from inbox_items k
      where k.namespace = p_namespace and k.run_id = i.id and k.state = 'open')
    and not exists (
      select 1 from tool_call_results c where c.workflow_id = i.id and c.namespace = p_namespace
        and c.status in ('pending', 'in_doubt') and c.replay_class <> 'pure')
  order by i.at, i.id limit p_count;
end $$;

-- `p_seen`: by the id of a step, the sum of its body; null for no row. Under the thread's lock.
create or replace function is_as_seen(p_namespace text, p_thread_id text, p_space text, p_seen json)
returns boolean language plpgsql as $$
begin
  return not exists (
    select 1 from json_each_text(p_seen) e
    left join thread_steps k
      on k.namespace = p_namespace and k.thread_id = p_thread_id and k.space = p_space
      and k.step_id = e.key collate "C"
    where case when k.step_id is null then e.value is not null
      else e.value is distinct from encode(sha256(convert_to(k.body_json, 'UTF8')), 'hex') end);
end $$;

create or replace function put_seen_step(
  p_namespace text, p_thread_id text, p_space text, p_step_id text, p_parent_id text,
  p_whole boolean, p_created_at double precision, p_note_json text, p_body_json text, p_seen json
) returns boolean
language plpgsql security definer set search_path from current as $$
begin
  perform lock_thread(p_namespace, p_thread_id);
  return is_as_seen(p_namespace, p_thread_id, p_space, p_seen)
    and put_step(p_namespace, p_thread_id, p_space, p_step_id, p_parent_id, p_whole,
      p_created_at, p_note_json, p_body_json);
end $$;

create or replace function put_seen_writes(
  p_namespace text, p_thread_id text, p_space text, p_rows json, p_replace boolean, p_seen json
) returns boolean
language plpgsql security definer set search_path from current as $$
begin
  perform lock_thread(p_namespace, p_thread_id);
  if not is_as_seen(p_namespace, p_thread_id, p_space, p_seen) then return false; end if;
  perform put_thread_writes(p_rows, p_replace);
  return true;
end $$;

create or replace function prune_seen_steps(
  p_namespace text, p_thread_id text, p_space text, p_whole json, p_drop text[], p_seen json
) returns boolean
language plpgsql security definer set search_path from current as $$
begin
  perform lock_thread(p_namespace, p_thread_id);
  return is_as_seen(p_namespace, p_thread_id, p_space, p_seen)
    and prune_steps(p_namespace, p_thread_id, p_space, p_whole, p_drop);
end $$;

-- `p_head`: the id of the last step; null for none. Under the thread's lock.
create or replace function put_next_step(
  p_namespace text, p_thread_id text, p_space text, p_step_id text, p_parent_id text,
  p_whole boolean, p_created_at double precision, p_note_json text, p_body_json text, p_seen json,
  p_head text
) returns boolean
language plpgsql security definer set search_path from current as $$
declare
  v_head text;
begin
  perform lock_thread(p_namespace, p_thread_id);
  select max(s.step_id) into v_head from thread_steps s
  where s.namespace = p_namespace and s.thread_id = p_thread_id and s.space = p_space
    and substr(s.step_id, 1, 1) <> '!';
  return v_head is not distinct from p_head
    and is_as_seen(p_namespace, p_thread_id, p_space, p_seen)
    and put_step(p_namespace, p_thread_id, p_space, p_step_id, p_parent_id, p_whole,
      p_created_at, p_note_json, p_body_json);
end $$;
