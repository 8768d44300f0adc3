// The graph of a run, with the path that was taken. Nodes are functions: an edge is known once a
// run has gone along it.
import dagre from '@dagrejs/dagre'
import { useMemo } from 'preact/hooks'
import { useResource } from '../resource.ts'
import { Loaded, Section } from '../ui/parts.tsx'
import { Scroll } from '../ui/scroll.tsx'
import type { GraphView, RunView } from '../wire.ts'
import { plural } from '../words.ts'
import { pathOf } from './paths.ts'

interface Box {
  readonly name: string
  readonly x: number
  readonly y: number
  readonly width: number
}

interface Line {
  readonly key: string
  readonly from: string
  readonly to: string
  readonly points: readonly { readonly x: number; readonly y: number }[]
}

interface Layout {
  readonly width: number
  readonly height: number
  readonly boxes: readonly Box[]
  readonly lines: readonly Line[]
}

const boxHeight = 40
const letterWidth = 8.2
const nameMax = 24

export function GraphPanel({ run }: { run: RunView }) {
  const graph = useResource<GraphView>(pathOf(run.run_id, '/graph'))
  return (
    <Section title="Graph and the path taken">
      <Loaded from={graph}>{(data) => <Picture graph={data} run={run} />}</Loaded>
    </Section>
  )
}

function short(name: string): string {
  return name.length > nameMax ? `${name.slice(0, nameMax - 1)}…` : name
}

/** Edges that are declared or known, and those this run went along. */
function edgesOf(graph: GraphView, taken: ReadonlyMap<string, number>): [string, string][] {
  const edges = new Map(graph.edges.map(({ from, to }) => [edgeKey(from, to), [from, to]]))
  for (const key of taken.keys()) edges.set(key, JSON.parse(key))
  return [...edges.values()] as [string, string][]
}

function edgeKey(from: string, to: string): string {
  return JSON.stringify([from, to])
}

/** How often the run went along each edge. */
function takenOf({ path }: RunView): Map<string, number> {
  const taken = new Map<string, number>()
  for (const [index, { node }] of path.entries()) {
    const before = path[index - 1]
    if (before === undefined) continue
    const key = edgeKey(before.node, node)
    taken.set(key, (taken.get(key) ?? 0) + 1)
  }
  return taken
}

function layoutOf(nodes: readonly string[], edges: readonly [string, string][]): Layout {
  const graph = new dagre.graphlib.Graph({ multigraph: true })
  graph.setGraph({ rankdir: 'LR', nodesep: 24, ranksep: 56, marginx: 12, marginy: 16 })
  graph.setDefaultEdgeLabel(() => ({}))
  for (const name of nodes) {
    const width = Math.max(72, short(name).length * letterWidth + 24)
    graph.setNode(name, { width, height: boxHeight })
  }
  for (const [from, to] of edges) graph.setEdge(from, to, {}, edgeKey(from, to))
  dagre.layout(graph)
  const { width = 0, height = 0 } = graph.graph()
  return {
    width,
    height,
    boxes: nodes.map((name) => {
      const { x, y, width: wide } = graph.node(name)
      return { name, x, y, width: wide }
    }),
    lines: graph.edges().map((edge) => ({
      key: edgeKey(edge.v, edge.w),
      from: edge.v,
      to: edge.w,
      points: graph.edge(edge).points,
    })),
  }
}

function Picture({ graph, run }: { graph: GraphView; run: RunView }) {
  const taken = takenOf(run)
  const visits = new Map<string, number>()
  for (const { node } of run.path) visits.set(node, (visits.get(node) ?? 0) + 1)
  const names = [...new Set([...graph.nodes, ...visits.keys(), run.node])]
  const edges = edgesOf(graph, taken)
  const shape = JSON.stringify([names, edges])
  // The shape is the names and the edges; their arrays are new each time.
  const layout = useMemo(() => layoutOf(names, edges), [shape])
  const text = run.path.map(({ node }) => node).join(', then ')
  return (
    <Scroll label={'Graph'}>
      <svg
        class="graph"
        role="img"
        aria-label={`Path taken: ${text || 'none yet'}. The run is at ${run.node}.`}
        width={layout.width}
        height={layout.height}
        viewBox={`0 0 ${layout.width} ${layout.height}`}
      >
        <defs>
          <marker
            id="tip"
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerWidth="7"
            markerHeight="7"
            orient="auto"
          >
            <path d="M0 0 8 4 0 8z" class="tip" />
          </marker>
        </defs>
        {layout.lines.map((line) => (
          <Arrow key={line.key} line={line} count={taken.get(line.key) ?? 0} />
        ))}
        {layout.boxes.map((box) => (
          <NodeBox key={box.name} box={box} run={run} visits={visits.get(box.name) ?? 0} />
        ))}
      </svg>
    </Scroll>
  )
}

function Arrow({ line, count }: { line: Line; count: number }) {
  const points = line.points.map(({ x, y }) => `${x} ${y}`).join('L')
  return (
    <path class={count > 0 ? 'edge taken' : 'edge'} d={`M${points}`} marker-end="url(#tip)">
      <title>{`${line.from} to ${line.to}: ${plural(count, 'time')}`}</title>
    </path>
  )
}

function NodeBox({ box, run, visits }: { box: Box; run: RunView; visits: number }) {
  const here = run.node === box.name
  const name = ['node', visits > 0 ? 'visited' : '', here ? `here ${run.state}` : ''].join(' ')
  return (
    <g class={name} transform={`translate(${box.x - box.width / 2} ${box.y - boxHeight / 2})`}>
      <title>{`${box.name}: ${plural(visits, 'visit')}`}</title>
      <rect width={box.width} height={boxHeight} rx="6" />
      <text x={box.width / 2} y={boxHeight / 2 + 4} text-anchor="middle">
        {short(box.name)}
      </text>
      {visits > 1 ? (
        <text class="count" x={box.width - 6} y={12} text-anchor="end">{`×${visits}`}</text>
      ) : null}
    </g>
  )
}
