// The console's files and the pages about errors. Both are listed once and served by their names in
// that list, so that no path leads anywhere else.
import { readdir, readFile } from 'node:fs/promises'
import { sha256 } from '../model/json/canonical.ts'
import { pageOf } from './markdown.ts'

interface File {
  readonly bytes: Buffer
  readonly type: string
  readonly tag: string
}

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  json: 'application/json; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  ico: 'image/x-icon',
  woff2: 'font/woff2',
  txt: 'text/plain; charset=utf-8',
  webmanifest: 'application/manifest+json',
}

// From the sources the built console lies elsewhere than from what is built.
const fromSources = import.meta.url.endsWith('.ts')
const consoleDir = new URL(fromSources ? '../../dist/console/' : '../console/', import.meta.url)
const errorsDir = new URL('../../docs/errors/', import.meta.url)

export type Pages = (request: Request, url: URL) => Promise<Response | null>

export function createPages(): Pages {
  let files: Promise<Map<string, File>> | null = null
  let errors: Promise<Map<string, File>> | null = null
  return async (request, { pathname }) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return null
    if (pathname.startsWith('/v1/')) return null
    if (pathname.startsWith('/errors/')) {
      errors ??= filesIn(errorsDir)
      return errorPage(await errors, pathname.slice('/errors/'.length), request)
    }
    files ??= filesIn(consoleDir)
    return consoleFile(await files, pathname, request)
  }
}

/** Every file below a folder by its path in a URL; none if there is no such folder. */
async function filesIn(dir: URL): Promise<Map<string, File>> {
  const found = new Map<string, File>()
  const names = await readdir(dir, { recursive: true, withFileTypes: true }).catch(() => [])
  const root = decodeURIComponent(dir.pathname)
  for (const entry of names) {
    if (!entry.isFile()) continue
    const path = `${entry.parentPath}/${entry.name}`.replace(/\/+/g, '/').slice(root.length)
    const bytes = await readFile(new URL(path.split('/').map(encodeURIComponent).join('/'), dir))
    const type = types[path.slice(path.lastIndexOf('.') + 1)] ?? 'application/octet-stream'
    found.set(`/${path}`, {
      bytes,
      type,
      tag: `"${sha256(bytes.toString('latin1')).slice(0, 32)}"`,
    })
  }
  return found
}

function consoleFile(files: Map<string, File>, path: string, request: Request): Response | null {
  const file = files.get(path)
  if (file && path !== '/index.html') return fileOf(file, request, path.startsWith('/assets/'))
  // A page of the console: which one, its own script reads from the address.
  // The ids of runs and items may have dots in them, so only what lies where files lie is one.
  if (/^\/(?:assets\/.*|[^/]+\.\w+)$/.test(path) && path !== '/index.html') return null
  const index = files.get('/index.html')
  return index ? fileOf(index, request, false) : html(unbuilt)
}

function fileOf({ bytes, type, tag }: File, request: Request, isHashed: boolean): Response {
  const cache = isHashed ? 'public, max-age=31536000, immutable' : 'no-cache'
  const headers = { 'content-type': type, etag: tag, 'cache-control': cache }
  if (request.headers.get('if-none-match') === tag)
    return new Response(null, { status: 304, headers })
  return new Response(new Uint8Array(bytes), { headers })
}

function html(text: string): Response {
  return new Response(text, { headers: { 'content-type': 'text/html; charset=utf-8' } })
}

const unbuilt = pageOf(
  'Counterfoil',
  [
    '# Counterfoil',
    'The server runs. The console is not built here: `npm run build` builds it.',
    'The API is described at /v1/openapi.json.',
  ].join('\n\n'),
)

function errorPage(files: Map<string, File>, code: string, request: Request): Response | null {
  const file = /^[A-Z][A-Z0-9_]{0,63}$/.test(code) ? files.get(`/${code}.md`) : undefined
  if (file === undefined) return null
  const text = file.bytes.toString('utf8')
  if ((request.headers.get('accept') ?? '').includes('text/markdown')) {
    return new Response(text, { headers: { 'content-type': 'text/markdown; charset=utf-8' } })
  }
  return html(pageOf(code, text))
}
