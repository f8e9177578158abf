import type { Dirent } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { SkippedItem } from '../../catalog/views/layer-source.ts'

/**
 * The most definition files of a folder. A folder with more files is probably the wrong folder. Then only the first files,
 * ordered by path, are read.
 */
const FILES_MAX = 5_000
/**
 * The most folders that are read. They are read again every second while lists are requested. So a whole disk must not be
 * searched by mistake.
 */
const FOLDERS_MAX = 1_000

/** The `source` of a skipped item that is about many files. */
export const ALL_FILES = '*.json'

export type FoundFiles = {
  /** Paths relative to the folder, with `/` between the names, in the order of their code units. */
  readonly files: readonly string[]
  readonly skipped: readonly SkippedItem[]
}

/**
 * Finds the `*.json` files in a folder and its subfolders. Follows links. Ignores hidden files and folders. Skips a subfolder
 * that cannot be read. Rejects if the folder itself cannot be read.
 */
export async function findFiles(root: string): Promise<FoundFiles> {
  const files: string[] = []
  const skipped: SkippedItem[] = []
  const known = new Set<string>()
  const folders = ['']
  // Links are followed last. So a folder that can also be reached without a link has that path, and not the path of the link.
  const links: string[] = []
  for (let at = folders.shift(); at !== undefined; at = folders.shift() ?? links.shift()) {
    if (known.size >= FOLDERS_MAX) {
      skipped.push(tooMany(`there are more than ${FOLDERS_MAX} folders; the others are not read`))
      break
    }
    const read = await readFolder(root, at, known)
    if ('fault' in read) skipped.push({ source: at, pointer: '', message: read.fault })
    else
      for (const entry of read.entries) {
        const path = at === '' ? entry.name : `${at}/${entry.name}`
        if (entry.name.endsWith('.json')) files.push(path)
        else if (entry.isDirectory()) folders.push(path)
        else if (entry.isSymbolicLink() && (await isFolder(join(root, path)))) links.push(path)
      }
  }
  if (files.length > FILES_MAX)
    skipped.push(tooMany(`the folder has ${files.length} files; the first ${FILES_MAX} are read`))
  return { files: files.toSorted((a, b) => (a < b ? -1 : 1)).slice(0, FILES_MAX), skipped }
}

/**
 * The entries of a folder, without hidden ones. Empty if the folder is in `known` already, because it was reached by another
 * path.
 */
async function readFolder(
  root: string,
  at: string,
  known: Set<string>,
): Promise<{ readonly entries: readonly Dirent[] } | { readonly fault: string }> {
  try {
    const real = await realpath(join(root, at))
    if (known.has(real)) return { entries: [] }
    known.add(real)
    const entries = await readdir(real, { withFileTypes: true })
    const shown = entries.filter(({ name }) => !name.startsWith('.'))
    return { entries: shown.toSorted((a, b) => (a.name < b.name ? -1 : 1)) }
  } catch (error) {
    const fault = lastingFault(error as NodeJS.ErrnoException)
    if (at === '' || fault === undefined) throw error
    return { fault }
  }
}

/** The error codes for too many open files of the process or of the system, and for a lack of another resource. */
const MAY_PASS = new Set(['EMFILE', 'ENFILE', 'EAGAIN'])

/** Why a file or folder cannot be read. Undefined for a fault that passes, such as too many open files. */
export function lastingFault({ code }: NodeJS.ErrnoException): string | undefined {
  if (code === 'EACCES' || code === 'EPERM')
    return 'cannot be read: permission denied; let the service read it'
  if (code === 'ENOENT') return 'is gone, or is a link to nothing'
  return code === undefined || MAY_PASS.has(code) ? undefined : `cannot be read: ${code}`
}

async function isFolder(path: string): Promise<boolean> {
  const stats = await stat(path).catch(() => undefined)
  return stats?.isDirectory() === true
}

function tooMany(message: string): SkippedItem {
  return {
    source: ALL_FILES,
    pointer: '',
    message: `${message}. Use a folder that has only definition files.`,
  }
}
