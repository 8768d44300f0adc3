// As much Markdown as our own pages use, as HTML. Everything is escaped first.

const marks: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (mark) => marks[mark] ?? '')
}

export function pageOf(title: string, markdown: string): string {
  const head = `<meta charset="utf-8"><title>${escapeHtml(title)}</title>`
  const view = '<meta name="viewport" content="width=device-width, initial-scale=1">'
  return `<!doctype html><html lang="en"><head>${head}${view}</head><body><main>${htmlOf(
    markdown,
  )}</main></body></html>\n`
}

/** Fences first: nothing inside them means anything. */
export function htmlOf(markdown: string): string {
  return markdown
    .split(/^```.*$/m)
    .map((text, i) => (i % 2 === 1 ? `<pre>${escapeHtml(text.trim())}</pre>` : blocks(text)))
    .join('')
}

function blocks(text: string): string {
  return text
    .split(/\n{2,}/)
    .map((block) => block.trim())
    .filter((block) => block !== '')
    .map(blockOf)
    .join('')
}

function blockOf(block: string): string {
  const heading = /^(#{1,4}) (.*)$/s.exec(block)
  if (heading) {
    const level = heading[1]?.length ?? 1
    return `<h${level}>${inline(heading[2] ?? '')}</h${level}>`
  }
  if (/^([-*]|\d+\.) /.test(block)) {
    const items = block.split(/\n(?=(?:[-*]|\d+\.) )/)
    const lines = items.map((item) => inline(item.replace(/^([-*]|\d+\.) /, '')))
    return `<ul>${lines.map((line) => `<li>${line}</li>`).join('')}</ul>`
  }
  return `<p>${inline(block)}</p>`
}

function inline(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>')
}
