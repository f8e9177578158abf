import { ToolrackError } from '@toolrack/contract'
import type { ModuleFile } from './module-content.ts'

/** The most files of a module. When a folder has more, the rest is not read. The runner has the same limit. */
export const MODULE_FILES_MAX = 64
/** The most folders of a module. Without this limit, a symbolic link to a parent folder would be followed forever. */
export const MODULE_FOLDERS_MAX = 64

/**
 * The most bytes of all files of a module together, as in the runner. As JSON a byte may take six bytes (`\u0000`), and a request
 * to the runner has at most 4 MB.
 */
export const MODULE_FILES_BYTES_MAX = 512 * 1024

/** The most characters of a path in a module. The runner has the same limit, because faults and tracebacks show paths. */
export const MODULE_PATH_LENGTH_MAX = 200

const SEGMENT = /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/

/** True if a file or a folder in a module may have this name. */
export function isModuleSegment(name: string): boolean {
  return SEGMENT.test(name)
}

/** True if a file of a module may have this path. */
export function isModulePath(path: string): boolean {
  return path.length <= MODULE_PATH_LENGTH_MAX && path.split('/').every(isModuleSegment)
}

/**
 * Throws MODULE_INVALID if there are too many files. A body has room for 100,000 empty files. Sorting and hashing them would
 * block the main thread for seconds before the runner gets them. The runner has the same message.
 */
export function refuseManyFiles(name: string, count: number): void {
  if (count <= MODULE_FILES_MAX) return
  const most = `at most ${MODULE_FILES_MAX} are allowed`
  const message = `${name}/: the module has ${count} files; ${most}. Join some, or split the module.`
  const fault = { reason: 'MODULE_INVALID', kind: 'files_too_many', message } as const
  throw new ToolrackError('MODULE_INVALID', message, { details: [fault] })
}

/**
 * Throws MODULE_INVALID if all files together are too large, because the runner accepts no larger request. The runner checks all
 * other rules about the files of a module.
 */
export function refuseLargeFiles(name: string, files: readonly ModuleFile<Uint8Array>[]): void {
  const bytes = files.reduce((sum, { content }) => sum + content.length, 0)
  if (bytes <= MODULE_FILES_BYTES_MAX) return
  const fault = filesTooLarge(name, bytes)
  throw new ToolrackError('MODULE_INVALID', fault.message, { details: [fault] })
}

/** The detail of the error for files that are too large together. The runner has the same message. */
export function filesTooLarge(name: string, bytes: number) {
  const [size, most] = [bytes, MODULE_FILES_BYTES_MAX].map((number) => number.toLocaleString('en-US'))
  const message = `${name}/: the files have ${size} bytes together; ${most} are allowed. Move data out of them.`
  return { reason: 'MODULE_INVALID', kind: 'files_too_large', message } as const
}
