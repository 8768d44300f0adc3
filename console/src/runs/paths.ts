export function pathOf(id: string, part = ''): string {
  return `/v1/runs/${encodeURIComponent(id)}${part}`
}
