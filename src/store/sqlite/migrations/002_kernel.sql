-- Graphs, checkpoint chains, approvals, blobs, wishes to stop.
--
--   graphs              what was registered under name and version: other content is refused (F3)
--   runs.reached        the highest visit that a record may belong to
--   runs.stop           what somebody asks of the worker that holds the run
--   checkpoints         a base, or a delta to the row before it; base_visit is where a chain begins
--   *_digest            where a large value lies instead of in its row (B7)

alter table runs add column reached integer not null default 1;
alter table runs add column output_digest text;
alter table runs add column stop text;

alter table checkpoints add column base_visit integer not null default 1;
alter table checkpoints add column previous text;
alter table checkpoints add column body_digest text;

alter table tool_call_results add column result_digest text;
alter table tool_call_results add column usage_json text;
alter table call_evidence add column result_digest text;
alter table inbox_items add column due_at real;
alter table decisions add column shown_hash text;

create table graphs (
  namespace text not null,
  name text not null,
  version text not null,
  fingerprint text not null,
  content_json text not null,
  registered_at real not null,
  primary key (namespace, name, version)
) strict;

create trigger graphs_known before update on graphs
begin select raise(abort, 'row is final: a version of a graph'); end;

create trigger graphs_kept before delete on graphs
begin select raise(abort, 'row is final: a version of a graph is never deleted'); end;

create index runs_stopping on runs (worker_id) where stop is not null;

-- The same key with another input is a doubt, in whichever visit it was used first. Partial: only
-- calls that have a key pay for it.
create index tool_call_results_keys on tool_call_results (workflow_id, idempotency_key)
  where idempotency_key is not null;

-- Who refers to a blob; large values are few.
create index tool_call_results_blobs on tool_call_results (result_digest)
  where result_digest is not null;
create index call_evidence_blobs on call_evidence (result_digest) where result_digest is not null;
create index checkpoints_blobs on checkpoints (body_digest) where body_digest is not null;
create index runs_blobs on runs (output_digest) where output_digest is not null;

create trigger decisions_shown before update of shown_hash on decisions
when new.shown_hash is not old.shown_hash
begin select raise(abort, 'row is final: a decision can only be used or voided, once'); end;

create trigger call_evidence_result before update of result_digest on call_evidence
when new.result_digest is not old.result_digest
begin select raise(abort, 'row is final: evidence can only be given its seq, and once'); end;

create trigger runs_ended_output before update of output_digest on runs
when old.state in ('completed', 'failed', 'cancelled') and new.state <> 'pending'
  and new.output_digest is not old.output_digest
begin select raise(abort, 'row is final: a run that has ended'); end;
