import { accessSync, constants, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { ConfigReport } from '../config.ts'
import { ConfigError } from '../../settings/variables.ts'

/** Sources of a setting that have no more precise place, such as the line of a file. */
const WITHOUT_PLACE = new Set(['default', 'environment', 'command line'])

/**
 * Throws one ConfigError with all faults of the settings, and of the files and folders that they name. If the only fault is one
 * unusable path, it is not reported here. The code that opens the path reports it in more detail, with its own exit code.
 */
export function refuseUnusable(report: ConfigReport): void {
  const paths = unusablePaths(report)
  if (report.faults.length + paths.length > 1) throw new ConfigError(...report.faults, ...paths)
}

/** A sentence for each folder that does not exist, and for each file and folder that cannot be written. */
function unusablePaths({ inForce }: ConfigReport): readonly string[] {
  const set = (name: string): string | undefined => {
    const value = inForce.get(name)?.value
    return typeof value === 'string' ? resolve(value) : undefined
  }
  /** The subject of a sentence about a fault: the variable, or the line of the file in which the value is. */
  const placeOf = (name: string): string => {
    const from = inForce.get(name)?.from
    return from === undefined || WITHOUT_PLACE.has(from) ? name : from
  }
  const folders = ['TOOLRACK_DEFS_DIR', 'TOOLRACK_TOOLS_DIR'].flatMap((name) => {
    const path = set(name)
    return path === undefined || isFolder(path)
      ? []
      : [`${placeOf(name)}: ${path} is not a folder that can be read`]
  })
  const is = (name: string, value: string): boolean => inForce.get(name)?.value === value
  const isAudited = !is('TOOLRACK_AUDIT', 'off')
  const written = [
    ...(is('TOOLRACK_STORE', 'firestore') && is('TOOLRACK_AUTH', 'firebase') ? [] : ['TOOLRACK_DATA']),
    ...(isAudited ? ['TOOLRACK_AUDIT_LOG_PATH'] : []),
  ].flatMap((name) => {
    const path = set(name)
    const fault = path === undefined ? undefined : whyNotWritten(path, name === 'TOOLRACK_DATA')
    return fault === undefined ? [] : [`${placeOf(name)}: ${path} cannot be written (${fault})`]
  })
  return [...folders, ...written]
}

function isFolder(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.X_OK)
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}

/**
 * Why the path cannot be written. Undefined if it can be written. If the server makes the folder, with the folders above it, a
 * missing folder is no fault. A missing file is a fault.
 */
function whyNotWritten(path: string, isMadeFolder: boolean): string | undefined {
  try {
    accessSync(path, constants.W_OK)
    return statSync(path).isDirectory() === isMadeFolder ? undefined : isMadeFolder ? 'ENOTDIR' : 'EISDIR'
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    const above = dirname(path)
    if (code !== 'ENOENT' || above === path) return code
    const fault = whyNotWritten(above, true)
    return fault === undefined && !isMadeFolder && !isFolder(above) ? 'ENOENT' : fault
  }
}
