-- Reads what a visit needs, in one go and of one moment: a stable function has one snapshot.
-- Plans are made once a session (`force_generic_plan`): made anew for each run they cost four times
-- what they find.

-- The visit's records whatever their node and version. Of the primary key's (…, node_id,
-- checkpoint_id) just the end of the last is known, `#generation#visit`, so the nodes and versions
-- this run has been through are found first, by jumping from one to the next: all ids of a version
-- lie between `version#` and `version$`. Two seeks per node and version however many records
-- earlier visits left, and no index of its own, which every commit of a call would pay for.
create or replace function records_of_visit(p_namespace text, p_run_id text, p_suffix text)
returns setof tool_call_results language plpgsql stable as $$
begin
  return query
  with recursive found (node, stem) as (
    (select t.node_id, split_part(t.checkpoint_id, '#', 1)
     from tool_call_results t
     where t.namespace = p_namespace and t.workflow_id = p_run_id
     order by t.node_id, t.checkpoint_id limit 1)
    union all
    select n.node_id, split_part(n.checkpoint_id, '#', 1)
    from found f cross join lateral (
      select t.node_id, t.checkpoint_id from tool_call_results t
      where t.namespace = p_namespace and t.workflow_id = p_run_id
        and (t.node_id, t.checkpoint_id) > (f.node, f.stem || '$')
      order by t.node_id, t.checkpoint_id limit 1) n
  )
  select t.* from found f join tool_call_results t
    on t.namespace = p_namespace and t.workflow_id = p_run_id and t.node_id = f.node
      and t.checkpoint_id = f.stem || p_suffix
  order by t.id;
end $$;

-- The rows that the state at this visit is made of; none if the visit has no checkpoint.
create or replace function chain_of_visit(
  p_namespace text, p_run_id text, p_generation bigint, p_visit bigint
) returns setof checkpoints
language plpgsql stable security definer set search_path from current as $$
begin
  return query
  select k.* from checkpoints k
  where k.namespace = p_namespace and k.run_id = p_run_id and k.generation = p_generation
    and k.visit <= p_visit and k.visit >= (
      select b.base_visit from checkpoints b
      where b.namespace = p_namespace and b.run_id = p_run_id and b.generation = p_generation
        and b.visit = p_visit)
  order by k.visit;
end $$;

-- `p_visit` null: the present one, with its checkpoints. `p_node`: a scope, by its host's ids.
create or replace function load_run(
  p_namespace text, p_run_id text, p_visit bigint, p_node text, p_checkpoint text
) returns json
language plpgsql stable security definer set search_path from current
set plan_cache_mode = force_generic_plan as $$
declare
  r runs;
  v_visit bigint;
  v_stem text;
  v_records json;
  v_senders text[];
begin
  select * into r from runs k where k.namespace = p_namespace and k.run_id = p_run_id;
  if not found then return null; end if;
  v_visit := coalesce(p_visit, r.visit);
  v_stem := r.generation || '#' || v_visit;
  -- With the first attempts that lie in their rows.
  if p_node is null then
    select json_agg(t), array_agg(distinct t.worker_id) filter (where t.dispatched_at is not null)
    into v_records, v_senders
    from records_of_visit(p_namespace, p_run_id, '#' || v_stem) t;
  else
    select json_agg(t order by t.id),
      array_agg(distinct t.worker_id) filter (where t.dispatched_at is not null)
    into v_records, v_senders
    from tool_call_results t
    where t.namespace = p_namespace and t.workflow_id = p_run_id
      and t.node_id = p_node and t.checkpoint_id = p_checkpoint;
  end if;
  return json_build_object(
    'run', row_to_json(r),
    'checkpoints', case when p_visit is null then (
      select json_agg(k) from chain_of_visit(p_namespace, p_run_id, r.generation, v_visit) k) end,
    'records', v_records,
    'attempts', (
      select json_agg(t order by t.dispatched_at, t.attempt_id) from tool_call_attempts t
      where t.namespace = p_namespace and t.workflow_id = p_run_id
        and t.attempt_id >= v_stem || '/' and t.attempt_id < v_stem || '0'),
    'evidence', (
      select json_agg(t order by t.id) from call_evidence t
      where t.namespace = p_namespace and t.workflow_id = p_run_id
        and t.attempt_id >= v_stem || '/' and t.attempt_id < v_stem || '0'),
    'items', (
      select json_agg(t order by t.id) from inbox_items t
      where t.namespace = p_namespace and t.run_id = p_run_id
        and t.generation = r.generation and t.visit = v_visit),
    'decisions', (
      select json_agg(t order by t.id) from decisions t
      where t.namespace = p_namespace and t.run_id = p_run_id
        and t.generation = r.generation and t.visit = v_visit),
    'signals', (
      select json_agg(t order by t.id) from signals t
      where t.namespace = p_namespace and t.run_id = p_run_id and t.used_by is null),
    'unresolved', (
      select json_agg(json_build_object('tool', t.tool_name, 'inputHash', t.input_hash)
        order by t.id)
      from tool_call_results t
      where t.namespace = p_namespace and t.workflow_id = p_run_id and t.unresolved),
    'deaths', (
      select json_agg(json_build_array(w.worker_id, w.died_at)) from workers w
      where w.died_at is not null and (w.worker_id = any (v_senders) or w.worker_id in (
        select t.worker_id from tool_call_attempts t
        where t.namespace = p_namespace and t.workflow_id = p_run_id
          and t.attempt_id >= v_stem || '/' and t.attempt_id < v_stem || '0'))));
end $$;

-- The first half of an amendment, in a transaction that its caller has begun. A caller that is cut
-- off gives the row back after the time it may be idle.
create or replace function amend_load(
  p_namespace text, p_run_id text, p_visit bigint, p_node text, p_checkpoint text, p_parent text
) returns json
language plpgsql security definer set search_path from current
set plan_cache_mode = force_generic_plan as $$
begin
  perform set_config('lock_timeout', '2000', true),
    set_config('statement_timeout', '10000', true),
    set_config('idle_in_transaction_session_timeout', '5000', true);
  perform lock_family(p_namespace, p_run_id, p_parent, false, true);
  return load_run(p_namespace, p_run_id, p_visit, p_node, p_checkpoint);
end $$;
