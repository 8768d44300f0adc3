// The triggers of sql/final.ts as SQLite writes them. They are made anew when their text changes.
import { finalTriggers, type Triggers } from '../../sql/final.ts'

const refuse = (says: string) => `begin select raise(abort, 'row is final: ${says}'); end;`

export const sqlite: Triggers = {
  update: (name, table, of, condition, says) => {
    const columns = of.length === 0 ? '' : ` of ${of.join(', ')}`
    const when = `before update${columns} on ${table}\nwhen ${condition}`
    return `create trigger ${name} ${when}\n${refuse(says)}`
  },
  remove: (name, table, when, says) =>
    `create trigger ${name} before delete on ${table}\nwhen ${when}\n${refuse(says)}`,
  before: (name, table, when, insert) =>
    `create trigger ${name} before update on ${table}\nwhen ${when}\nbegin ${insert}; end;`,
  position: (text, part) => `instr(${text}, ${part})`,
  retaining: (runColumn) =>
    `exists (select 1 from sweeping s
  where s.namespace = old.namespace and s.run_id = old.${runColumn})`,
  // `insert or replace` deletes without asking the triggers on delete.
  guard: (name, table, key, when, says) => {
    const same = key.map((column) => `old.${column} = new.${column}`).join(' and ')
    const found = `exists (select 1 from ${table} old where ${same} and (${when}))`
    return `create trigger ${name} before insert on ${table}\nwhen ${found}\n${refuse(says)}`
  },
}

/** Of all that retention must not take, and of tables that no description has. */
const others = [
  ['adoptions', 'an adoption', 'an adoption is never deleted'],
  ['graphs', 'a version of a graph', 'a version of a graph is never deleted'],
].flatMap(([table = '', said = '', kept = '']) => [
  sqlite.update(`${table}_fixed`, table, [], 'true', said),
  sqlite.remove(`${table}_kept`, table, 'true', kept),
])
const runsKept = 'a run is never deleted, so that its id is known'

export function triggerTexts(): readonly string[] {
  const runs = sqlite.remove('runs_kept', 'runs', 'true', runsKept)
  return [...finalTriggers(sqlite), ...others, runs]
}
