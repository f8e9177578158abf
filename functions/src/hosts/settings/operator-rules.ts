import { parseRuleSet, type OwnedRules } from '@toolrack/contract'
import { readFileSync } from 'node:fs'
import { readJson } from '../../json/read-json.ts'
import { ConfigError } from '../../settings/variables.ts'

/** The most levels of objects and lists in the file. A correct file has 4 levels. */
const LEVELS_MAX = 8

/** Reads the operator's rules for everybody from the file at `path`. Throws a ConfigError that names every fault. */
export function operatorRules(path: string | undefined): OwnedRules | undefined {
  if (path === undefined) return undefined
  const json = readJson(contentOf(path), LEVELS_MAX)
  if ('fault' in json) throw faulty([json.fault])
  const parsed = parseRuleSet(json.value)
  if ('faults' in parsed) throw faulty(parsed.faults)
  return { owner: { kind: 'everybody', id: 'file' }, set: parsed.set }
}

function contentOf(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    throw new ConfigError(`must be a file of rules that can be read (${code})`)
  }
}

function faulty(faults: readonly { readonly pointer: string; readonly message: string }[]): ConfigError {
  const sentences = faults.map(({ pointer, message }) => `${pointer || 'the file'} ${message}`)
  return new ConfigError(`has a file whose rules are not valid: ${sentences.join('; ')}`)
}
