-- The right to make a shared result ends with its maker: who is dead, has stopped or has lost its
-- lease keeps nobody waiting for the rest of the tool's time.
create or replace function take_share(
  p_namespace text, p_tool text, p_input_hash text, p_worker_id text, p_make_ms double precision,
  p_forged text
) returns json
language plpgsql security definer set search_path from current as $$
declare
  s shares;
  v_now double precision := now_ms();
begin
  insert into shares (namespace, tool_name, input_hash, maker, until)
  values (p_namespace, p_tool, p_input_hash, p_worker_id, v_now + p_make_ms)
  on conflict (namespace, tool_name, input_hash) do update
  set maker = excluded.maker, until = excluded.until, result_json = null, external_id = null,
    mac = null
  where shares.until <= v_now or shares.mac = p_forged
    or exists (
      select 1 from workers w
      where w.worker_id = shares.maker
        and (w.died_at is not null or w.stopped_at is not null or w.lease_until <= v_now));
  if found then return json_build_object('do', 'make'); end if;
  select * into s from shares k
  where k.namespace = p_namespace and k.tool_name = p_tool and k.input_hash = p_input_hash;
  if not found or s.maker is not null then return json_build_object('do', 'wait'); end if;
  return json_build_object('do', 'use', 'resultJson', s.result_json,
    'externalId', s.external_id, 'until', s.until, 'mac', s.mac);
end $$;
