// What the tests of blobs share: folders, and a disk that says what is done to it.
import type { FileHandle } from 'node:fs/promises'
import promises from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join, relative } from 'node:path'
import { afterAll } from 'vitest'
import type { Disk } from '../../src/blob/tree.ts'

const folders: string[] = []
afterAll(async () => {
  for (const folder of folders) await promises.rm(folder, { recursive: true, force: true })
})

export async function newFolder(): Promise<string> {
  const folder = await promises.mkdtemp(join(tmpdir(), 'counterfoil-blob-'))
  folders.push(folder)
  return folder
}

/** A text of its own, by default beyond the threshold. */
export function large(mark: string, bytes = 100_000): string {
  return mark.padEnd(bytes, '.')
}

export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

export async function filesIn(dir: string): Promise<string[]> {
  const entries = await promises.readdir(dir, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => entry.name)
}

export function refuse(code: string): never {
  throw Object.assign(new Error(code), { code, syscall: 'write' })
}

/**
 * Says what is done to the disk, in order, with `digest` instead of long names; `before` is asked
 * first and may delay it or refuse.
 */
export function spied(
  folder: string,
  log: string[],
  before: (what: string) => void | Promise<void> = () => {},
): Disk {
  const named = (path: string) => {
    const name = basename(path).replace(/^[0-9a-f]{64}/, 'digest')
    const short = name.startsWith('digest') ? name : relative(folder, path) || '.'
    return short.replace(/(draft|aside)\..*/, '$1').replace(/blobs\/..$/, 'blobs/xx')
  }
  const say = async (what: string) => {
    log.push(what)
    await before(what)
  }
  const wrapped = (handle: FileHandle, name: string) =>
    new Proxy(handle, {
      get: (target, key) => {
        const value = Reflect.get(target, key, target)
        if (typeof value !== 'function') return value
        return async (...args: unknown[]) => {
          if (key === 'sync' || key === 'writeFile') await say(`${key} ${name}`)
          return Reflect.apply(value, target, args)
        }
      },
    })
  const one = (name: 'unlink' | 'lutimes' | 'mkdir' | 'lstat' | 'readdir') => {
    const original = promises[name] as (...args: unknown[]) => Promise<unknown>
    return async (...args: unknown[]) => {
      await say(`${name} ${named(String(args[0]))}`)
      return original(...args)
    }
  }
  const disk = {
    ...{ unlink: one('unlink'), lutimes: one('lutimes'), mkdir: one('mkdir') },
    ...{ lstat: one('lstat'), readdir: one('readdir') },
    open: async (path: string, flags: string | number, mode?: number) => {
      await say(`open ${named(path)}`)
      return wrapped(await promises.open(path, flags, mode), named(path))
    },
    rename: async (from: string, to: string) => {
      await say(`rename ${named(from)} ${named(to)}`)
      return promises.rename(from, to)
    },
    link: async (from: string, to: string) => {
      await say(`link ${named(from)} ${named(to)}`)
      return promises.link(from, to)
    },
  }
  return disk as unknown as Disk
}
