-- A thread is one line: whoever puts the next step of a space says which one was the last, and
-- writes nothing if it is another now. Ids of steps that were set aside begin with '!', and are
-- never the last. What was called without it stays as it was.

-- `p_head`: the id of the last step; null for none. Under the thread's lock.
create function put_next_step(
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
