import { isJsonObject, ToolrackError, type JsonObject, type JsonValue } from '@toolrack/contract'
import { isDigest } from '../../access/job-token.ts'
import { nearMiss } from '../../catalog/schemas/near-miss.ts'
import type { CallRequest } from '../call.ts'

/** Parses the body of an invoke. An error never repeats a value of the body. */
export function parseCallRequest(body: JsonValue): CallRequest {
  if (!isJsonObject(body)) throw invalid('', 'it must be a JSON object: {"name": "…", "arguments": { … }}')
  const { name, arguments: args = {}, context = {}, expectedDigest, approval, session, ...rest } = body
  const hint = meantFields(body, Object.keys(rest))
  if (typeof name !== 'string') throw invalid('/name', 'it must be the name of a tool', hint)
  if (session !== undefined) throw new ToolrackError('BODY_INVALID', NO_SESSION)
  if (Object.hasOwn(rest, 'dryRun')) throw new ToolrackError('BODY_INVALID', NO_DRY_RUN)
  if (Object.keys(rest).length > 0)
    throw invalid(
      '',
      'it takes name, arguments, context, expectedDigest and approval, and nothing else',
      hint,
    )
  if (expectedDigest !== undefined && !isDigest(expectedDigest))
    throw invalid('/expectedDigest', 'it must be a digest as explain shows it: sha256:…')
  if (approval !== undefined && typeof approval !== 'string')
    throw invalid('/approval', 'it must be the id of an approval, as meta.approval shows it')
  return { name, arguments: callArguments(args), context: contextOf(context), expectedDigest, approval }
}

const NO_SESSION = 'A session is named in the address, not in the body: ?session=ID.'

const NO_DRY_RUN = 'A dry run is asked for in the address, not in the body: ?dryRun=1.'

/** Checks the arguments of a call from any route. Throws ARGUMENTS_INVALID. */
export function callArguments(args: JsonValue): JsonObject {
  if (!isJsonObject(args)) throw new ToolrackError('ARGUMENTS_INVALID', NO_OBJECT)
  const fault = unsafeArgument(args)
  if (fault) throw new ToolrackError('ARGUMENTS_INVALID', `The argument ${fault}.`)
  return args
}

const NO_OBJECT = 'The arguments must be a JSON object: a name and a value for each.'

function contextOf(context: JsonValue): JsonObject {
  if (!isJsonObject(context)) throw invalid('/context', 'it must be a JSON object')
  const fault = unsafeArgument(context)
  if (fault) throw invalid('/context', `its field ${fault}`)
  return context
}

function invalid(pointer: string, fault: string, hint = ''): ToolrackError {
  return new ToolrackError('BODY_INVALID', `The body${pointer && ` at ${pointer}`}: ${fault}.${hint}`)
}

const FIELDS = ['name', 'arguments', 'context', 'expectedDigest'] as const

/** The names that other systems give to the fields of a call. */
const OTHER_NAMES: ReadonlyMap<string, (typeof FIELDS)[number]> = new Map([
  ['tool', 'name'],
  ['function', 'name'],
  ['args', 'arguments'],
  ['params', 'arguments'],
  ['parameters', 'arguments'],
  ['input', 'arguments'],
  ['digest', 'expectedDigest'],
])

/** A sentence that says which fields were probably meant by the unknown fields. Empty if there is no guess. */
function meantFields(body: JsonObject, unknown: readonly string[]): string {
  const missing = FIELDS.filter((field) => !Object.hasOwn(body, field))
  const guesses = new Set<string | undefined>()
  for (const key of unknown.slice(0, FIELDS.length))
    guesses.add(OTHER_NAMES.get(key) ?? nearMiss(key, missing))
  const meant = missing.filter((field) => guesses.has(field)).map((field) => `'${field}'`)
  return meant.length === 0 ? '' : ` Did you mean ${meant.join(' and ')}?`
}

/**
 * The most levels of arrays and objects in the arguments of a call. The arguments themselves are the first level. More levels
 * could overflow the stack of recursive code.
 */
const ARGUMENTS_DEPTH_MAX = 32

/** Keys that are refused, because they can change a prototype in a program that copies objects. */
const REFUSED = new Set(['__proto__', 'constructor', 'prototype'])

/**
 * Why a text with a lone surrogate is refused. JSON can contain one, but UTF-8 cannot, so no other process could receive the
 * text.
 */
const LONE_SURROGATE = 'a lone surrogate, which is no text; send the whole character'

type Visit = readonly [value: JsonValue, argument: string, depth: number]

/**
 * Finds a fault in the arguments that no schema can permit, and describes it with the name of its argument. Undefined if there is
 * none. Not recursive, because arguments may be nested deeply.
 */
function unsafeArgument(args: JsonObject): string | undefined {
  const names = Object.keys(args)
  const refused = names.find((name) => REFUSED.has(name))
  if (refused !== undefined) return `'${refused}' has a name that is never allowed`
  if (!names.every((name) => name.isWellFormed()))
    return `(its name is not repeated) has a name with ${LONE_SURROGATE}`
  const visits = Object.entries(args).map(([argument, value]): Visit => [value, argument, 1])
  for (let visit = visits.pop(); visit; visit = visits.pop()) {
    const [value, argument, depth] = visit
    if (typeof value === 'string' && !value.isWellFormed())
      return `${quoted(argument)} holds ${LONE_SURROGATE}`
    if (typeof value !== 'object' || value === null) continue
    if (depth === ARGUMENTS_DEPTH_MAX)
      return `${quoted(argument)} is nested deeper than ${ARGUMENTS_DEPTH_MAX} levels`
    // The keys of an array are only numbers and need no check. To list them would take most of the time.
    const keys = Array.isArray(value) ? [] : Object.keys(value)
    for (const key of keys) {
      if (REFUSED.has(key)) return `${quoted(argument)} holds the key ${key}, which is never allowed`
      if (!key.isWellFormed()) return `${quoted(argument)} holds a key with ${LONE_SURROGATE}`
    }
    const children = Array.isArray(value) ? (value as readonly JsonValue[]) : Object.values(value)
    for (const child of children)
      if (typeof child === 'string' || (typeof child === 'object' && child !== null))
        visits.push([child, argument, depth + 1])
  }
  return undefined
}

/** The name of an argument, as a message to the model shows it. A text that does not look like a name is not repeated. */
function quoted(argument: string): string {
  return /^[\w .:-]{1,64}$/.test(argument) ? `'${argument}'` : '(its name is not repeated)'
}
