-- Runs that are started together are one transaction, and results of 2 KB do not thin the ledger.

-- `p_news`: a list of what `start_run` takes. Answers in its order, null for a run that was made.
-- Ids are taken in their own order, or two who start the same runs might wait for each other.
create function start_runs(p_news json) returns json
language plpgsql security definer set search_path from current as $$
declare
  v_answers json[] := array_fill(null::json, array[json_array_length(p_news)]);
  n record;
begin
  for n in
    select e.value, e.nth from json_array_elements(p_news) with ordinality e (value, nth)
    order by e.value -> 'run' ->> 'namespace' collate "C",
      e.value -> 'run' ->> 'run_id' collate "C", e.nth
  loop
    v_answers[n.nth] := start_run(n.value);
  end loop;
  return array_to_json(v_answers);
end $$;

-- A row above 2 KB used to keep its compressed result: four or five to a page, each with the dead
-- intent that it replaced, because a page that is left is not tidied before the next vacuum. With
-- the result beside the table twenty fit, and a receipt finds room on its page again.
alter table tool_call_results set (fillfactor = 100, toast_tuple_target = 1024);

-- As for reads: the first five calls of a session took twice as long, each with a plan of its own.
alter function start_run set plan_cache_mode = force_generic_plan;
alter function start_runs set plan_cache_mode = force_generic_plan;
alter function commit_one set plan_cache_mode = force_generic_plan;
alter function commit_batch set plan_cache_mode = force_generic_plan;
