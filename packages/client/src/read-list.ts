import { isJsonObject } from '@toolrack/contract'
import type { Dialect, JsonObject } from '@toolrack/contract'
import { ServiceLoss } from './service-loss.ts'
import type { LayerState, ToolList } from './tool-list.ts'

/** An answer of the service, as it is remembered. */
export type ListAnswer = {
  readonly list: Omit<ToolList<JsonObject>, 'source' | 'reason' | 'tools'>
  readonly tools: readonly JsonObject[]
  readonly etag: string | null
  /** Whether a layer could not be read. */
  readonly isPartial: boolean
}

/** The one place where an answer becomes a list. Throws ServiceLoss for one that is none, or an empty one that lost a layer. */
export function readList(headers: Headers, text: string, dialect: Dialect | undefined): ListAnswer {
  const tools = toolsIn(text, dialect)
  const layers = layersIn(headers.get('X-Tools-Layers') ?? '')
  const isPartial = Object.values(layers).includes('error')
  if (!tools) throw new ServiceLoss('UNREADABLE', 'What answered is no list of tools.')
  if (isPartial && tools.length === 0)
    throw new ServiceLoss('LAYERS_LOST', 'The list is empty, and the service could not read every layer.')
  const list = {
    layers,
    revision: headers.get('X-Tools-Revision'),
    unknown: namesIn(headers.get('X-Tools-Unknown')),
    quarantined: namesIn(headers.get('X-Tools-Quarantined')),
  }
  return { list, tools, isPartial, etag: headers.get('ETag') }
}

/** Of both envelopes; what `items` adds for workflow engines is no part of a tool. */
function toolsIn(text: string, dialect: Dialect | undefined): readonly JsonObject[] | undefined {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    return undefined
  }
  const tools: unknown = isJsonObject(body) ? body['items'] : body
  if (!Array.isArray(tools) || !tools.every(isJsonObject)) return undefined
  const isOpenai = dialect === undefined || dialect === 'openai'
  if (isOpenai && !tools.every(isListed)) return undefined
  return tools === body ? tools : tools.map(withoutWorkflow)
}

function withoutWorkflow(item: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(item).filter(([key]) => key !== 'workflowName'))
}

function isListed({ type, function: described }: JsonObject): boolean {
  return type === 'function' && isJsonObject(described) && typeof described['name'] === 'string'
}

function layersIn(header: string): Readonly<Record<string, LayerState>> {
  const pairs = [...header.matchAll(/(\w+)=(?:(\d+)|(stale|error))/g)]
  return Object.fromEntries(
    pairs.map(([, layer, count, state]) => [layer, count ? Number(count) : state]),
  ) as Record<string, LayerState>
}

/** A header carries at most twenty names, then how many more. */
function namesIn(header: string | null): readonly string[] {
  return (header ?? '').split(',').filter((name) => name !== '' && !name.startsWith('+'))
}
