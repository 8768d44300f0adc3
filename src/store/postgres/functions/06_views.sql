-- For operators: what is kept as exact text, as jsonb. A text that jsonb cannot hold is null there.

create or replace view run_list as
select namespace, run_id, graph, version, state, node, generation, visit,
  as_jsonb(waiting_for) as waiting_for, as_jsonb(stop) as stop, as_jsonb(output_json) as output,
  output_digest, as_jsonb(error_json) as error, worker_id, fence, arrivals, claims, trace_id,
  parent_run_id, to_timestamp(wake_at / 1000) as wake_at,
  to_timestamp(created_at / 1000) as created_at, to_timestamp(updated_at / 1000) as updated_at,
  to_timestamp(ended_at / 1000) as ended_at, swept
from runs;

create or replace view states as
select namespace, run_id, generation, visit, node, version, kind, base_visit,
  as_jsonb(body_json) as body, body_digest, to_timestamp(created_at / 1000) as created_at
from checkpoints;

create or replace view calls as
select namespace, workflow_id, node_id, checkpoint_id, tool_name, input_hash, occurrence,
  replay_class, idempotency_key, status, seq, as_jsonb(input_json) as input,
  as_jsonb(result_json) as result, result_digest, external_id, as_jsonb(error_json) as error,
  as_jsonb(usage_json) as usage, unresolved, attempt, worker_id, span_id,
  to_timestamp(created_at / 1000) as created_at, to_timestamp(settled_at / 1000) as settled_at,
  to_timestamp(due_at / 1000) as due_at, to_timestamp(expires_at / 1000) as expires_at
from tool_call_results;

create or replace view inbox as
select namespace, run_id, item_id, kind, reason, state, version, queue, title, generation, visit,
  body, to_timestamp(due_at / 1000) as due_at, to_timestamp(overdue_at / 1000) as overdue_at,
  to_timestamp(created_at / 1000) as created_at, to_timestamp(closed_at / 1000) as closed_at,
  closed_by
from inbox_items;

create or replace view history as
select id, namespace, run_id, to_timestamp(at / 1000) as at, kind, generation, visit,
  as_jsonb(data_json) as data
from events;
