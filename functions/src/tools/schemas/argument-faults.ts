import type { JsonObject } from '@toolrack/contract'
import { isJsonObject, pointerKeys } from '@toolrack/contract'
import type { ErrorObject } from 'ajv'
import { nearMiss } from './near-miss.ts'

/** Sentences that a model is told at once; more would not help it. */
const FAULTS_MAX = 5
/** What an author has written into a schema is repeated as far as this. */
const SENTENCE_LENGTH_MAX = 300

/**
 * What Ajv found, as sentences that name the argument and what would be right, and never repeat a value that was sent. No
 * more sentences are made than are told, however many errors there are.
 */
export function argumentFaults(
  errors: readonly ErrorObject[],
  sent: JsonObject,
  parameters: JsonObject,
): readonly string[] {
  const known = isJsonObject(parameters['properties']) ? Object.keys(parameters['properties']) : []
  const names = {
    known,
    unknown: without(Object.keys(sent), known),
    unsent: without(known, Object.keys(sent)),
  }
  const isTold = outsideChoices(errors)
  const sentences = new Set<string>()
  for (const error of errors) {
    if (error.keyword !== 'if' && isTold(error.schemaPath)) sentences.add(sentence(error, names))
    if (sentences.size === FAULTS_MAX) break
  }
  return [...sentences]
}

/** Whether a place in the schema is outside each choice of which no branch fits: that the choice does not fit is told instead. */
function outsideChoices(errors: readonly ErrorObject[]): (schemaPath: string) => boolean {
  const choices = new Set<string>()
  for (const { keyword, schemaPath } of errors)
    if (keyword === 'anyOf' || keyword === 'oneOf') choices.add(schemaPath)
  return (schemaPath) => {
    for (let end = schemaPath.indexOf('/'); end >= 0; end = schemaPath.indexOf('/', end + 1))
      if (choices.has(schemaPath.slice(0, end))) return false
    return true
  }
}

type Names = {
  /** The arguments that the definition takes. */
  readonly known: readonly string[]
  /** Those that were sent and that it does not take. */
  readonly unknown: readonly string[]
  /** Those that it takes and that were not sent. */
  readonly unsent: readonly string[]
}

function without(names: readonly string[], others: readonly string[]): readonly string[] {
  const left = new Set(names)
  for (const other of others) left.delete(other)
  return [...left]
}

function sentence(error: ErrorObject, { known, unknown, unsent }: Names): string {
  const { keyword, instancePath } = error
  const isRoot = instancePath === ''
  if (keyword === 'required') {
    const missing = String(error.params['missingProperty'])
    const meant = isRoot ? nearMiss(missing, unknown) : undefined
    return `${within(error, missing)} is missing${meant === undefined ? '.' : `; did you mean it by ${quoted(meant)}?`}`
  }
  if (keyword === 'additionalProperties' || keyword === 'unevaluatedProperties') {
    const extra = String(error.params['additionalProperty'] ?? error.params['unevaluatedProperty'])
    if (!isRoot) return `${within(error, extra)} is not known there.`
    const meant = nearMiss(extra, unsent)
    const hint = meant === undefined ? '.' : `; did you mean ${quoted(meant)}?`
    return `${quoted(extra)} is not one of its arguments${hint} ${takes(known)}`
  }
  return `${place(error)} ${cut(rule(error))}.`
}

/** What the schema asks for at that place. */
function rule({ keyword, params, message = 'does not fit its schema' }: ErrorObject): string {
  const allowed: unknown = params['allowedValues']
  if (keyword === 'enum' && Array.isArray(allowed))
    return `must be one of ${allowed.map((value) => JSON.stringify(value)).join(', ')}`
  if (keyword === 'const') return `must be ${JSON.stringify(params['allowedValue'])}`
  if (keyword === 'type') return `must be of type ${String(params['type']).replaceAll(',', ' or ')}`
  if (keyword === 'anyOf' || keyword === 'oneOf') return 'has none of the forms that its schema allows'
  if (keyword === 'false schema') return 'is not allowed'
  return message.replace('must NOT', 'must not')
}

function place({ instancePath }: ErrorObject): string {
  const [argument, ...rest] = pointerKeys(instancePath) ?? []
  if (argument === undefined) return 'The arguments'
  return rest.length === 0 ? quoted(argument) : `${quoted(argument)}${at(instancePath)}`
}

/** A property of whatever the error is about. */
function within({ instancePath }: ErrorObject, name: string): string {
  const [argument] = pointerKeys(instancePath) ?? []
  return argument === undefined ? quoted(name) : `${quoted(name)} of ${quoted(argument)}${at(instancePath)}`
}

function at(pointer: string): string {
  const isPlain = /^[\w/.:~-]{1,128}$/.test(pointer)
  return isPlain && pointer.lastIndexOf('/') > 0 ? ` (at ${pointer})` : ''
}

function takes(known: readonly string[]): string {
  if (known.length === 0) return 'It takes no arguments.'
  const named = known.slice(0, 8).map(quoted)
  const more = known.length > 8 ? ` and ${known.length - 8} more` : ''
  return `It takes ${named.join(', ')}${more}.`
}

/** A name, unless it is so unlike one that it could be anything. */
function quoted(name: string): string {
  return /^[\p{L}\p{N}_ .:$@-]{1,64}$/u.test(name) ? `'${name}'` : '(a name that is not repeated)'
}

function cut(text: string): string {
  return text.length > SENTENCE_LENGTH_MAX ? `${text.slice(0, SENTENCE_LENGTH_MAX)}…` : text
}
