// Tools: what each may do to the world, and what happens to its calls when a worker dies.
import { useResource } from '../resource.ts'
import { Badge, Empty, Loaded } from '../ui/parts.tsx'
import { type Column, Table } from '../ui/table.tsx'
import type { Page, ToolRow } from '../wire.ts'
import { duration } from '../words.ts'

export function ToolsPage() {
  const tools = useResource<Page<ToolRow>>('/v1/tools')
  return (
    <>
      <h1>Tools</h1>
      <Loaded from={tools}>
        {(page) =>
          page.items.length === 0 ? (
            <Empty title="No tools yet." command="counterfoil dev agent.mjs">
              <p>
                A graph names its tools, each with a replay class. They are known here once a
                program has opened the store with it:
              </p>
            </Empty>
          ) : (
            <Table label="Tools" columns={columns} rows={page.items} id={keyOf} />
          )
        }
      </Loaded>
    </>
  )
}

function keyOf(tool: ToolRow): string {
  return `${tool.graph}/${tool.name}`
}

function keyText({ key_ttl_ms: ttl, replay_class: kind }: ToolRow) {
  if (kind !== 'idempotent_with_key') return <span class="dim">none</span>
  return typeof ttl === 'number' ? `remembered for ${duration(ttl)}` : 'remembered for ever'
}

const columns: readonly Column<ToolRow>[] = [
  { head: 'Tool', class: 'main', cell: (tool) => <code class="title">{tool.name}</code> },
  { head: 'Class', cell: (tool) => <Badge word={tool.replay_class} /> },
  { head: 'Key', cell: keyText },
  { head: 'Probe', cell: (tool) => probeText(tool.probe) },
  { head: 'If the worker dies', cell: (tool) => tool.recovery },
  { head: 'Graph', cell: (tool) => tool.graph },
]

function probeText(probe: boolean | null): string {
  if (probe === null) return 'not known here'
  return probe ? 'yes' : 'none'
}
