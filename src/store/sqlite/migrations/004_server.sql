-- What the server needs.
--
--   runs.started_by   who asked for the run, if they said
--   documents         small rows of the server's own: tokens, sessions, answers that were given,
--                     subscriptions, deliveries. Secrets only as hashes.
--   notices           what people outside must be told, written with what it is about, until it is
--                     on record that they are

alter table runs add column started_by text;

create trigger runs_started_by before update of started_by on runs
when new.started_by is not old.started_by
begin select raise(abort, 'row is final: who started a run'); end;

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
