-- The map. Every name here lives in one schema, `counterfoil` unless the URL says another; these
-- files are applied with that schema as the only one on the search path.
--
--   meta                what this database is: its id, its incarnation (I12), one check value per
--                       key, the roles that were given rights
--   adoptions           who took it over after a restore or failover, and why
--   schema_migrations   which of these files were applied, with their checksums
--   graphs              what was registered under name and version (F3)
--
--   runs                one small row per run, rewritten by nearly every commit
--     checkpoints       the state of a run at the start of a visit
--     tool_call_results the ledger: one row per call, found again by its primary key during replay;
--                       with the first attempt, until more is to be said of it (first-attempt.ts)
--       tool_call_attempts   one row per other dispatch of a call, written before it, ended once
--       call_evidence        what was learnt about an attempt later, whoever held the run by then
--     inbox_items       what waits for a person
--       decisions       what they said
--     signals           what was sent to the run by name, until something takes it
--     events            the run's history, in the order of `id`
--   shares              results of pure tools that runs share for a while (B10)
--   workers             who may hold runs, until when, and whether they are known to be dead
--
-- Times are milliseconds of `now_ms()`, the clock of this server. Ids compare by their bytes, so
-- that one range holds what begins alike. `id` columns give the order of making. Texts that a MAC
-- or a digest covers stay text; functions/06_views.sql shows them as jsonb.
-- A commit changes of a run's row only what no index holds, so that the change stays on its page.
-- The columns of rows are described in store/schema, in the same order where it matters (the types
-- below); a test compares the two. Functions and views (functions/) and triggers (sql/final.ts) are
-- not part of this file: they are made anew when their text changes.

create table meta (
  name text primary key,
  value text not null
);

create table adoptions (
  id bigint generated always as identity primary key,
  at double precision not null,
  adopted_by text not null,
  reason text not null,
  old_incarnation text not null,
  new_incarnation text not null
);

create table graphs (
  namespace text collate "C" not null,
  name text collate "C" not null,
  version text collate "C" not null,
  fingerprint text not null,
  content_json text not null,
  registered_at double precision not null,
  primary key (namespace, name, version)
);

create table runs (
  id bigint generated always as identity,
  namespace text collate "C" not null,
  run_id text collate "C" not null,
  graph text collate "C" not null,
  version text collate "C" not null,
  state text collate "C" not null,
  node text not null,
  generation bigint not null,
  visit bigint not null,
  reached bigint not null,
  input_hash text not null,
  output_json text,
  output_digest text,
  error_json text,
  waiting_for text,
  stop text,
  fence bigint not null,
  worker_id text collate "C",
  arrivals bigint not null,
  claims bigint not null,
  commit_id text,
  -- Which claim gave it to its holder: one whose answer was lost is found again by this.
  claim_id text,
  trace_id text not null,
  parent_run_id text collate "C",
  parent_attempt_id text collate "C",
  started_by text,
  wake_at double precision,
  ended_at double precision,
  swept text,
  created_at double precision not null,
  updated_at double precision not null,
  primary key (namespace, run_id)
) with (fillfactor = 80);

create index runs_by_namespace on runs (namespace, id);
create index runs_by_state on runs (namespace, state, id);
create index runs_waiting on runs (graph, version, namespace, id) where state = 'pending';
create index runs_held on runs (worker_id, id) where state = 'running';
create index runs_stopping on runs (worker_id) where stop is not null;
create index runs_due on runs (wake_at) where wake_at is not null;
create index runs_ended on runs (state, coalesce(swept, ''), ended_at)
  where ended_at is not null and swept is distinct from 'all';
create index runs_children on runs (namespace, parent_run_id, id) where parent_run_id is not null;
create index runs_blobs on runs (output_digest) where output_digest is not null;

create table checkpoints (
  namespace text collate "C" not null,
  run_id text collate "C" not null,
  generation bigint not null,
  visit bigint not null,
  node text not null,
  version text not null,
  schema_version bigint not null,
  kind text not null,
  base_visit bigint not null,
  previous text,
  body_json text not null,
  body_digest text,
  digest text not null,
  created_at double precision not null,
  primary key (namespace, run_id, generation, visit)
);

create index checkpoints_blobs on checkpoints (body_digest) where body_digest is not null;

