-- Whoever prunes may also say which rows he has seen of the steps that go, and drops no others.

-- `p_overs`: by the id of a step that becomes whole or goes.
create or replace function prune_steps(
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
      and k.step_id = any (p_drop) and not is_over(p_overs ->> k.step_id, k.body_json))
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
