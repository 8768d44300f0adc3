// Functions, views and triggers of the schema: made anew, as a whole, when their text has changed.
// `{{insert t}}` and `{{replace t}}` in the .sql files stand for what store/schema says of a table.
// Nothing is dropped but triggers: workers of the version before may still call what they know, so
// a function that takes something else gets another name.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type { Described } from '../schema/index.ts'
import * as schema from '../schema/index.ts'
import { finalTriggers, type Triggers } from '../sql/final.ts'
import { firstToOwnRow, idInSql } from '../sql/first-attempt.ts'
import { columnsWritten, onConflict } from '../sql/statements.ts'

const folder = new URL('./functions/', import.meta.url)

const tables = new Map<string, Described<never>>(
  Object.values(schema)
    .filter((value) => 'fields' in value)
    .map((table) => [table.name, table as never]),
)

/** Calls that retention takes, with an attempt in their row. */
const gone = `
  from tool_call_results t
  where t.namespace = r.namespace and t.workflow_id = r.run_id
    and t.replay_class = any (p_classes)
    and (t.replay_class = 'pure' or t.status not in ('pending', 'in_doubt'))
    and t.attempt = 1 and t.dispatched_at is not null`

function expand(text: string): string {
  const plain = text
    .replace('{{id of first}}', idInSql('t', position))
    .replace('{{first to own row}}', firstToOwnRow('t', position, gone))
  return plain.replace(/\{\{(insert|replace) (\w+)\}\}/g, (_, what: string, name: string) => {
    const table = tables.get(name)
    if (table === undefined) throw new Error(`no table is described as ${name}`)
    if (what === 'replace') return onConflict(table, 'set')
    const columns = columnsWritten(table).join(', ')
    return `insert into ${name} (${columns}) select ${columns}`
  })
}

const refuse = `create or replace function refuse() returns trigger language plpgsql as $$
begin
  raise exception using errcode = 'P0001', message = 'row is final: ' || tg_argv[0];
end $$;`

// Conditions stand in WHEN, where they cost a comparison and no call.
const trigger = (name: string, when: string, says: string) =>
  `create trigger ${name} ${when}\nexecute function refuse('${says}');`

const position = (text: string, part: string) => `strpos(${text}, ${part})`

const postgres: Triggers = {
  update: (name, table, of, when, says) => {
    const columns = of.length === 0 ? '' : ` of ${of.join(', ')}`
    return trigger(name, `before update${columns} on ${table}\nfor each row when (${when})`, says)
  },
  remove: (name, table, when, says) => {
    const whole = `before truncate on ${table}\nfor each statement`
    const row = `before delete on ${table}\nfor each row when (${when})`
    return `${trigger(name, row, says)}\n${trigger(`${name}_whole`, whole, says)}`
  },
  before: (name, table, when, insert) => {
    const call = `create or replace function ${name}() returns trigger language plpgsql as $$
begin
  ${insert};
  return new;
end $$;`
    const fires = `before update on ${table}\nfor each row when (${when})`
    return `${call}\ncreate or replace trigger ${name} ${fires}\nexecute function ${name}();`
  },
  position,
  // Retention says so for its transaction, and nobody but the owner may delete from the tables.
  retaining: () => "coalesce(current_setting('counterfoil.retaining', true) = 'on', false)",
}

const others = [
  ['adoptions', 'an adoption', 'an adoption is never deleted'],
  ['graphs', 'a version of a graph', 'a version of a graph is never deleted'],
].flatMap(([table = '', said = '', kept = '']) => [
  postgres.update(`${table}_fixed`, table, [], 'true', said),
  postgres.remove(`${table}_kept`, table, 'true', kept),
])

const runsKept = 'a run is never deleted: its id stays taken'

export interface Rules {
  readonly checksum: string
  readonly functions: readonly string[]
  readonly triggers: readonly string[]
}

export function knownRules(): Rules {
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .map((name) => readFileSync(new URL(name, folder), 'utf8').replaceAll('\r\n', '\n'))
  const functions = [...files.map(expand), refuse]
  const triggers = [
    ...finalTriggers(postgres),
    ...others,
    postgres.remove('runs_kept', 'runs', 'true', runsKept),
  ]
  const text = [...functions, ...triggers].join('\n')
  return { checksum: createHash('sha256').update(text).digest('hex'), functions, triggers }
}
