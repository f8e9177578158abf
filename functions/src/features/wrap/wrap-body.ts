import { DIALECTS, isJsonArray, isJsonObject, parseScope, WRAP_LAYERS } from '@toolrack/contract'
import type { Dialect, JsonObject, JsonValue, WrapLayer } from '@toolrack/contract'
import { Query } from '../../http/query.ts'
import { bodyInvalid } from '../../http/read-body.ts'
import { REF, scopeFaultAt } from '../scopes/asked-scopes.ts'
import { LIST_FILTER_PARAMETERS } from '../list/list-filter.ts'

/** The body of a wrap. */
export type AskedWrap = {
  readonly targetTokens: number
  readonly toolsTokens: number | undefined
  readonly maxTools: number | undefined
  readonly model: string | undefined
  readonly dialect: Dialect | undefined
  readonly guide: boolean
  /** The parameters `with` and `loaded` of the list. */
  readonly more: Readonly<Record<string, string>>
  /** The parameters that name the scopes and the session, as in the query of a list. */
  readonly filterQuery: Query
  readonly session: string | undefined
  readonly layers: readonly WrapLayer[]
}

const FIELDS = [
  'targetTokens',
  'layers',
  'dialect',
  'model',
  'scope',
  'session',
  'toolsTokens',
  'maxTools',
  'guide',
  'with',
  'loaded',
]

/** The largest number of tokens that a body may ask for. No prompt takes as many, so a larger number would make no difference. */
const TOKENS_MAX = 999_999_999_999_999
/** The most layers of a prompt. Real prompts have fewer than ten. */
const LAYERS_MAX = 100
/** The largest priority of a layer. A prompt has at most 100 layers, so there are enough priorities for all of them. */
const PRIORITY_MAX = 1_000
/** The most characters of the name of a model, as in a session. */
const MODEL_LENGTH_MAX = 256
const NAME = /^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,63}$/
const NAME_RULE = 'must be 1 to 64 letters, digits, _ . : or -, not . : or - first'
const RESERVED: ReadonlySet<JsonValue | undefined> = new Set(WRAP_LAYERS)

/**
 * Reads the body of a request for a prompt. Throws BODY_INVALID, which says where the fault is. The message never repeats a
 * value.
 */
export function wrapInBody(body: JsonObject): AskedWrap {
  const unknown = Object.keys(body).some((key) => !FIELDS.includes(key))
  if (unknown) throw bodyInvalid(`The body takes ${FIELDS.join(', ')}, and nothing else.`)
  const { targetTokens, layers = [], dialect, model, scope, session, toolsTokens, maxTools, guide } = body
  const { with: extra, loaded = [] } = body
  if (!isJsonArray(layers)) throw at('/layers', 'must be a list of layers')
  if (layers.length > LAYERS_MAX)
    throw at('/layers', `has ${layers.length} layers; at most ${LAYERS_MAX} are allowed`)
  const known = dialect === undefined ? undefined : DIALECTS.find((one) => one === dialect)
  if (dialect !== undefined && !known) throw at('/dialect', `must be one of ${DIALECTS.join(', ')}`)
  if (model !== undefined && !isText(model, MODEL_LENGTH_MAX))
    throw at('/model', `must be a text of 1 to ${MODEL_LENGTH_MAX} characters`)
  if (session !== undefined && typeof session !== 'string') throw at('/session', 'must be a text')
  if (guide !== undefined && typeof guide !== 'boolean') throw at('/guide', 'must be true or false')
  if (extra !== undefined && extra !== 'search') throw at('/with', 'must be search')
  if (!isJsonArray(loaded) || !loaded.every((name) => typeof name === 'string'))
    throw at('/loaded', 'must be a list of names of tools')
  return {
    targetTokens: wholeNumber('/targetTokens', targetTokens, TOKENS_MAX),
    toolsTokens: optional('/toolsTokens', toolsTokens),
    maxTools: optional('/maxTools', maxTools),
    model,
    dialect: known,
    guide: guide ?? false,
    more: { ...(extra && { with: extra }), ...(loaded.length > 0 && { loaded: JSON.stringify(loaded) }) },
    filterQuery: filterQueryOf(scopesIn(scope), session),
    session,
    layers: layersIn(layers),
  }
}

function layersIn(layers: readonly JsonValue[]): readonly WrapLayer[] {
  const names = new Set<string>()
  return layers.map((layer, index) => {
    const place = `/layers/${index}`
    if (!isJsonObject(layer)) throw at(place, 'must be an object with name, text and priority')
    const { name, text, priority, ...rest } = layer
    if (Object.keys(rest).length > 0) throw at(place, 'takes name, text and priority, and nothing else')
    if (typeof name !== 'string' || !NAME.test(name)) throw at(`${place}/name`, NAME_RULE)
    if (RESERVED.has(name)) throw at(`${place}/name`, `is the name of a layer that the service makes`)
    if (names.has(name)) throw at(`${place}/name`, 'is the name of an earlier layer; give each its own')
    names.add(name)
    if (typeof text !== 'string' || !text.isWellFormed())
      throw at(`${place}/text`, 'must be a text of valid Unicode')
    return { name, text, priority: wholeNumber(`${place}/priority`, priority, PRIORITY_MAX) }
  })
}

function scopesIn(scope: JsonValue | undefined): readonly string[] {
  if (scope === undefined) return []
  const texts = isJsonArray(scope) ? scope : [scope]
  if (!texts.every((text) => typeof text === 'string'))
    throw at('/scope', 'must be a text such as "@web,!web_post", or a list of such texts')
  for (const text of texts) {
    if (text.trim().startsWith(REF)) continue
    const parsed = parseScope(text)
    if ('fault' in parsed) throw scopeFaultAt('/scope', parsed)
  }
  return texts
}

function filterQueryOf(scopes: readonly string[], session: string | undefined): Query {
  const values = new URLSearchParams(scopes.map((scope): [string, string] => ['scope', scope]))
  if (session !== undefined) values.set('session', session)
  return new Query(values.toString(), LIST_FILTER_PARAMETERS)
}

function optional(place: string, value: JsonValue | undefined): number | undefined {
  return value === undefined ? undefined : wholeNumber(place, value, TOKENS_MAX)
}

function wholeNumber(place: string, value: JsonValue | undefined, max: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= max) return value
  throw at(place, `must be a whole number from 0 to ${max}`)
}

function isText(value: JsonValue, lengthMax: number): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= lengthMax
}

function at(pointer: string, fault: string): Error {
  return bodyInvalid(`The body at ${pointer}: it ${fault}.`)
}
