-- Rows that are final are held still: against slips, ours included. Whoever can drop a trigger is
-- caught by the MAC. Conditions stand in WHEN, where they cost a comparison and no call.

create function refuse() returns trigger language plpgsql as $$
begin
  raise exception using errcode = 'P0001', message = 'row is final: ' || tg_argv[0];
end $$;

create trigger tool_call_results_settled before update on tool_call_results
for each row when (old.status in ('committed', 'failed'))
execute function refuse('a settled call');

create trigger tool_call_results_identity before update of
  namespace, workflow_id, node_id, checkpoint_id, tool_name, input_hash, occurrence
on tool_call_results
for each row execute function refuse('the identity of a call');

create trigger tool_call_results_made before update on tool_call_results
for each row when (old.created_at <> new.created_at)
execute function refuse('a put would change what is written once (its making)');

create trigger tool_call_attempts_ended before update on tool_call_attempts
for each row when (old.ended_at is not null
  and (new.ended_at is distinct from old.ended_at or new.outcome is distinct from old.outcome))
execute function refuse('an attempt ends once');

create trigger tool_call_attempts_identity before update on tool_call_attempts
for each row when (new.namespace <> old.namespace
  or new.workflow_id <> old.workflow_id
  or new.attempt_id <> old.attempt_id
  or new.attempt <> old.attempt
  or new.fence <> old.fence
  or new.worker_id <> old.worker_id
  or new.outlives <> old.outlives
  or new.quiet_ms <> old.quiet_ms
  or new.dispatched_at <> old.dispatched_at
  or (old.token_hash is not null and new.token_hash is distinct from old.token_hash))
execute function refuse('an attempt can only be heard of and end');

create trigger call_evidence_said before update on call_evidence
for each row when ((old.seq is not null and new.seq is distinct from old.seq)
  or new.namespace <> old.namespace
  or new.workflow_id <> old.workflow_id
  or new.attempt_id <> old.attempt_id
  or new.outcome <> old.outcome
  or new.result_json is distinct from old.result_json
  or new.result_digest is distinct from old.result_digest
  or new.external_id is distinct from old.external_id
  or new.error_json is distinct from old.error_json
  or new.at <> old.at)
execute function refuse('evidence can only be given its seq, and once');

create trigger inbox_items_identity before update on inbox_items
for each row when (new.namespace <> old.namespace
  or new.item_id <> old.item_id
  or new.run_id <> old.run_id)
execute function refuse('the identity of an item');

create trigger decisions_made before update on decisions
for each row when ((old.seq is not null and new.seq is distinct from old.seq)
  or (old.used_by is not null and new.used_by is distinct from old.used_by)
  or (old.voided_at is not null and new.voided_at is distinct from old.voided_at)
  or new.namespace <> old.namespace
  or new.run_id <> old.run_id
  or new.decision_id <> old.decision_id
  or new.item_id <> old.item_id
  or new.kind <> old.kind
  or new.reason is distinct from old.reason
  or new.generation <> old.generation
  or new.visit <> old.visit
  or new.subject_json is distinct from old.subject_json
  or new.outcome <> old.outcome
  or new.record_json is distinct from old.record_json
  or new.result_json is distinct from old.result_json
  or new.shown_hash is distinct from old.shown_hash
  or new.decided_by <> old.decided_by
  or new.why <> old.why
  or new.evidence is distinct from old.evidence
  or new.made_sure <> old.made_sure
  or new.version <> old.version
  or new.at <> old.at)
execute function refuse('a decision can only be used or voided, once');

create trigger signals_sent before update on signals
for each row when ((old.used_by is not null and new.used_by is distinct from old.used_by)
  or new.namespace <> old.namespace
  or new.run_id <> old.run_id
  or new.signal_id <> old.signal_id
  or new.name <> old.name
  or new.data_json is distinct from old.data_json
  or new.at <> old.at)
execute function refuse('a signal can only be taken, once');

create trigger events_said before update on events
for each row execute function refuse('an event');

create trigger adoptions_said before update on adoptions
for each row execute function refuse('an adoption');

create trigger graphs_known before update on graphs
for each row execute function refuse('a version of a graph');

-- How a run ended stays as it is, unless it is tried again or retention takes it. Late evidence may
-- still raise `arrivals`.
create trigger runs_ended before update of
  state, fence, worker_id, output_json, output_digest, error_json, input_hash, ended_at
on runs
for each row when (old.state in ('completed', 'failed', 'cancelled') and new.state <> 'pending'
  and (new.swept is not distinct from old.swept)
  and (new.state <> old.state
    or new.fence <> old.fence
    or new.worker_id is distinct from old.worker_id
    or new.output_json is distinct from old.output_json
    or new.output_digest is distinct from old.output_digest
    or new.error_json is distinct from old.error_json
    or new.ended_at is distinct from old.ended_at
    or new.input_hash <> old.input_hash))
execute function refuse('a run that has ended');

-- Nothing is deleted but by retention (007_sweep.sql), which says so for its transaction, and whose
-- tables nobody but the owner may delete from.

create trigger tool_call_results_kept before delete on tool_call_results
for each row when (current_setting('counterfoil.retaining', true) is distinct from 'on')
execute function refuse('a call is never deleted');

create trigger tool_call_attempts_kept before delete on tool_call_attempts
for each row when (current_setting('counterfoil.retaining', true) is distinct from 'on')
execute function refuse('an attempt is never deleted');

create trigger call_evidence_kept before delete on call_evidence
for each row when (current_setting('counterfoil.retaining', true) is distinct from 'on')
execute function refuse('evidence is never deleted');

create trigger decisions_kept before delete on decisions
for each row when (current_setting('counterfoil.retaining', true) is distinct from 'on')
execute function refuse('a decision is never deleted');

create trigger events_kept before delete on events
for each row when (current_setting('counterfoil.retaining', true) is distinct from 'on')
execute function refuse('an event is never deleted');

create trigger runs_kept before delete on runs
for each row execute function refuse('a run is never deleted: its id stays taken');

create trigger adoptions_kept before delete on adoptions
for each row execute function refuse('an adoption is never deleted');

create trigger graphs_kept before delete on graphs
for each row execute function refuse('a version of a graph is never deleted');

create trigger runs_whole before truncate on runs
for each statement execute function refuse('a run is never deleted: its id stays taken');
create trigger tool_call_results_whole before truncate on tool_call_results
for each statement execute function refuse('a call is never deleted');
create trigger tool_call_attempts_whole before truncate on tool_call_attempts
for each statement execute function refuse('an attempt is never deleted');
create trigger call_evidence_whole before truncate on call_evidence
for each statement execute function refuse('evidence is never deleted');
create trigger decisions_whole before truncate on decisions
for each statement execute function refuse('a decision is never deleted');
create trigger events_whole before truncate on events
for each statement execute function refuse('an event is never deleted');
