// What Postgres can hold as text: no NUL, and nothing that is not Unicode.

const lone = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g

/** The same text with U+FFFD where a character cannot be kept; nearly always the text itself. */
export function clean(text: string): string {
  if (isKept(text)) return text
  return text.replaceAll('\0', '\ufffd').replace(lone, '\ufffd')
}

function isKept(text: string): boolean {
  const { isWellFormed } = String.prototype as { isWellFormed?: () => boolean }
  if (isWellFormed !== undefined) return isWellFormed.call(text) && !text.includes('\0')
  return !text.includes('\0') && text.search(lone) < 0
}
