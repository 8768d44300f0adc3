-- The threads of foreign runtimes, for adapters.
--
--   thread_steps    the steps of a thread; one that is not whole is a change to its parent, so no
--                   parent goes before it
--   thread_writes   what the tasks of a step have written before it was over

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
