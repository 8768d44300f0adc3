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
  id bigint generated always as identity,
  kind text collate "C" not null,
  namespace text collate "C" not null,
  document_id text collate "C" not null,
  version bigint not null,
  body_json text not null,
  due_at double precision,
  expires_at double precision,
  created_at double precision not null,
  updated_at double precision not null,
  primary key (kind, namespace, document_id)
);

create index documents_by_kind on documents (kind, id);
create index documents_due on documents (kind, due_at) where due_at is not null;
create index documents_over on documents (expires_at) where expires_at is not null;

create table notices (
  id bigint generated always as identity,
  namespace text collate "C" not null,
  notice_id text collate "C" not null,
  kind text not null,
  run_id text collate "C" not null,
  item_id text collate "C",
  at double precision not null,
  data_json text not null,
  -- Who is at it, and until when nobody else is.
  taken_by text,
  taken_until double precision not null default 0,
  primary key (namespace, notice_id)
);

create index notices_free on notices (taken_until, id);

create table thread_steps (
  namespace text collate "C" not null,
  thread_id text collate "C" not null,
  -- Empty for the thread itself; a part of it with steps of its own has another.
  space text collate "C" not null,
  step_id text collate "C" not null,
  parent_id text collate "C",
  whole boolean not null,
  created_at double precision not null,
  note_json text not null,
  body_json text not null,
  primary key (namespace, thread_id, space, step_id)
);

-- The last step of a thread is found by one seek.
create index thread_steps_idle on thread_steps (namespace, thread_id, created_at);

create table thread_writes (
  namespace text collate "C" not null,
  thread_id text collate "C" not null,
  space text collate "C" not null,
  step_id text collate "C" not null,
  task_id text collate "C" not null,
  -- Negative for the runtime's own marks.
  place bigint not null,
  channel text not null,
  body_json text not null,
  primary key (namespace, thread_id, space, step_id, task_id, place)
);
