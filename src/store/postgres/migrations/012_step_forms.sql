-- Whoever puts a step may say which row he has seen in its place, and nobody writes over another.
-- Said by `p_over`: the sum of its body; empty for no row; null if it is not looked at.

create function is_over(p_over text, p_body text) returns boolean
language sql immutable as $$
  select p_over is null or case when p_over = '' then p_body is null
    else p_body is not null and encode(sha256(convert_to(p_body, 'UTF8')), 'hex') = p_over end
$$;

-- What was called without it means the same as before.
drop function put_step(text, text, text, text, text, boolean, double precision, text, text);

create function put_step(
  p_namespace text, p_thread_id text, p_space text, p_step_id text, p_parent_id text,
  p_whole boolean, p_created_at double precision, p_note_json text, p_body_json text,
  p_over text default null
) returns boolean
language plpgsql security definer set search_path from current as $$
declare
  s thread_steps := row(p_namespace, p_thread_id, p_space, p_step_id, p_parent_id, p_whole,
    p_created_at, p_note_json, p_body_json);
begin
  perform keep_durable();
  if not p_whole or p_over is not null then
    perform lock_thread(p_namespace, p_thread_id);
  end if;
  if p_over is not null and not is_over(p_over, (
    select k.body_json from thread_steps k
    where k.namespace = p_namespace and k.thread_id = p_thread_id and k.space = p_space
      and k.step_id = p_step_id))
  then
    return false;
  end if;
  if not p_whole and not may_stand_on(s) then return false; end if;
  perform write_step(s);
  return true;
end $$;

drop function prune_steps(text, text, text, json, text[]);

-- `p_overs`: by the id of a step that becomes whole.
create function prune_steps(
  p_namespace text, p_thread_id text, p_space text, p_whole json, p_drop text[],
  p_overs json default '{}'
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
        and k.step_id = w.step_id and is_over(p_overs ->> w.step_id, k.body_json)))
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
