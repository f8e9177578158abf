import { jsonPointer } from '@toolrack/contract'
import { dirname } from 'node:path'
import { nearMiss } from '../../catalog/schemas/near-miss.ts'
import { readSettingsFile } from './json-settings.ts'
import { aType, TEXT_OF } from './file-types.ts'
import { NOTHING, type Found, type Notice } from './found-settings.ts'
import type { Setting, Table } from '../../settings/variables.ts'

/** Matches the names of variables that contain secrets. The addresses of a webhook and of an index count: they often contain one. */
const SECRET = /(?:^|_)(?:SECRET|KEYS?|TOKENS?|PASSWORDS?|WEBHOOK|INDEX)$/

export function isSecret(variable: string): boolean {
  return SECRET.test(variable)
}

/** The key of a variable in the file: `storeMb` for TOOLRACK_STORE_MB, `runnerUrl` for RUNNER_URL. */
export function fileKey(variable: string): string {
  const [first = '', ...rest] = variable
    .replace(/^TOOLRACK_/, '')
    .toLowerCase()
    .split('_')
  return first + rest.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}

/**
 * Reads the file that TOOLRACK_CONFIG names. Its keys are those of the variables in the table. A value of null counts as missing.
 */
export function readConfigFile(table: Table, path: string | undefined): Found {
  if (path === undefined) return NOTHING
  const file = readSettingsFile('TOOLRACK_CONFIG', path)
  if ('fault' in file) return { ...NOTHING, faults: [file.fault] }
  const variables = new Map(Object.keys(table).map((name) => [fileKey(name), name]))
  const keys = [...variables].flatMap(([key, name]) => (table[name]?.notInFile === undefined ? [key] : []))
  const settings: Setting[] = []
  const faults: string[] = []
  for (const [key, value] of Object.entries(file.value)) {
    const place = file.place(jsonPointer([key]))
    const name = variables.get(key) ?? ''
    const read = table[name]
    if (!read) faults.push(`${place} is not known${meant(key, keys)}`)
    else if (read.notInFile !== undefined) faults.push(`${place} cannot be in the file: ${read.notInFile}`)
    else if (value !== null) {
      const text = TEXT_OF[read.fileType ?? 'text'](value, dirname(path))
      if (text === undefined) faults.push(`${place} must be ${aType(read.fileType)}`)
      // An empty text counts as a missing value, as in the environment.
      else if (text !== '') settings.push({ name, text, from: place, place })
    }
  }
  const secrets = settings.filter(({ name }) => isSecret(name)).map(({ name }) => fileKey(name))
  return { settings, faults, notices: file.isOpen && secrets.length > 0 ? [openNotice(path, secrets)] : [] }
}

function meant(key: string, keys: readonly string[]): string {
  const near = nearMiss(key.replace(/^TOOLRACK_/, ''), keys)
  return near === undefined ? '' : `: did you mean ${near}?`
}

function openNotice(file: string, keys: readonly string[]): Notice {
  return {
    message: 'other accounts can read secrets in the configuration file: give it mode 0600',
    fields: { file, keys },
  }
}
