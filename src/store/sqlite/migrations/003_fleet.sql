-- Waits, signals, children, shared results, retention.
--
--   runs.parent_*           who started the run, and which attempt of it is told of the end
--   runs.wake_at            when a run that waits is looked at again, whatever arrives before
--   runs.ended_at, swept    when it ended, and what retention has taken of it since; the row stays
--   tool_call_results.due_at       when a wait is over, whatever has come
--   tool_call_attempts.token_hash  what an upstream calls back with; beat_*: when it was heard of
--   inbox_items.overdue_at  when it was noticed that nobody had decided in time
--   signals                 what was sent to a run by name, until the run takes it
--   shares                  results of pure tools that runs share, or the right to make one
--   sweeping                the run whose rows may go; empty but in the transaction that takes them
--
-- Every new index is partial: runs that are parked without a time, calls without a token and items
-- without an SLA pay for none of them.

alter table runs add column parent_run_id text;
alter table runs add column parent_attempt_id text;
alter table runs add column wake_at real;
alter table runs add column ended_at real;
alter table runs add column swept text;

alter table tool_call_results add column due_at real;
alter table tool_call_attempts add column token_hash text;
alter table tool_call_attempts add column beat_at real;
alter table tool_call_attempts add column beat_json text;
alter table inbox_items add column overdue_at real;

-- Nothing later is known of runs that have ended before.
update runs set ended_at = updated_at where state in ('completed', 'failed', 'cancelled');

create index runs_wake on runs (wake_at) where wake_at is not null;
create index runs_ends on runs (state, swept, ended_at) where ended_at is not null;
create index runs_children on runs (namespace, parent_run_id) where parent_run_id is not null;

-- Claims go round the groups of namespace and graph: each is found by one seek, its oldest run by
-- another.
drop index runs_waiting;
create index runs_waiting on runs (graph, version, namespace) where state = 'pending';
drop index runs_held;
create index runs_held on runs (worker_id, graph, version, namespace) where state = 'running';

create index tool_call_attempts_tokens on tool_call_attempts (token_hash)
  where token_hash is not null;
create index inbox_items_due on inbox_items (overdue_at, due_at)
  where state = 'open' and due_at is not null;

create table signals (
  namespace text not null,
  run_id text not null,
  signal_id text not null,
  name text not null,
  data_json text,
  at real not null,
  used_by text,
  mac text not null,
  primary key (namespace, run_id, signal_id)
) strict;

create index signals_waiting on signals (namespace, run_id) where used_by is null;

create table shares (
  namespace text not null,
  tool_name text not null,
  input_hash text not null,
  -- Who makes the result; null once it is there.
  maker text,
  result_json text,
  external_id text,
  -- Until then the result is used, or its maker waited for.
  until real not null,
  mac text,
  primary key (namespace, tool_name, input_hash)
) strict;

create index shares_over on shares (until);

create table sweeping (
  namespace text not null,
  run_id text not null,
  primary key (namespace, run_id)
) strict;

-- Final rows.

create trigger signals_said before update on signals
when (old.used_by is not null and new.used_by is not old.used_by)
  or new.namespace <> old.namespace
  or new.run_id <> old.run_id
  or new.signal_id <> old.signal_id
  or new.name <> old.name
  or new.data_json is not old.data_json
  or new.at <> old.at
begin select raise(abort, 'row is final: a signal can only be taken, and once'); end;

create trigger signals_sent before insert on signals
when exists (
  select 1 from signals old
  where old.namespace = new.namespace
    and old.run_id = new.run_id
    and old.signal_id = new.signal_id)
begin select raise(abort, 'row is final: a signal with this id was sent before'); end;

drop trigger tool_call_attempts_ended;
create trigger tool_call_attempts_ended before update on tool_call_attempts
when (old.ended_at is not null
    and (new.ended_at is not old.ended_at or new.outcome is not old.outcome))
  or (old.token_hash is not null and new.token_hash is not old.token_hash)
begin select raise(abort, 'row is final: an attempt ends once, and has one token'); end;

drop trigger tool_call_attempts_replaced;
create trigger tool_call_attempts_replaced before insert on tool_call_attempts
when exists (
  select 1 from tool_call_attempts old
  where old.namespace = new.namespace
    and old.workflow_id = new.workflow_id
    and old.attempt_id = new.attempt_id
    and ((old.ended_at is not null
        and (new.ended_at is not old.ended_at or new.outcome is not old.outcome))
      or (old.token_hash is not null and new.token_hash is not old.token_hash)))
begin select raise(abort, 'row is final: an attempt ends once, and has one token'); end;

-- How a run ended stays as it is, unless it is tried again, which it cannot be once rows of it are
-- gone. Late evidence may still raise `arrivals`.
drop trigger runs_ended;
drop trigger runs_ended_output;
create trigger runs_ended before update of
  state, fence, worker_id, output_json, output_digest, error_json, input_hash, swept
on runs
when old.state in ('completed', 'failed', 'cancelled')
  and (new.state <> 'pending' or old.swept is not null)
  and (new.state <> old.state
    or new.fence <> old.fence
    or new.worker_id is not old.worker_id
    or new.output_json is not old.output_json
    or new.output_digest is not old.output_digest
    or new.error_json is not old.error_json
    or new.input_hash <> old.input_hash
    or new.swept is not old.swept)
  and not exists (
    select 1 from sweeping s where s.namespace = old.namespace and s.run_id = old.run_id)
begin select raise(abort, 'row is final: a run that has ended'); end;

create trigger runs_parent before update of parent_run_id, parent_attempt_id on runs
begin select raise(abort, 'row is final: who started a run'); end;

create trigger runs_kept before delete on runs
begin select raise(abort, 'row is final: a run is never deleted, so that its id is known'); end;

-- Rows go only with their run's time (B6).

drop trigger tool_call_results_kept;
create trigger tool_call_results_kept before delete on tool_call_results
when not exists (
  select 1 from sweeping s where s.namespace = old.namespace and s.run_id = old.workflow_id)
begin select raise(abort, 'row is final: a call is never deleted'); end;

drop trigger tool_call_attempts_kept;
create trigger tool_call_attempts_kept before delete on tool_call_attempts
when not exists (
  select 1 from sweeping s where s.namespace = old.namespace and s.run_id = old.workflow_id)
begin select raise(abort, 'row is final: an attempt is never deleted'); end;

drop trigger call_evidence_kept;
create trigger call_evidence_kept before delete on call_evidence
when not exists (
  select 1 from sweeping s where s.namespace = old.namespace and s.run_id = old.workflow_id)
begin select raise(abort, 'row is final: evidence is never deleted'); end;

drop trigger decisions_kept;
create trigger decisions_kept before delete on decisions
when not exists (
  select 1 from sweeping s where s.namespace = old.namespace and s.run_id = old.run_id)
begin select raise(abort, 'row is final: a decision is never deleted'); end;

drop trigger events_kept;
create trigger events_kept before delete on events
when not exists (
  select 1 from sweeping s where s.namespace = old.namespace and s.run_id = old.run_id)
begin select raise(abort, 'row is final: an event is never deleted'); end;

create trigger signals_kept before delete on signals
when not exists (
  select 1 from sweeping s where s.namespace = old.namespace and s.run_id = old.run_id)
begin select raise(abort, 'row is final: a signal is never deleted'); end;
