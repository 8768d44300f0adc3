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
  return `${tool.graph}/${tool.tool_name}`
}

function keyText({ key_ttl_ms: ttl, key_for_ever: forEver }: ToolRow) {
  if (forEver) return 'remembered for ever'
  return ttl === null ? <span class="dim">none</span> : `remembered for ${duration(ttl)}`
}

const columns: readonly Column<ToolRow>[] = [
  { head: 'Tool', class: 'main', cell: (tool) => <code class="title">{tool.tool_name}</code> },
  { head: 'Class', cell: (tool) => <Badge word={tool.replay_class} /> },
  { head: 'Key', cell: keyText },
  { head: 'Probe', cell: (tool) => (tool.has_probe ? 'yes' : <span class="dim">none</span>) },
  { head: 'If the worker dies', cell: (tool) => tool.recovery },
  { head: 'Quiet time', cell: (tool) => quietText(tool) },
  { head: 'Reaches', cell: (tool) => tool.blast_radius ?? <span class="dim">not said</span> },
  { head: 'Graph', cell: (tool) => tool.graph },
]

function quietText(tool: ToolRow) {
  if (tool.replay_class === 'pure') return <span class="dim">none</span>
  return `${duration(tool.quiet_ms)}${tool.outlives ? ', outlives its worker' : ''}`
}
