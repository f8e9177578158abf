import type { JsonObject, JsonValue } from '@toolrack/contract'
import { readFileSync, statSync } from 'node:fs'
import { linesOf } from '../../json/json-lines.ts'
import { readJson } from '../../json/read-json.ts'
import { JSON_DEPTH_MAX } from '../../json/scan-json.ts'

/** The most bytes of a file of settings. */
const SETTINGS_BYTES_MAX = 1024 * 1024

const OF_OTHERS = 0o044

/** A JSON object with settings. `place` returns where a value is, as the subject of a sentence. */
export type JsonSettings = {
  readonly value: JsonObject
  readonly place: (pointer: string) => string
}

type SettingsFile = JsonSettings & {
  /** True if other accounts of this machine can read the file. */
  readonly isOpen: boolean
}

/** Reads the JSON object in the file at `path`. If there is none, returns why. `variable` is the variable that names the file. */
export function readSettingsFile(variable: string, path: string): SettingsFile | { readonly fault: string } {
  try {
    const stat = statSync(path)
    if (!stat.isFile()) return { fault: `${variable}: ${path} is not a file` }
    if (stat.size > SETTINGS_BYTES_MAX)
      return { fault: `${variable}: ${path} has more than ${SETTINGS_BYTES_MAX} bytes` }
    const found = readSettings(path, readFileSync(path))
    return 'fault' in found ? found : { ...found, isOpen: (stat.mode & OF_OTHERS) !== 0 }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    return { fault: `${variable}: ${path} cannot be read (${code})` }
  }
}

/** Reads the JSON object in the bytes. If there is none, returns why. `source` says where the bytes come from. */
export function readSettings(source: string, bytes: Uint8Array): JsonSettings | { readonly fault: string } {
  const read = readJson(bytes, JSON_DEPTH_MAX)
  if ('fault' in read)
    return { fault: `${source} ${read.fault.pointer} ${read.fault.message}`.replace('  ', ' ') }
  if (!isObject(read.value)) return { fault: `${source} must be a JSON object` }
  const lines = linesOf(Buffer.from(bytes).toString('utf8'))
  return {
    value: read.value,
    place: (pointer) => `${source}${pointer === '' ? '' : `:${lines.get(pointer) ?? 1} ${pointer}`}`,
  }
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
