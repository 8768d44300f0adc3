// "If the worker died now": what a resume would do with every recorded call of the present visit.
import { useResource } from '../resource.ts'
import { Link } from '../route.tsx'
import { Badge, Loaded, Section } from '../ui/parts.tsx'
import { type Column, Table } from '../ui/table.tsx'
import type { Preview } from '../wire.ts'
import { plural } from '../words.ts'
import { pathOf } from './paths.ts'

type Call = Preview['calls'][number]

export function PreviewPanel({ id }: { id: string }) {
  const preview = useResource<Preview>(pathOf(id, '/preview'))
  return (
    <Section title="If the worker died now">
      <Loaded from={preview}>
        {(data) => (
          <>
            <ul class="tiles">
              <Tile count={data.replay} word="replay" text="answered from the ledger" />
              <Tile count={data.rerun} word="rerun" text="sent, or sent again with the same key" />
              <Tile count={data.park} word="park" text="a person or the upstream is asked" />
            </ul>
            {data.calls.length === 0 ? (
              <p class="dim">No call of the present visit is on record: it would begin again.</p>
            ) : (
              <Table
                label="Calls of the present visit"
                columns={columns}
                rows={data.calls}
                id={(call) => `${call.tool_name}#${call.nth}`}
              />
            )}
            <ul>
              {data.notes.map((note) => (
                <li key={note}>{note}</li>
              ))}
            </ul>
            <p>
              <Link to="/resume">How this is decided</Link>
            </p>
          </>
        )}
      </Loaded>
    </Section>
  )
}

function Tile({ count, word, text }: { count: number; word: string; text: string }) {
  return (
    <li>
      <span class="big">{count}</span>
      <Badge word={word} />
      <span class="under dim">{text}</span>
    </li>
  )
}

const columns: readonly Column<Call>[] = [
  { head: 'Call', class: 'main', cell: (call) => <code>{`${call.tool_name}#${call.nth}`}</code> },
  { head: 'Class', cell: (call) => <Badge word={call.replay_class} tone="plain" /> },
  { head: 'Recorded', cell: (call) => <Badge word={call.status} /> },
  { head: 'Attempts', cell: (call) => plural(call.attempts, 'attempt') },
  { head: 'Would', cell: (call) => <Badge word={call.action} /> },
  { head: 'Because', cell: (call) => call.why },
]
