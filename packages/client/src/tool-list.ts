import { hasListedShape, isJsonObject, parsedJson } from '@toolrack/contract'
import type { Dialect, JsonObject, Layer, ListedTool } from '@toolrack/contract'
import { ServiceError, type ServiceErrorCode } from './errors.ts'

/**
 * What a list says about a layer: the number of its definitions, `stale` if only its last known definitions were used, or `error`
 * if none are known.
 */
export type LayerState = number | 'stale' | 'error'

/** Why a list was not answered by the service just now. */
export type FallbackReason = {
  readonly code: ServiceErrorCode
  /** The reason as a sentence for a log. */
  readonly message: string
}

/** The tokens of a list, and how many of its tools are listed in full, with a short description, by name only, or not at all. */
export type ListTokens = {
  /** How many o200k tokens the list takes as the service has sent it. */
  readonly used: number
  /** Null without a budget. */
  readonly budget: number | null
  readonly full: number
  readonly short: number
  readonly deferred: number
  readonly dropped: number
}

/** The tools for one model call and their source. */
export type ToolList<Tool extends JsonObject | ListedTool = ListedTool> = {
  /** The value for the model's `tools` field. The caller may change the array, but not its elements. */
  readonly tools: Tool[]
  /** `remembered` is the last usable answer to the same query. `local` are the definitions in the client. */
  readonly source: 'service' | 'remembered' | 'local'
  /** Null if the source is `service`. */
  readonly reason: FallbackReason | null
  /** The revision of the catalog. Null if the source is `local`. */
  readonly revision: string | null
  /**
   * The state of each layer. `rules: 'error'` means that the service could not read rules that may hide tools. Null if the source
   * is `local`.
   */
  readonly layers: Readonly<Partial<Record<Layer | 'rules', LayerState>>> | null
  /**
   * The tokens of the list, if `budget` or `tokens` was given. Missing if the source is `local`, because such a list is not
   * shortened and not counted.
   */
  readonly tokens?: ListTokens | undefined
  /** The first twenty requested names that no tool has. */
  readonly unknown: readonly string[]
  /** The first twenty requested names of tools that a scope or the session's selection leaves out, or that wait for consent. */
  readonly leftOut: readonly string[]
  /** The first twenty items of the requested scopes that match no tool. They may be misspelled. */
  readonly unmatched: readonly string[]
  /** The first twenty tools that cannot be converted to the dialect. */
  readonly quarantined: readonly string[]
  /** The first twenty tools that `healthy` leaves out. */
  readonly unavailable: readonly string[]
}

/** An answer of the service as the client remembers it. */
export type ListAnswer = {
  readonly list: Omit<ToolList<JsonObject>, 'source' | 'reason'>
  readonly etag: string | null
  /** True if the service could not read a layer, or the rules. */
  readonly isPartial: boolean
}

/** Reads an answer of the service. Throws ServiceError if it is not a list, or if it has no tools because a layer is missing. */
export function readList(headers: Headers, text: string, dialect: Dialect | undefined): ListAnswer {
  const tools = toolsIn(text, dialect)
  const layers = layersIn(headers.get('X-Tools-Layers') ?? '')
  const isPartial = Object.values(layers).includes('error')
  if (!tools) throw new ServiceError('UNREADABLE', 'The answer is not a list of tools.')
  if (isPartial && tools.length === 0)
    throw new ServiceError('LAYERS_LOST', 'The list is empty, and the service could not read every layer.')
  const tokens = tokensIn(headers.get('X-Tools-Tokens') ?? '')
  const list = {
    tools,
    ...(tokens && { tokens }),
    layers,
    revision: headers.get('X-Tools-Revision'),
    unknown: namesIn(headers.get('X-Tools-Unknown')),
    leftOut: namesIn(headers.get('X-Tools-Left-Out')),
    unmatched: namesIn(headers.get('X-Tools-Scope-Unmatched')).map(decodeURIComponent),
    quarantined: namesIn(headers.get('X-Tools-Quarantined')),
    unavailable: namesIn(headers.get('X-Tools-Unavailable')),
  }
  return { list, isPartial, etag: headers.get('ETag') }
}

/**
 * The tools in the body. It is an array, or an object with the key `items`. In `items`, each tool also has a `workflowName` for
 * workflow engines, which is removed here.
 */
function toolsIn(text: string, dialect: Dialect | undefined): JsonObject[] | undefined {
  const body = parsedJson(text)
  const tools: unknown = isJsonObject(body) ? body['items'] : body
  if (!Array.isArray(tools) || !tools.every(isJsonObject)) return undefined
  if (hasListedShape(dialect) && !tools.every(isListedTool)) return undefined
  return tools === body ? tools : tools.map(({ workflowName: _workflowName, ...tool }) => tool)
}

function isListedTool({ type, function: described }: JsonObject): boolean {
  return type === 'function' && isJsonObject(described) && typeof described['name'] === 'string'
}

function layersIn(header: string): Readonly<Record<string, LayerState>> {
  const pairs = [...header.matchAll(/(\w+)=(?:(\d+)|(stale|error))/g)]
  return Object.fromEntries(
    pairs.map(([, layer, count, state]) => [layer, count ? Number(count) : state]),
  ) as Record<string, LayerState>
}

function tokensIn(header: string): ListTokens | undefined {
  const [, used, budget] = /^(\d+)\/(\d+|-)/.exec(header) ?? []
  if (used === undefined) return undefined
  const counts = layersIn(header) as Record<'full' | 'short' | 'deferred' | 'dropped', number>
  return { used: Number(used), budget: budget === '-' ? null : Number(budget), ...counts }
}

/** The names in a header. It has at most twenty names, followed by the number of the other ones, such as `+5`. */
function namesIn(header: string | null): readonly string[] {
  return (header ?? '').split(',').filter((name) => name !== '' && !name.startsWith('+'))
}
