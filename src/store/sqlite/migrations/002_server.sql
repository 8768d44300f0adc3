-- What the server and the adapters keep.
--
--   documents       small rows of the server's own: tokens, sessions, answers that were given,
--                   subscriptions, deliveries. Secrets only as hashes.
--   notices         what people outside must be told, written with what it is about, until it is on
--                   record that they are
--   thread_steps    the steps of a foreign runtime's thread; one that is not whole is a change to
--                   its parent, so no parent goes before it
--   thread_writes   what the tasks of a step have written before it was over

create table documents (
  kind text not null,
  namespace text not null,
  document_id text not null,
  version integer not null,
  body_json text not null,
  due_at real,
  expires_at real,
  created_at real not null,
  updated_at real not null,
  primary key (kind, namespace, document_id)
) strict;

create index documents_by_kind on documents (kind);
create index documents_due on documents (kind, due_at) where due_at is not null;
create index documents_over on documents (expires_at) where expires_at is not null;

create table notices (
  namespace text not null,
  notice_id text not null,
  kind text not null,
  run_id text not null,
  item_id text,
  at real not null,
  data_json text not null,
  -- Who is at it, and until when nobody else is.
  taken_by text,
  taken_until real not null default 0,
  primary key (namespace, notice_id)
) strict;

create index notices_free on notices (taken_until);

create table thread_steps (
  namespace text not null,
  thread_id text not null,
  -- Empty for the thread itself; a part of it with steps of its own has another.
  space text not null,
  step_id text not null,
  parent_id text,
  whole integer not null,
  created_at real not null,
  note_json text not null,
  -- The last of the row: whoever wants no body reads none of its pages.
  body_json text not null,
  primary key (namespace, thread_id, space, step_id)
) strict;

-- The last step of a thread is found by one seek.
create index thread_steps_idle on thread_steps (namespace, thread_id, created_at);

create table thread_writes (
  namespace text not null,
  thread_id text not null,
  space text not null,
  step_id text not null,
  task_id text not null,
  -- Negative for the runtime's own marks.
  place integer not null,
  channel text not null,
  body_json text not null,
  primary key (namespace, thread_id, space, step_id, task_id, place)
) strict;
