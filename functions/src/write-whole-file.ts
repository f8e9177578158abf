import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** The end of the name of a file that is not finished. Nothing reads such a file. */
export const UNFINISHED = '.new'

/**
 * Writes a file that only this account can read. If the write is interrupted, the path has the old content or the whole new
 * content.
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

/** Gives an unfinished file its name. Its content must be on the disk. Returns when the name is on the disk too. */
export function placeFinished(path: string): void {
  renameSync(path + UNFINISHED, path)
  syncFolder(dirname(path))
}

/** Returns when the names of the files in a folder are on the disk, if the system and the file system can say so. */
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
