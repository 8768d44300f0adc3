// Where the database may lie. Everything here only looks: the database file itself is never opened,
// because closing any handle on it would drop SQLite's locks of this process (POSIX).
import { accessSync, constants, lstatSync, realpathSync, statfsSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { CounterfoilError } from '../../../model/errors.ts'
import { storeError } from './errors.ts'

/** The path without links, so that everyone finds the same key file and log beside it. */
export function locate(given: string): string {
  if (given === '' || given === ':memory:') {
    const says = 'SQLite in memory keeps nothing; name a file, or open memory: instead'
    throw storeError('STORE_NOT_DURABLE', given || '(no path)', { says })
  }
  const path = resolve(given)
  const directory = realDirectory(path)
  const real = realFile(path) ?? join(directory, basename(path))
  checkWritable(dirname(real), real)
  return real
}

function realDirectory(path: string): string {
  try {
    return realpathSync(dirname(path))
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code
    if (code === 'EACCES') throw storeError('STORE_READ_ONLY', path, { cause })
    const says = `its directory does not exist; create it first: mkdir -p ${dirname(path)}`
    throw storeError('STORE_PATH_MISSING', path, { says, cause })
  }
}

function realFile(path: string): string | null {
  const link = lstatSync(path, { throwIfNoEntry: false })
  if (link === undefined) return null
  try {
    const real = realpathSync(path)
    if (statSync(real).isFile()) return real
  } catch (cause) {
    const says = 'this is a broken link; create its target, or remove it'
    throw storeError('STORE_PATH_MISSING', path, { says, cause })
  }
  const says = 'this is not a file; name the database file itself'
  throw storeError('STORE_NOT_A_DATABASE', path, { says })
}

function checkWritable(directory: string, path: string): void {
  for (const place of [directory, path, `${path}-wal`, `${path}-shm`]) {
    try {
      accessSync(place, constants.R_OK | constants.W_OK)
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === 'ENOENT') continue
      const says = `${place} cannot be written; give this user permission, or choose another place`
      throw storeError('STORE_READ_ONLY', path, { says, cause })
    }
  }
}

const networkTypes = new Map([
  [0x6969, 'NFS'],
  [0xff534d42, 'CIFS'],
  [0x517b, 'SMB'],
  [0xfe534d42, 'SMB2'],
  [0x01021997, '9p'],
  [0x65735546, 'FUSE'],
  [0x5346414f, 'AFS'],
  [0x6b414653, 'AFS'],
  [0x00c36400, 'Ceph'],
  [0x01161970, 'GFS2'],
  [0x0bd00bd0, 'Lustre'],
  [0x7461636f, 'OCFS2'],
  [0x47504653, 'GPFS'],
  [0x19830326, 'BeeGFS'],
  [0xaad7aaea, 'PanFS'],
  [0x73757245, 'Coda'],
  [0x564c, 'NCP'],
  [0x786f4256, 'VirtualBox shared folder'],
  [0xbacbacbc, 'VMware shared folder'],
  [0x7c7c6673, 'Parallels shared folder'],
])

export interface FileSystemLook {
  platform: NodeJS.Platform
  /** The number of the file system's type that holds this directory. */
  typeOf: (directory: string) => number
}

export const systemLook: FileSystemLook = {
  platform: process.platform,
  typeOf: (directory) => statfsSync(directory).type,
}

/**
 * Refuses network file systems (I8): their locks and syncs are promises of someone else. Known on
 * Linux by the type's number and on Windows by the path; on macOS nothing is refused.
 */
export function checkFileSystem(path: string, look: FileSystemLook = systemLook): void {
  if (look.platform === 'win32' && /^(\\\\|\/\/)(?![?.])/.test(path)) {
    throw networkFs(path, 'a network share')
  }
  if (look.platform !== 'linux') return
  const name = networkTypes.get(look.typeOf(dirname(path)) >>> 0)
  if (name !== undefined) throw networkFs(path, name)
}

function networkFs(path: string, name: string): CounterfoilError {
  const says =
    `it lies on ${name}, where locks and syncs are not reliable; put it on a local disk, or ` +
    'open it with allowNetworkFs if you know that they hold there'
  return storeError('STORE_NETWORK_FS', path, { says })
}