-- A row above 2 KB used to keep its compressed result: four or five to a page, each with the dead
-- intent that it replaced. With the result beside the table twenty fit, and a receipt finds room on
-- its page again.
create table tool_call_results (
  id bigint generated always as identity,
  namespace text collate "C" not null,
  workflow_id text collate "C" not null,
  node_id text collate "C" not null,
  checkpoint_id text collate "C" not null,
  tool_name text collate "C" not null,
  input_hash text collate "C" not null,
  occurrence bigint not null,
  nth bigint not null,
  replay_class text not null,
  idempotency_key text collate "C",
  expires_at double precision,
  due_at double precision,
  status text not null,
  seq bigint,
  after_seq bigint not null,
  input_json text,
  result_json text,
  result_digest text,
  external_id text,
  error_json text,
  usage_json text,
  unresolved boolean not null,
  attempt bigint not null,
  fence bigint not null,
  worker_id text not null,
  span_id text not null,
  created_at double precision not null,
  settled_at double precision,
  mac text not null,
  -- The first attempt, while nothing is on record of it but that it was sent: the end of its id
  -- (what stands before it is said by the row), and what a row of its own would say.
  attempt_id text,
  outlives boolean,
  quiet_ms double precision,
  dispatched_at double precision,
  primary key (namespace, workflow_id, node_id, checkpoint_id, tool_name, input_hash, occurrence)
) with (fillfactor = 100, toast_tuple_target = 1024);

create index tool_call_results_by_time on tool_call_results (workflow_id, created_at);
create index tool_call_results_unresolved on tool_call_results (namespace, workflow_id)
  where unresolved;
create index tool_call_results_keys on tool_call_results (workflow_id, idempotency_key)
  where idempotency_key is not null;
create index tool_call_results_blobs on tool_call_results (result_digest)
  where result_digest is not null;

-- Retention asks whether an attempt still names a worker.
create index tool_call_results_by_worker on tool_call_results (worker_id)
  where dispatched_at is not null;

-- Metrics look at the last hour. Blocks are enough to find it by, and cost next to nothing to keep.
create index tool_call_results_lately on tool_call_results using brin (created_at);

create table tool_call_attempts (
  namespace text collate "C" not null,
  workflow_id text collate "C" not null,
  attempt_id text collate "C" not null,
  attempt bigint not null,
  fence bigint not null,
  worker_id text collate "C" not null,
  outlives boolean not null,
  quiet_ms double precision not null,
  dispatched_at double precision not null,
  token_hash text collate "C",
  beat_at double precision,
  beat_json text,
  ended_at double precision,
  outcome text,
  -- Over the end and the token: of an attempt that has neither nothing is claimed.
  mac text,
  primary key (namespace, workflow_id, attempt_id)
) with (fillfactor = 90);

create index tool_call_attempts_by_worker on tool_call_attempts (worker_id);
create index tool_call_attempts_tokens on tool_call_attempts (token_hash)
  where token_hash is not null;

create table call_evidence (
  id bigint generated always as identity,
  namespace text collate "C" not null,
  workflow_id text collate "C" not null,
  attempt_id text collate "C" not null,
  outcome text not null,
  result_json text,
  result_digest text,
  external_id text,
  error_json text,
  at double precision not null,
  seq bigint,
  mac text not null,
  primary key (namespace, workflow_id, attempt_id)
);

create index call_evidence_blobs on call_evidence (result_digest)
  where result_digest is not null;

-- A text as jsonb, or null for what jsonb cannot hold (a NUL, a lone surrogate) or is no JSON.
create function as_jsonb(p_text text) returns jsonb
language plpgsql immutable parallel safe set search_path from current as $$
begin
  return p_text::jsonb;
exception when others then
  return null;
end $$;

create table inbox_items (
  id bigint generated always as identity,
  namespace text collate "C" not null,
  run_id text collate "C" not null,
  item_id text collate "C" not null,
  kind text not null,
  reason text,
  state text not null,
  version bigint not null,
  queue text not null,
  title text not null,
  generation bigint not null,
  visit bigint not null,
  due_at double precision,
  overdue_at double precision,
  body_json text not null,
  body jsonb generated always as (as_jsonb(body_json)) stored,
  created_at double precision not null,
  closed_at double precision,
  closed_by text,
  primary key (namespace, item_id)
);

create index inbox_items_by_time on inbox_items (namespace, id);
create index inbox_items_by_visit on inbox_items (namespace, run_id, generation, visit);
create index inbox_items_open on inbox_items (namespace, id) where state = 'open';
create index inbox_items_due on inbox_items (due_at)
  where state = 'open' and overdue_at is null and due_at is not null;

