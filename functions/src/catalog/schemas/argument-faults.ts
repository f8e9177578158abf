import { isJsonObject, pointerKeys, valueAt, type JsonObject } from '@toolrack/contract'
import type { ErrorObject } from 'ajv'
import { nearMiss } from './near-miss.ts'

/** The most sentences about faults in one answer. More sentences would not help a model. */
const FAULTS_MAX = 5
/**
 * The most characters of the author's schema that one sentence repeats, such as the values of an `enum`. A longer sentence is
 * hard to read.
 */
const RULE_LENGTH_MAX = 300
/** The most names of arguments that one sentence lists. */
const NAMES_TOLD = 8

/**
 * Names of arguments. Names that the schema refuses are not in `sentButUnknown`, because another sentence reports each of them.
 */
type Names = Readonly<Record<'known' | 'sentButUnknown' | 'knownButUnsent', readonly string[]>>

/**
 * Turns the errors of Ajv into sentences that name the argument and the rule that it breaks. No sentence repeats a value that was
 * sent. The work stops after `FAULTS_MAX` sentences, because there may be very many errors.
 */
export function argumentFaults(
  errors: readonly ErrorObject[],
  sent: JsonObject,
  parameters: JsonObject,
): readonly string[] {
  const { properties } = parameters
  const known = new Set(isJsonObject(properties) ? Object.keys(properties) : [])
  const given = new Set(Object.keys(sent))
  const refused = new Set(errors.filter(({ instancePath }) => instancePath === '').map(extraOf))
  const names = {
    known: [...known],
    sentButUnknown: [...given].filter((name) => !known.has(name) && !refused.has(name)),
    knownButUnsent: [...known].filter((name) => !given.has(name)),
  }
  const isReported = outsideChoices(errors)
  const sentences = new Set<string>()
  for (const error of errors) {
    if (error.keyword !== 'if' && isReported(error.schemaPath))
      sentences.add(sentence(error, names, parameters))
    if (sentences.size === FAULTS_MAX) break
  }
  return [...sentences]
}

/**
 * Returns a function that decides by its `schemaPath` whether an error is reported. If an `anyOf` or `oneOf` has an error, the
 * errors inside its branches are not reported.
 */
function outsideChoices(errors: readonly ErrorObject[]): (schemaPath: string) => boolean {
  const unfit = errors.filter(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf')
  const choices = new Set(unfit.map(({ schemaPath }) => schemaPath))
  return (schemaPath) => {
    for (let end = schemaPath.indexOf('/'); end >= 0; end = schemaPath.indexOf('/', end + 1))
      if (choices.has(schemaPath.slice(0, end))) return false
    return true
  }
}

/** The name of the argument that the schema does not allow. Undefined if the error has another reason. */
function extraOf({ params }: ErrorObject): string | undefined {
  const extra: unknown = params['additionalProperty'] ?? params['unevaluatedProperty']
  return typeof extra === 'string' ? extra : undefined
}

function sentence(error: ErrorObject, names: Names, parameters: JsonObject): string {
  const { known, sentButUnknown, knownButUnsent } = names
  const { keyword, params } = error
  const isRoot = error.instancePath === ''
  if (keyword === 'required') {
    const missing = String(params['missingProperty'])
    const meant = isRoot ? nearMiss(missing, sentButUnknown) : undefined
    const hint = meant === undefined ? '' : ` You sent ${quoted(meant)}. Did you mean ${quoted(missing)}?`
    return `${within(error, missing)} is missing.${hint}`
  }
  const extra = extraOf(error)
  if (extra !== undefined) {
    const meant = nearMiss(extra, isRoot ? knownButUnsent : knownAt(error, parameters))
    const hint = meant === undefined ? '' : ` Did you mean ${quoted(meant)}?`
    if (!isRoot) return `${within(error, extra)} is not known there.${hint}`
    return `${quoted(extra)} is not an argument of this tool.${hint} ${takes(known)}`
  }
  const rule = ruleOf(error)
  const told = rule.length > RULE_LENGTH_MAX ? `${rule.slice(0, RULE_LENGTH_MAX)}…` : rule
  return `${place(error)} ${told}.`
}

/**
 * The property names of the schema in which an error occurred. Empty if `schemaPath` does not lead to a schema, for example
 * because of a reference.
 */
function knownAt({ schemaPath }: ErrorObject, parameters: JsonObject): readonly string[] {
  const keys = pointerKeys(schemaPath.replace(/^#/, '')) ?? []
  const properties = valueAt(parameters, [...keys.slice(0, -1), 'properties'])
  return isJsonObject(properties) ? Object.keys(properties) : []
}

function ruleOf({ keyword, params, message = 'does not fit its schema' }: ErrorObject): string {
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
  const [argument] = pointerKeys(instancePath) ?? []
  if (argument === undefined) return 'The arguments'
  const isPlain = /^[\w/.:~-]{1,128}$/.test(instancePath)
  const isBelow = instancePath.lastIndexOf('/') > 0
  return isPlain && isBelow ? `${quoted(argument)} (at ${instancePath})` : quoted(argument)
}

function within(error: ErrorObject, name: string): string {
  return error.instancePath === '' ? quoted(name) : `${quoted(name)} of ${place(error)}`
}

function takes(known: readonly string[]): string {
  if (known.length === 0) return 'It takes no arguments.'
  const more = known.length > NAMES_TOLD ? ` and ${known.length - NAMES_TOLD} more` : ''
  return `It takes ${known.slice(0, NAMES_TOLD).map(quoted).join(', ')}${more}.`
}

/** Puts a name in quotes. A text that does not look like a name is not repeated, because it could be a secret value. */
export function quoted(name: string): string {
  return /^[\p{L}\p{N}_ .:$@-]{1,64}$/u.test(name) ? `'${name}'` : '(a name that is not repeated)'
}
