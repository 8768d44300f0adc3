-- Whoever writes to a thread may say which rows of it he has seen, and writes nothing if they are
-- others now. What was called without it stays as it was, also for workers of an earlier version.

-- `p_seen`: by the id of a step, the sum of its body; null for no row. Under the thread's lock.
create function is_as_seen(p_namespace text, p_thread_id text, p_space text, p_seen json)
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

create function put_seen_step(
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

create function put_seen_writes(
  p_namespace text, p_thread_id text, p_space text, p_rows json, p_replace boolean, p_seen json
) returns boolean
language plpgsql security definer set search_path from current as $$
begin
  perform lock_thread(p_namespace, p_thread_id);
  if not is_as_seen(p_namespace, p_thread_id, p_space, p_seen) then return false; end if;
  perform put_thread_writes(p_rows, p_replace);
  return true;
end $$;

create function prune_seen_steps(
  p_namespace text, p_thread_id text, p_space text, p_whole json, p_drop text[], p_seen json
) returns boolean
language plpgsql security definer set search_path from current as $$
begin
  perform lock_thread(p_namespace, p_thread_id);
  return is_as_seen(p_namespace, p_thread_id, p_space, p_seen)
    and prune_steps(p_namespace, p_thread_id, p_space, p_whole, p_drop);
end $$;
