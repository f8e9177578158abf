import { readdir } from 'node:fs/promises'
import { readModuleFile, type FileRead } from './folder-file.ts'

/** The most modules of one folder. Those beyond are left out, and the layer says so. */
export const FILES_MAX = 2_000

const READS_AT_ONCE = 16

/** Names that begin with `.` or `_` are hidden or private. What editors leave beside a file begins with a dot or ends otherwise. */
const MODULE_FILE = /^[^._].*\.py$/su

/** What a look at the whole folder has found; `left` counts the modules beyond the most. */
export type FolderScan =
  | { readonly found: 'folder'; readonly files: ReadonlyMap<string, FileRead>; readonly left: number }
  | { readonly found: 'nothing' }
  | { readonly found: 'fault'; readonly reason: string }

/** Reads every module of the folder whose stamp is not the known one, by file name. Never rejects. */
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
    const some = modules.slice(start, start + READS_AT_ONCE)
    const reads = await Promise.all(some.map((entry) => readModuleFile(folder, entry, stampOf(entry.name))))
    for (const [index, { name }] of some.entries()) {
      const read = reads[index]
      if (read && read.found !== 'gone') files.set(name, read)
    }
  }
  return { found: 'folder', files, left: found.length - modules.length }
}

/** True if a file of this name is a module of the folder. Any other is ignored. */
export function isModuleFile(name: string): boolean {
  return MODULE_FILE.test(name)
}

/** The name of the module in a file. The runner decides whether a module can have it. */
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
