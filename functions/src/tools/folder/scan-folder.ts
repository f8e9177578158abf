import { readdir } from 'node:fs/promises'
import { isModuleFile } from './module-file-name.ts'
import { readModuleFile } from './read-module-file.ts'
import type { FileRead } from './read-module-file.ts'

/** More modules than anybody means to keep in one folder; the others are told to be left out. */
export const FILES_MAX = 2_000

/** Files that are open at the same time. */
const READS_AT_ONCE = 16

/** A look at the whole folder; `left` counts the modules beyond those that a folder may have. */
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
  const modules = entries
    .filter(({ name }) => isModuleFile(name))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const files = new Map<string, FileRead>()
  for (let start = 0; start < Math.min(modules.length, FILES_MAX); start += READS_AT_ONCE) {
    const some = modules.slice(start, Math.min(start + READS_AT_ONCE, FILES_MAX))
    const reads = await Promise.all(some.map((entry) => readModuleFile(folder, entry, stampOf(entry.name))))
    for (const [index, { name }] of some.entries()) {
      const read = reads[index]
      if (read && read.found !== 'gone') files.set(name, read)
    }
  }
  return { found: 'folder', files, left: Math.max(0, modules.length - FILES_MAX) }
}

function withoutFolder({ code }: NodeJS.ErrnoException): FolderScan {
  if (code === 'ENOENT') return { found: 'nothing' }
  if (code === 'ENOTDIR') return { found: 'fault', reason: 'It is not a folder.' }
  if (code === 'EACCES' || code === 'EPERM')
    return { found: 'fault', reason: 'It can not be read: permission denied; let the service read it.' }
  return { found: 'fault', reason: `It can not be read (${code}).` }
}
