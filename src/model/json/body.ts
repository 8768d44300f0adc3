// Bodies of requests, as every route of ours takes them: so many bytes, of UTF-8.
import { errorFor } from '../errors.ts'

/** The bytes of a body; no more than so many are read. */
export async function readBytes(request: Request, bytesMax: number): Promise<Uint8Array> {
  const tooLarge = () => errorFor('BODY_TOO_LARGE', bytesMax)
  if (Number(request.headers.get('content-length') ?? 0) > bytesMax) throw tooLarge()
  const parts: Uint8Array[] = []
  let length = 0
  const reader = request.body?.getReader()
  for (;;) {
    const part = await reader?.read()
    if (part === undefined || part.done) break
    length += part.value.byteLength
    if (length > bytesMax) {
      await reader?.cancel()
      throw tooLarge()
    }
    parts.push(part.value)
  }
  return Buffer.concat(parts)
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Throws a TypeError for what is not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string {
  return utf8.decode(bytes)
}
