-- The map.
--
--   meta                what this file is: its id, its incarnation (I12), one check value per key,
--                       the text that the triggers were made from
--   adoptions           who took the file over after it was moved or copied, and why
--   schema_migrations   which of these files were applied, with their checksums
--   graphs              what was registered under name and version: other content is refused (F3)
--
--   runs                one small row per run
--     checkpoints       a base, or a delta to the row before it; base_visit is where a chain begins
--     tool_call_results the ledger: one row per call, found again by its primary key during replay;
--                       with the first attempt, until more is to be said of it (first-attempt.ts)
--       tool_call_attempts   one row per other dispatch of a call, written before it, ended once
--       call_evidence        what was learnt about an attempt later, whoever held the run by then
--     inbox_items       what waits for a person
--       decisions       what they said
--     signals           what was sent to a run by name, until the run takes it
--     events            the run's history, in the order of `id`
--   workers             who may hold runs, until when, and whether they are known to be dead
--   shares              results of pure tools that runs share, or the right to make one
--   sweeping            the run whose rows may go; empty but in the transaction that takes them
--
-- The columns of rows are described in store/schema, in the same order; a test compares the two.
-- Triggers hold final rows still: they are made from those descriptions (store/sql/final.ts), and
-- are not part of this file.
--
-- Tables keep their rowid (measured 1.6 times faster here than WITHOUT ROWID), and a rowid is never
-- used twice, since rows of these tables are not deleted; so its order is the order of making.
-- The attempts are the exception: small rows, written once for each call, found by their key alone.
-- Every index costs a page per commit of a call: the ledger has the two it must have, the others
-- one. Most are partial: rows that are not in them pay nothing.
-- Times are wall-clock milliseconds, `lease_until` is on the monotonic clock of `boot_id`.
-- `*_digest` is where a large value lies instead of in its row (B7).

create table meta (
  name text primary key not null,
  value text not null
) strict;

create table adoptions (
  id integer primary key,
  at real not null,
  adopted_by text not null,
  reason text not null,
  old_incarnation text not null,
  new_incarnation text not null
) strict;

create table schema_migrations (
  id integer primary key,
  name text not null,
  checksum text not null,
  applied_at real not null
) strict;

create table graphs (
  namespace text not null,
  name text not null,
  version text not null,
  fingerprint text not null,
  content_json text not null,
  registered_at real not null,
  primary key (namespace, name, version)
) strict;

create table runs (
  namespace text not null,
  run_id text not null,
  graph text not null,
  version text not null,
  state text not null,
  node text not null,
  generation integer not null,
  visit integer not null,
  reached integer not null,
  input_hash text not null,
  output_json text,
  output_digest text,
  error_json text,
  waiting_for text,
  stop text,
  fence integer not null,
  worker_id text,
  arrivals integer not null,
  claims integer not null,
  commit_id text,
  trace_id text not null,
  parent_run_id text,
  parent_attempt_id text,
  started_by text,
  wake_at real,
  ended_at real,
  swept text,
  created_at real not null,
  updated_at real not null,
  primary key (namespace, run_id)
) strict;

-- Claims go round the groups of namespace and graph: each is found by one seek, its oldest run by
-- another. Neither index is touched by a commit that leaves state and worker as they are.
create index runs_waiting on runs (graph, version, namespace) where state = 'pending';
create index runs_held on runs (worker_id, graph, version, namespace) where state = 'running';
create index runs_stopping on runs (worker_id) where stop is not null;
create index runs_wake on runs (wake_at) where wake_at is not null;
create index runs_ends on runs (state, swept, ended_at) where ended_at is not null;
create index runs_children on runs (namespace, parent_run_id) where parent_run_id is not null;
create index runs_blobs on runs (output_digest) where output_digest is not null;

create table checkpoints (
  namespace text not null,
  run_id text not null,
  generation integer not null,
  visit integer not null,
  node text not null,
  version text not null,
  schema_version integer not null,
  kind text not null,
  base_visit integer not null,
  previous text,
  body_json text not null,
  body_digest text,
  digest text not null,
  created_at real not null,
  primary key (namespace, run_id, generation, visit)
) strict;

create index checkpoints_blobs on checkpoints (body_digest) where body_digest is not null;

