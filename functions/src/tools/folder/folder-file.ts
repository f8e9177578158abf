import type { ErrorDetail } from '@toolrack/contract'
import { createHash } from 'node:crypto'
import { constants, type BigIntStats, type Dirent } from 'node:fs'
import { lstat, open, realpath, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'
import type { AdmittedModule } from '../modules/admit-module.ts'

/** The most bytes of a file. An upload has the same limit: `BODY_BYTES_MAX.single` here, `SOURCE_BYTES_MAX` in the runner. */
export const FILE_BYTES_MAX = 256 * 1024

/** A file that changed less than this time ago gets no stamp: it may change again in the same tick of the file system's clock. */
const TRUSTED_AFTER_MS = 100

/** A link is refused, because `realpath` has already followed links. A pipe in place of the file does not block the open. */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

export type LoadedModule = AdmittedModule & { readonly loadedAt: Date }

export type FolderFile = {
  readonly file: string
  readonly stamp: string
  /** The digest of the content that was last read. Undefined if the last read failed. */
  readonly sha256?: string | undefined
  /** The last content that passed its check. This module is used as long as a file of this name exists. */
  readonly loaded?: LoadedModule | undefined
  /** The faults of the present content. */
  readonly faults: readonly ErrorDetail[]
}

export type FileRead =
  | { readonly found: 'gone' }
  | { readonly found: 'same' }
  | ({ readonly found: 'content'; readonly source: Uint8Array; readonly sha256: string } & Stamped)
  | ({ readonly found: 'fault'; readonly fault: ErrorDetail } & Stamped)

/** `stamp` changes if the file changes. An empty stamp equals no other stamp. `changedMs` is the time in ms since 1970. */
type Stamped = { readonly stamp: string; readonly changedMs: number }

/** Reads a file of the folder, unless its stamp is still `stamp`. Never rejects. */
export async function readModuleFile(folder: string, entry: Dirent, stamp = ''): Promise<FileRead> {
  const path = join(folder, entry.name)
  try {
    const real = entry.isSymbolicLink() ? await realpath(path) : path
    if (real !== path && !real.startsWith((await realpath(folder)) + sep))
      return faulty(entry, 'file_outside', 'the file is a link out of the folder. Copy it into the folder.')
    const stats = await stat(real, { bigint: true })
    const stamped = stampOf(stats)
    if (stamp !== '' && stamped.stamp === stamp) return { found: 'same' }
    if (!stats.isFile()) return faulty(entry, 'not_a_file', 'this is no file. Give it another name.', stamped)
    return await readContent(real, entry, stamped)
  } catch (error) {
    return whyUnreadable((error as NodeJS.ErrnoException).code, path, entry)
  }
}

type AfterRead = { readonly next: FolderFile; readonly check: 'want' | 'drop' | 'leave' }

/**
 * The file after a read, and whether its content must be checked. `next` is the same object if nothing has changed. Content that
 * was checked is not checked again, unless it was refused and `retry` is true.
 */
export function afterRead(known: FolderFile, read: FileRead, retry: boolean): AfterRead {
  if (read.found === 'same' || read.found === 'gone') return { next: known, check: 'leave' }
  const { file, loaded, faults } = known
  const { stamp } = read
  if (read.found === 'fault') {
    const isKnown = known.sha256 === undefined && faults[0]?.['message'] === read.fault['message']
    return { next: isKnown ? known : { file, stamp, loaded, faults: [read.fault] }, check: 'drop' }
  }
  const { sha256 } = read
  if (known.sha256 === sha256 && !(retry && faults.length > 0))
    return { next: known.stamp === stamp ? known : { ...known, stamp }, check: 'leave' }
  if (loaded?.sha256 === sha256) return { next: { file, stamp, sha256, loaded, faults: [] }, check: 'drop' }
  return { next: { file, stamp, sha256, loaded, faults }, check: 'want' }
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

async function whyUnreadable(code: string | undefined, path: string, entry: Dirent): Promise<FileRead> {
  if (code !== 'ENOENT') {
    const why = code === 'EACCES' || code === 'EPERM' ? 'permission denied' : code
    return faulty(entry, 'file_unreadable', `the file cannot be read (${why}). Let the service read it.`)
  }
  const exists = await lstat(path).catch(() => undefined)
  if (!exists) return { found: 'gone' }
  return faulty(entry, 'file_unreadable', 'the file is a link to nothing. Remove it, or mend the link.')
}

/** The message is the same as that of the runner for an upload. */
function tooLarge(entry: Dirent, bytes: number, stamped: Stamped): FileRead {
  const [size, most] = [bytes, FILE_BYTES_MAX].map((number) => number.toLocaleString('en-US'))
  const sentence = `the file is ${size} bytes; a module may have ${most}. Split it.`
  return faulty(entry, 'source_too_large', sentence, stamped)
}

function faulty(
  { name }: Dirent,
  kind: string,
  sentence: string,
  stamped: Stamped = { stamp: '', changedMs: 0 },
): FileRead {
  const fault = { reason: 'MODULE_INVALID', kind, message: `${name}: ${sentence}` } as const
  return { found: 'fault', fault, ...stamped }
}
