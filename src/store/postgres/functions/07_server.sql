-- What the server needs.
--
--   documents         small rows of the server's own: tokens, sessions, answers that were given,
--                     subscriptions, deliveries. Secrets only as hashes.
--   notices           what people outside must be told, written with what it is about, until it is
--                     on record that they are

create or replace function put_notices(p_rows json, p_keys text[]) returns void
language plpgsql as $$
begin
  {{insert notices}}
  from json_populate_recordset(null::notices, p_rows)
  where p_keys is null or namespace || '/' || run_id = any (p_keys)
  on conflict (namespace, notice_id) do nothing;
end $$;

-- `p_if_version` null: only if there is none; one that has expired counts as none.
create or replace function put_document(
  p_kind text, p_namespace text, p_id text, p_body_json text, p_due_at double precision,
  p_expires_at double precision, p_if_version bigint
) returns boolean
language plpgsql security definer set search_path from current as $$
declare
  v_now double precision := now_ms();
begin
  perform keep_durable();
  if p_if_version is null then
    delete from documents d
    where d.kind = p_kind and d.namespace = p_namespace and d.document_id = p_id
      and d.expires_at <= v_now;
    insert into documents (
      kind, namespace, document_id, version, body_json, due_at, expires_at, created_at,
      updated_at)
    values (p_kind, p_namespace, p_id, 1, p_body_json, p_due_at, p_expires_at, v_now, v_now)
    on conflict do nothing;
  else
    update documents d
    set version = d.version + 1, body_json = p_body_json, due_at = p_due_at,
      expires_at = p_expires_at, updated_at = v_now
    where d.kind = p_kind and d.namespace = p_namespace and d.document_id = p_id
      and d.version = p_if_version and (d.expires_at is null or d.expires_at > v_now);
  end if;
  return found;
end $$;

create or replace function delete_document(
  p_kind text, p_namespace text, p_id text, p_if_version bigint
) returns boolean
language plpgsql security definer set search_path from current as $$
begin
  perform keep_durable();
  delete from documents d
  where d.kind = p_kind and d.namespace = p_namespace and d.document_id = p_id
    and d.version = coalesce(p_if_version, d.version)
    and (d.expires_at is null or d.expires_at > now_ms());
  return found;
end $$;

create or replace function take_notices(
  p_worker_id text, p_count bigint, p_lease_ms double precision
)
returns setof notices
language plpgsql security definer set search_path from current as $$
declare
  v_now double precision := now_ms();
begin
  return query
  with free as (
    select n.id from notices n where n.taken_until <= v_now
    order by n.id limit p_count for update skip locked),
  taken as (
    update notices n set taken_by = p_worker_id, taken_until = v_now + p_lease_ms
    from free f where n.id = f.id returning n.*)
  select * from taken t order by t.id;
end $$;

create or replace function end_notice(p_namespace text, p_notice_id text) returns void
language plpgsql security definer set search_path from current as $$
begin
  delete from notices n where n.namespace = p_namespace and n.notice_id = p_notice_id;
end $$;

-- What has expired, and what nobody was there to be told of.
create or replace function retain_documents(
  p_notice_ms double precision, p_count bigint
) returns void
language plpgsql security definer set search_path from current as $$
declare
  v_now double precision := now_ms();
begin
  delete from documents d where d.id in (
    select o.id from documents o where o.expires_at <= v_now
    order by o.expires_at limit p_count for update skip locked);
  delete from notices n where n.id in (
    select o.id from notices o where o.at <= v_now - p_notice_ms
    limit p_count for update skip locked);
end $$;
