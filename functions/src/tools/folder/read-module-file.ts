import type { ErrorDetail } from '@toolrack/contract'
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import type { BigIntStats, Dirent } from 'node:fs'
import { lstat, open, realpath, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'

/** As much as an upload may have (design, section 11). */
export const FILE_BYTES_MAX = 256 * 1024

/** A file that changed so short a time ago may change once more within the same tick of the file system's clock. */
const TRUSTED_AFTER_MS = 100

/** Of a link only what it leads to is opened, and a pipe that took a file's place holds nobody up. */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** What a look at one file has brought. */
export type FileRead =
  | { readonly found: 'gone' }
  | { readonly found: 'same' }
  | ({ readonly found: 'content'; readonly source: Uint8Array; readonly sha256: string } & Stamped)
  | ({ readonly found: 'fault'; readonly fault: ErrorDetail } & Stamped)

/** `stamp` tells a file from what it becomes; an empty one is never the same. `changedMs` is since 1970. */
type Stamped = { readonly stamp: string; readonly changedMs: number }

/** Reads a file of the folder, unless it still has the stamp. Never rejects. */
export async function readModuleFile(folder: string, entry: Dirent, stamp?: string): Promise<FileRead> {
  const path = join(folder, entry.name)
  try {
    const real = entry.isSymbolicLink() ? await realpath(path) : path
    if (real !== path && !real.startsWith((await realpath(folder)) + sep))
      return faulty(entry, 'file_outside', 'the file is a link out of the folder. Copy it into the folder.')
    const stats = await stat(real, { bigint: true })
    const found = stampOf(stats)
    if (stamp !== undefined && stamp !== '' && found.stamp === stamp) return { found: 'same' }
    if (!stats.isFile()) return faulty(entry, 'not_a_file', 'this is no file. Give it another name.', found)
    return await readContent(real, entry, found)
  } catch (error) {
    return lost(error as NodeJS.ErrnoException, path, entry)
  }
}

async function readContent(path: string, entry: Dirent, stamped: Stamped): Promise<FileRead> {
  await using file = await open(path, FLAGS)
  const { size } = await file.stat()
  if (size > FILE_BYTES_MAX) return tooLarge(entry, size, stamped)
  const source = await file.readFile()
  if (source.length > FILE_BYTES_MAX) return tooLarge(entry, source.length, stamped)
  return { found: 'content', source, sha256: createHash('sha256').update(source).digest('hex'), ...stamped }
}

function stampOf({ ino, size, mtimeNs, ctimeNs, ctimeMs }: BigIntStats): Stamped {
  const changedMs = Number(ctimeMs)
  const stamp = Date.now() - changedMs < TRUSTED_AFTER_MS ? '' : [ino, size, mtimeNs, ctimeNs].join(' ')
  return { stamp, changedMs }
}

async function lost(error: NodeJS.ErrnoException, path: string, entry: Dirent): Promise<FileRead> {
  if (error.code !== 'ENOENT') {
    const why = error.code === 'EACCES' || error.code === 'EPERM' ? 'permission denied' : error.code
    return faulty(entry, 'file_unreadable', `the file can not be read (${why}). Let the service read it.`)
  }
  const isThere = await isAnything(path)
  if (!isThere) return { found: 'gone' }
  return faulty(entry, 'file_unreadable', 'the file is a link to nothing. Remove it, or mend the link.')
}

async function isAnything(path: string): Promise<boolean> {
  try {
    await lstat(path)
    return true
  } catch {
    return false
  }
}

/** In the words that the runner has for a file that is sent to it. */
function tooLarge(entry: Dirent, bytes: number, stamped: Stamped): FileRead {
  const [size, most] = [bytes, FILE_BYTES_MAX].map((number) => number.toLocaleString('en-US'))
  return faulty(
    entry,
    'source_too_large',
    `the file is ${size} bytes; a module may have ${most}. Split it.`,
    stamped,
  )
}

function faulty({ name }: Dirent, kind: string, sentence: string, stamped?: Stamped): FileRead {
  const fault = { reason: 'MODULE_INVALID', kind, message: `${name}: ${sentence}` } as const
  return { found: 'fault', fault, stamp: stamped?.stamp ?? '', changedMs: stamped?.changedMs ?? 0 }
}
