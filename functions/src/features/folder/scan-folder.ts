import type { Dirent } from 'node:fs'
import { lstat, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { INIT_FILE } from '../../catalog/definitions/module-content.ts'
import type { FileRead } from './folder-file.ts'
import { readModuleFile } from './read-module-file.ts'
import { readModuleFolder } from './read-module-folder.ts'

/** How many modules a folder may have. Modules beyond this number are left out, and the layer reports how many. */
export const FILES_MAX = 2_000

/** How many files are read at the same time, so that not all files of a large folder are open at once. */
const READS_AT_ONCE = 16

/**
 * The name of a file that can be a module. Names that begin with `.` or `_` cannot, nor can those of editors' temporary files.
 */
const MODULE_FILE = /^[^._].*\.py$/su
const INIT_IN_FOLDER = `/${INIT_FILE}`

/** The result of a scan of the whole folder. `surplus` is the number of modules beyond `FILES_MAX`. */
export type FolderScan =
  | { readonly found: 'folder'; readonly files: ReadonlyMap<string, FileRead>; readonly surplus: number }
  | { readonly found: 'nothing' }
  | { readonly found: 'fault'; readonly reason: string }

type Listed = { readonly file: string; readonly entry: Dirent; readonly isFolder: boolean }

/**
 * Reads every module of the folder. The result is by file name. A module that still has the stamp that `stampOf` returns is not
 * read again. Calls `watch` with the path of each subfolder that is a module or can become one, before the subfolder is read.
 * Never rejects.
 */
export async function scanFolder(
  folder: string,
  stampOf: (file: string) => string | undefined,
  watch: (path: string) => void = () => undefined,
): Promise<FolderScan> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(
    (error: unknown) => error as NodeJS.ErrnoException,
  )
  if (!Array.isArray(entries)) return withoutFolder(entries)
  const found = (await Promise.all(entries.map((entry) => listed(folder, entry, watch)))).flat()
  const modules = found.toSorted((a, b) => (a.file < b.file ? -1 : 1)).slice(0, FILES_MAX)
  const files = new Map<string, FileRead>()
  for (let start = 0; start < modules.length; start += READS_AT_ONCE) {
    const reads = modules.slice(start, start + READS_AT_ONCE).map(async ({ file, entry, isFolder }) => {
      const stamp = stampOf(file)
      const read = isFolder
        ? await readModuleFolder(folder, entry, { stamp, watch })
        : await readModuleFile(folder, entry, stamp)
      return [file, read] as const
    })
    for (const [file, read] of await Promise.all(reads)) if (read.found !== 'gone') files.set(file, read)
  }
  return { found: 'folder', files, surplus: found.length - modules.length }
}

/** True if a file with this name is a module of the folder. Other files are ignored. */
export function isModuleFile(name: string): boolean {
  return MODULE_FILE.test(name)
}

/**
 * A list with the one module in an entry of the folder, or an empty list. A folder without `__init__.py` is no module, but is
 * watched, because it may get this file later.
 */
async function listed(
  folder: string,
  entry: Dirent,
  watch: (path: string) => void,
): Promise<readonly Listed[]> {
  const { name } = entry
  if (isModuleFile(name)) return [{ file: name, entry, isFolder: false }]
  if (/^[._]/.test(name)) return []
  const path = join(folder, name)
  const isFolder = entry.isSymbolicLink()
    ? (await stat(path).catch(() => undefined))?.isDirectory()
    : entry.isDirectory()
  if (!isFolder) return []
  watch(path)
  const init = await lstat(join(path, INIT_FILE)).catch(() => undefined)
  return init ? [{ file: `${name}${INIT_IN_FOLDER}`, entry, isFolder: true }] : []
}

/**
 * The name of the module in a file, or in a folder with `__init__.py`. Whether a module may have this name is decided by the
 * runner.
 */
export function moduleNameOf(file: string): string {
  return file.slice(0, -(file.endsWith(INIT_IN_FOLDER) ? INIT_IN_FOLDER : '.py').length)
}

/** The other file that would make a module of the same name: `weather/__init__.py` for `weather.py`, and the reverse. */
export function otherFormOf(file: string): string {
  return `${moduleNameOf(file)}${file.endsWith(INIT_IN_FOLDER) ? '.py' : INIT_IN_FOLDER}`
}

function withoutFolder({ code }: NodeJS.ErrnoException): FolderScan {
  if (code === 'ENOENT') return { found: 'nothing' }
  if (code === 'ENOTDIR') return { found: 'fault', reason: 'It is not a folder.' }
  if (code === 'EACCES' || code === 'EPERM')
    return { found: 'fault', reason: 'It cannot be read: permission denied; let the service read it.' }
  return { found: 'fault', reason: `It cannot be read (${code}).` }
}
