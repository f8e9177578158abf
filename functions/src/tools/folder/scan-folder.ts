import { readdir } from 'node:fs/promises'
import { readModuleFile, type FileRead } from './folder-file.ts'

/** How many modules a folder may have. Modules beyond this number are left out, and the layer reports how many. */
export const FILES_MAX = 2_000

const READS_AT_ONCE = 16

/** Excludes hidden files (`.`), private files (`_`), and the temporary files of editors. */
const MODULE_FILE = /^[^._].*\.py$/su

/** The result of a scan of the whole folder. `surplus` is the number of modules beyond `FILES_MAX`. */
export type FolderScan =
  | { readonly found: 'folder'; readonly files: ReadonlyMap<string, FileRead>; readonly surplus: number }
  | { readonly found: 'nothing' }
  | { readonly found: 'fault'; readonly reason: string }

/** Reads every module of the folder, by file name. A module that still has the stamp of `stampOf` is not read. Never rejects. */
export async function scanFolder(
  folder: string,
  stampOf: (file: string) => string | undefined,
): Promise<FolderScan> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(
    (error: unknown) => error as NodeJS.ErrnoException,
  )
  if (!Array.isArray(entries)) return withoutFolder(entries)
  const found = entries.filter(({ name }) => isModuleFile(name))
  const modules = found.toSorted((a, b) => (a.name < b.name ? -1 : 1)).slice(0, FILES_MAX)
  const files = new Map<string, FileRead>()
  for (let start = 0; start < modules.length; start += READS_AT_ONCE) {
    const reads = modules.slice(start, start + READS_AT_ONCE).map(async (entry) => {
      const read = await readModuleFile(folder, entry, stampOf(entry.name))
      return [entry.name, read] as const
    })
    for (const [name, read] of await Promise.all(reads)) if (read.found !== 'gone') files.set(name, read)
  }
  return { found: 'folder', files, surplus: found.length - modules.length }
}

/** True if a file with this name is a module of the folder. Other files are ignored. */
export function isModuleFile(name: string): boolean {
  return MODULE_FILE.test(name)
}

/** The name of the module in a file. The runner decides whether a module can have this name. */
export function moduleNameOf(file: string): string {
  return file.slice(0, -'.py'.length)
}

function withoutFolder({ code }: NodeJS.ErrnoException): FolderScan {
  if (code === 'ENOENT') return { found: 'nothing' }
  if (code === 'ENOTDIR') return { found: 'fault', reason: 'It is not a folder.' }
  if (code === 'EACCES' || code === 'EPERM')
    return { found: 'fault', reason: 'It cannot be read: permission denied; let the service read it.' }
  return { found: 'fault', reason: `It cannot be read (${code}).` }
}