create table tool_call_results (
  namespace text not null,
  workflow_id text not null,
  node_id text not null,
  checkpoint_id text not null,
  tool_name text not null,
  input_hash text not null,
  occurrence integer not null,
  nth integer not null,
  replay_class text not null,
  idempotency_key text,
  expires_at real,
  due_at real,
  status text not null,
  seq integer,
  after_seq integer not null,
  result_digest text,
  external_id text,
  unresolved integer not null,
  attempt integer not null,
  fence integer not null,
  worker_id text not null,
  span_id text not null,
  created_at real not null,
  settled_at real,
  mac text not null,
  -- The first attempt, while nothing is on record of it but that it was sent: the end of its id
  -- (what stands before it is said by the row), and what a row of its own would say.
  attempt_id text,
  outlives integer,
  quiet_ms real,
  dispatched_at real,
  -- Whoever wants no large value reads none of its pages: these are the last.
  input_json text,
  error_json text,
  usage_json text,
  result_json text,
  primary key (namespace, workflow_id, node_id, checkpoint_id, tool_name, input_hash, occurrence)
) strict;

create index tool_call_results_by_time on tool_call_results (workflow_id, created_at);
create index tool_call_results_unresolved on tool_call_results (namespace, workflow_id)
  where unresolved = 1;
-- The same key with another input is a doubt, in whichever visit it was used first.
create index tool_call_results_keys on tool_call_results (workflow_id, idempotency_key)
  where idempotency_key is not null;
create index tool_call_results_blobs on tool_call_results (result_digest)
  where result_digest is not null;

create table tool_call_attempts (
  namespace text not null,
  workflow_id text not null,
  attempt_id text not null,
  attempt integer not null,
  fence integer not null,
  worker_id text not null,
  outlives integer not null,
  quiet_ms real not null,
  dispatched_at real not null,
  token_hash text,
  beat_at real,
  beat_json text,
  ended_at real,
  outcome text,
  -- Over the end and the token: of an attempt that has neither nothing is claimed.
  mac text,
  primary key (namespace, workflow_id, attempt_id)
) strict, without rowid;

create index tool_call_attempts_tokens on tool_call_attempts (token_hash)
  where token_hash is not null;

create table call_evidence (
  namespace text not null,
  workflow_id text not null,
  attempt_id text not null,
  outcome text not null,
  result_json text,
  result_digest text,
  external_id text,
  error_json text,
  at real not null,
  seq integer,
  mac text not null,
  primary key (namespace, workflow_id, attempt_id)
) strict;

create index call_evidence_blobs on call_evidence (result_digest) where result_digest is not null;

create table inbox_items (
  namespace text not null,
  run_id text not null,
  item_id text not null,
  kind text not null,
  reason text,
  state text not null,
  version integer not null,
  queue text not null,
  title text not null,
  generation integer not null,
  visit integer not null,
  due_at real,
  overdue_at real,
  body_json text not null,
  created_at real not null,
  closed_at real,
  closed_by text,
  primary key (namespace, item_id)
) strict;

create index inbox_items_by_visit on inbox_items (namespace, run_id, generation, visit);
create index inbox_items_open on inbox_items (namespace) where state = 'open';
create index inbox_items_due on inbox_items (overdue_at, due_at)
  where state = 'open' and due_at is not null;

create table decisions (
  namespace text not null,
  run_id text not null,
  decision_id text not null,
  item_id text not null,
  kind text not null,
  reason text,
  generation integer not null,
  visit integer not null,
  subject_json text,
  outcome text not null,
  record_json text,
  result_json text,
  shown_hash text,
  decided_by text not null,
  why text not null,
  evidence text,
  made_sure integer not null,
  version integer not null,
  at real not null,
  seq integer,
  used_by text,
  voided_at real,
  mac text not null,
  primary key (namespace, run_id, decision_id)
) strict;

create index decisions_by_visit on decisions (namespace, run_id, generation, visit);

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

create table events (
  id integer primary key,
  namespace text not null,
  run_id text not null,
  at real not null,
  kind text not null,
  generation integer not null,
  visit integer not null,
  data_json text not null
) strict;

create index events_by_run on events (namespace, run_id);
-- Metrics find takeovers, and effects known to have happened twice, without reading the history of
-- every run.
create index events_lately on events (namespace, at)
  where kind in ('taken_over', 'lease_lost', 'evidence_conflict');
create index events_resumes on events (namespace, run_id)
  where kind in ('taken_over', 'lease_lost');

create table workers (
  worker_id text primary key not null,
  pid integer not null,
  host text not null,
  boot_id text not null,
  socket_path text,
  socket_inode text,
  started_at real not null,
  lease_until real not null,
  stopped_at real,
  died_at real,
  death_proof text
) strict;

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