create table decisions (
  id bigint generated always as identity,
  namespace text collate "C" not null,
  run_id text collate "C" not null,
  decision_id text collate "C" not null,
  item_id text collate "C" not null,
  kind text not null,
  reason text,
  generation bigint not null,
  visit bigint not null,
  subject_json text,
  outcome text not null,
  record_json text,
  result_json text,
  shown_hash text,
  decided_by text not null,
  why text not null,
  evidence text,
  made_sure boolean not null,
  version bigint not null,
  at double precision not null,
  seq bigint,
  used_by text,
  voided_at double precision,
  mac text not null,
  primary key (namespace, run_id, decision_id)
);

create index decisions_by_visit on decisions (namespace, run_id, generation, visit);

create table signals (
  id bigint generated always as identity,
  namespace text collate "C" not null,
  run_id text collate "C" not null,
  signal_id text collate "C" not null,
  name text not null,
  data_json text,
  at double precision not null,
  used_by text,
  mac text not null,
  primary key (namespace, run_id, signal_id)
);

create index signals_open on signals (namespace, run_id, id) where used_by is null;

create table events (
  id bigint generated always as identity,
  namespace text collate "C" not null,
  run_id text collate "C" not null,
  at double precision not null,
  kind text not null,
  generation bigint not null,
  visit bigint not null,
  data_json text not null,
  primary key (namespace, run_id, id)
);

create table shares (
  namespace text collate "C" not null,
  tool_name text collate "C" not null,
  input_hash text collate "C" not null,
  -- Who makes the result; null once it is there.
  maker text,
  -- Until when nobody else makes it, or until when it is used.
  until double precision not null,
  result_json text,
  external_id text,
  mac text,
  primary key (namespace, tool_name, input_hash)
);

create index shares_by_end on shares (until);

create table workers (
  id bigint generated always as identity,
  worker_id text collate "C" primary key,
  pid bigint not null,
  host text not null,
  boot_id text not null,
  socket_path text,
  socket_inode text,
  started_at double precision not null,
  lease_until double precision not null,
  stopped_at double precision,
  died_at double precision,
  death_proof text
) with (fillfactor = 50);

create index workers_provable on workers (id) where died_at is null and socket_path is not null;

-- Metrics find takeovers, and effects known to have happened twice, without reading the history of
-- every run. Only the few events of these kinds are in the indexes.
create index events_lately on events (namespace, at)
  where kind in ('taken_over', 'lease_lost', 'evidence_conflict');
create index events_resumes on events (namespace, run_id)
  where kind in ('taken_over', 'lease_lost');

create type run_change as (
  state text, node text, visit bigint, reached bigint, sets_stop boolean, stop text,
  sets_waiting_for boolean, waiting_for text, sets_output_json boolean, output_json text,
  sets_output_digest boolean, output_digest text, sets_error_json boolean, error_json text,
  sets_wake_at boolean, wake_at double precision, arrive boolean, release boolean,
  progress boolean, rewind boolean
);

-- Types of their own: a table may get another column while workers that do not know it go on.
create type record_row as (
  namespace text, workflow_id text, node_id text, checkpoint_id text, tool_name text,
  input_hash text, occurrence bigint, nth bigint, replay_class text, idempotency_key text,
  expires_at double precision, due_at double precision, status text, seq bigint, after_seq bigint,
  input_json text, result_json text, result_digest text, external_id text, error_json text,
  usage_json text, unresolved boolean, attempt bigint, fence bigint, worker_id text, span_id text,
  created_at double precision, settled_at double precision, mac text, attempt_id text,
  outlives boolean, quiet_ms double precision, dispatched_at double precision
);

create type attempt_row as (
  namespace text, workflow_id text, attempt_id text, attempt bigint, fence bigint, worker_id text,
  outlives boolean, quiet_ms double precision, dispatched_at double precision, token_hash text,
  beat_at double precision, beat_json text, ended_at double precision, outcome text, mac text
);

create type event_row as (
  namespace text, run_id text, at double precision, kind text, generation bigint, visit bigint,
  data_json text
);

create type checkpoint_row as (
  namespace text, run_id text, generation bigint, visit bigint, node text, version text,
  schema_version bigint, kind text, base_visit bigint, previous text, body_json text,
  body_digest text, digest text, created_at double precision
);

create type commit_head as (
  i bigint, namespace text, run_id text, commit_id text, worker_id text, fence bigint,
  arrivals_seen bigint, change json, ordinary boolean
);
