import { ToolrackError } from '@toolrack/contract'
import type { ModuleFile } from './module-content.ts'

/** The most files of a module, and the most folders in which they may lie. The runner has the same limits. */
export const MODULE_FILES_MAX = 64
export const MODULE_FOLDERS_MAX = 64

/** The most bytes of all files of a module together. The runner has the same limit. */
export const MODULE_FILES_BYTES_MAX = 512 * 1024

/** The most characters of a path in a module. The runner has the same limit. */
export const MODULE_PATH_LENGTH_MAX = 200

const SEGMENT = /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/

/** True for a name that a file or a folder in a module may have. The runner refuses files with other names. */
export function isModuleSegment(name: string): boolean {
  return SEGMENT.test(name)
}

/** Throws BODY_TOO_LARGE, because the runner reads no larger request. The runner decides all other rules about files. */
export function refuseLargeFiles(files: readonly ModuleFile<Uint8Array>[]): void {
  const bytes = files.reduce((sum, { content }) => sum + content.length, 0)
  if (bytes <= MODULE_FILES_BYTES_MAX) return
  const [size, most] = [bytes, MODULE_FILES_BYTES_MAX].map((number) => number.toLocaleString('en-US'))
  throw new ToolrackError('BODY_TOO_LARGE', `The files have ${size} bytes together; ${most} are allowed.`)
}
