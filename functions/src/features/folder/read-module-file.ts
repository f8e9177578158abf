import { constants, type BigIntStats, type Dirent } from 'node:fs'
import { lstat, open, realpath, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { contentSha256 } from '../../catalog/definitions/module-content.ts'
import type { FileFault, FileRead, Stamped } from './folder-file.ts'

/** The most bytes of a file. An upload has the same limit: `BODY_BYTES_MAX.single` here, `SOURCE_BYTES_MAX` in the runner. */
export const FILE_BYTES_MAX = 256 * 1024

/**
 * A file that was changed less than this many milliseconds ago gets no stamp. It may change again within the same tick of the
 * file system's clock, and the stamp would stay the same.
 */
const TRUSTED_AFTER_MS = 100

/**
 * How a file is opened. A link is refused, because `realpath` has already followed all links. If the file is a pipe, opening it
 * does not block.
 */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** A file in the watched folder `root`. `path` is relative to `root`, and is the name of the file in messages. */
export type Place = { readonly root: string; readonly path: string; readonly isLink: boolean }

type Gone = { readonly found: 'gone' }
export type InspectedFile = { readonly found: 'file'; readonly real: string; readonly size: number } & Stamped
export type FileBytes = { readonly found: 'bytes'; readonly bytes: Uint8Array }

/** Reads a module that is a single file, unless its stamp is still `stamp`. Never rejects. */
export async function readModuleFile(folder: string, entry: Dirent, stamp = ''): Promise<FileRead> {
  const place = { root: folder, path: entry.name, isLink: entry.isSymbolicLink() }
  const file = await inspectFile(place)
  if (file.found !== 'file') return file
  if (stamp !== '' && file.stamp === stamp) return { found: 'same' }
  const read = await readFileBytes(place, file, FILE_BYTES_MAX)
  if (read.found !== 'bytes') return read
  const content = { source: read.bytes }
  const { changedMs } = file
  return { found: 'content', ...content, sha256: contentSha256(content), stamp: file.stamp, changedMs }
}

/** Finds a file, without reading it. Follows a link that stays in the watched folder. Never rejects. */
export function inspectFile(place: Place): Promise<InspectedFile | FileFault | Gone> {
  return orFault(place, async () => {
    const found = await followed(place)
    if ('fault' in found) return found
    const stats = await stat(found.real, { bigint: true })
    const stamped = stampOf(stats)
    if (!stats.isFile()) return faulty(place, 'not_a_file', 'this is no file. Give it another name.', stamped)
    return { found: 'file', real: found.real, size: Number(stats.size), ...stamped }
  })
}

/** The bytes of a file that `inspectFile` has found. Never rejects. */
export function readFileBytes(
  place: Place,
  { real, stamp, changedMs }: InspectedFile,
  bytesMax: number,
): Promise<FileBytes | FileFault | Gone> {
  return orFault(place, async () => {
    await using file = await open(real, FLAGS)
    const { size } = await file.stat()
    const bytes = size > bytesMax ? undefined : await file.readFile()
    if (bytes && bytes.length <= bytesMax) return { found: 'bytes', bytes }
    return tooLarge(place, bytes?.length ?? size, { stamp, changedMs })
  })
}

/** The real path of a file or link, or the fault of a link that leads out of the watched folder. */
export async function followed(place: Place): Promise<{ readonly real: string } | FileFault> {
  const { root, path, isLink } = place
  const full = join(root, path)
  const real = isLink ? await realpath(full) : full
  if (real === full || real.startsWith((await realpath(root)) + sep)) return { real }
  return faulty(place, 'file_outside', 'the file is a link out of the folder. Copy it into the folder.')
}

/**
 * Returns the outcome of `act`. If `act` rejects, returns the fault of a file that cannot be read, or `gone` if the file does not
 * exist.
 */
export async function orFault<Outcome>(
  place: Place,
  act: () => Promise<Outcome>,
): Promise<Outcome | FileFault | Gone> {
  try {
    return await act()
  } catch (error) {
    return whyUnreadable((error as NodeJS.ErrnoException).code, place)
  }
}

function stampOf({ ino, size, mtimeNs, ctimeNs, ctimeMs }: BigIntStats): Stamped {
  const changedMs = Number(ctimeMs)
  const stamp = Date.now() - changedMs < TRUSTED_AFTER_MS ? '' : [ino, size, mtimeNs, ctimeNs].join(' ')
  return { stamp, changedMs }
}

async function whyUnreadable(code: string | undefined, place: Place): Promise<FileFault | Gone> {
  if (code !== 'ENOENT') {
    const why = code === 'EACCES' || code === 'EPERM' ? 'permission denied' : code
    return faulty(place, 'file_unreadable', `the file cannot be read (${why}). Let the service read it.`)
  }
  const exists = await lstat(join(place.root, place.path)).catch(() => undefined)
  if (!exists) return { found: 'gone' }
  return faulty(place, 'file_unreadable', 'the file is a link to nothing. Remove it, or mend the link.')
}

/** The fault of a file that is too large. The message is the same as that of the runner for an upload. */
function tooLarge(place: Place, bytes: number, stamped: Stamped): FileFault {
  const [size, most] = [bytes, FILE_BYTES_MAX].map((number) => number.toLocaleString('en-US'))
  const sentence = `the file is ${size} bytes; a module may have ${most}. Split it.`
  return faulty(place, 'source_too_large', sentence, stamped)
}

export function faulty(
  { path }: Pick<Place, 'path'>,
  kind: string,
  sentence: string,
  stamped: Stamped = { stamp: '', changedMs: 0 },
): FileFault {
  const fault = { reason: 'MODULE_INVALID', kind, message: `${path}: ${sentence}` } as const
  return { found: 'fault', fault, ...stamped }
}
