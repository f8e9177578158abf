import { canonicalArguments, ToolrackError, type ArgumentKind, type JsonObject } from '@toolrack/contract'
import type { CatalogEntry } from '../catalog/views/catalog-entry.ts'
import { quoted } from '../catalog/schemas/argument-faults.ts'
import { readingsOfCalled } from '../catalog/views/ruled-tool.ts'
import type { Resolved } from './call.ts'
import type { Step } from './onion.ts'

/**
 * Gives each argument its canonical spelling. So the rules, an approval, an idempotency key, the audit trail and the handler of
 * the tool see the same value, however the caller has spelled it.
 */
export const makeArgumentsCanonical: Step<Resolved> = (call, next) => {
  const { entry, request } = call
  const args = canonicalArgumentsOf(entry, request.arguments)
  return next(args === request.arguments ? call : { ...call, request: { ...request, arguments: args } })
}

/**
 * The arguments in their canonical spelling. Throws ARGUMENTS_INVALID if a text has no canonical spelling. The arguments of tools
 * that the service does not run are not checked: a text without a canonical spelling stays as it is, and no rule allows it.
 */
export function canonicalArgumentsOf(entry: CatalogEntry, sent: JsonObject): JsonObject {
  const { args, unread } = canonicalArguments(readingsOfCalled(entry), sent)
  if (unread.length === 0 || entry.callable !== 'service') return args
  const faults = unread
    .slice(0, FAULTS_MAX)
    .map(({ name, kind }) => `${quoted(name)} must be ${RULES[kind]}.`)
  throw new ToolrackError('ARGUMENTS_INVALID', `${entry.name}: ${faults.join(' ')}`)
}

/** The most faults that one answer names. More sentences would not help a model. */
const FAULTS_MAX = 5

const RULES: Readonly<Record<ArgumentKind, string>> = {
  path: 'a path, such as src/main.py',
  command: 'a command',
  url: 'a whole URL, such as https://example.com/',
  date: 'a date, such as 2026-01-02',
  'date-time': 'a date and a time with its zone, such as 2026-01-02T03:04:05Z',
  decimal: 'a number, such as 12.5',
  uuid: 'a UUID, such as 123e4567-e89b-42d3-a456-426614174000',
  text: 'a text',
  other: 'a value that its type takes',
}
