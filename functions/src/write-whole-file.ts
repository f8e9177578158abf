import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** The suffix of the name of a file that is still being written. Nothing reads such a file. */
export const UNFINISHED = '.new'

/**
 * Writes a file that only this user account can read. If the write is interrupted, the file still has its old content, or already
 * the whole new content.
 */
export function writeWholeFile(path: string, text: string): void {
  const unfinished = path + UNFINISHED
  rmSync(unfinished, { force: true })
  const file = openSync(unfinished, 'wx', 0o600)
  try {
    writeFileSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  placeFinished(path)
}

/**
 * Renames a finished file to its own name. Its content must already be on the disk. Returns when the new name is on the disk too.
 */
export function placeFinished(path: string): void {
  renameSync(path + UNFINISHED, path)
  syncFolder(dirname(path))
}

/**
 * Returns when the names of the files in a folder are on the disk. Some systems and file systems cannot guarantee this. There it
 * does nothing.
 */
export function syncFolder(path: string): void {
  let folder: number | undefined
  try {
    folder = openSync(path, 'r')
    fsyncSync(folder)
  } catch {
    // Windows and some network file systems refuse this call. They keep names in their own way.
  } finally {
    if (folder !== undefined) closeSync(folder)
  }
}
