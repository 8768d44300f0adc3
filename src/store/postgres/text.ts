// What Postgres can hold as text: no NUL, and nothing that is not Unicode.

const lone = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g

/** The same text with U+FFFD where a character cannot be kept; nearly always the text itself. */
export function clean(text: string): string {
  const { isWellFormed } = text as string & { isWellFormed(): boolean }
  if (isWellFormed.call(text) && !text.includes('\0')) return text
  return text.replaceAll('\0', '\ufffd').replace(lone, '\ufffd')
}
