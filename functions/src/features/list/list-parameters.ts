import { dialectRules, DIALECTS, parseNameFilter, type Dialect } from '@toolrack/contract'
import {
  ENVELOPES,
  FILTER_VALUES_MAX,
  PAGE_MAX,
  readCursor,
  type Envelope,
  type ListDefaults,
  type ListQuery,
} from '../../catalog/views/list-query.ts'
import { READ_ARTIFACT_NAME } from '../../catalog/builtin/builtins.ts'
import { invalidParameter, Query } from '../../http/query.ts'
import { countingIn } from './list-budget.ts'
import { LIST_FILTER_PARAMETERS } from './list-filter.ts'
import { explainsScoresIn } from './list-search.ts'

const FILTERS = [
  'names',
  'name',
  'only',
  'tags',
  'category',
  'q',
  'with',
  'loaded',
  'dialect',
  'envelope',
  'strict',
  'healthy',
] as const
const NOT_EXPLAINED: ReadonlySet<string> = new Set(['name', 'strict', 'healthy'])
/**
 * The parameters of a list that `GET /tools/explain` takes too. They decide how much of the tool the list shows. `name` is left
 * out, because in this route it is the tool to explain.
 */
export const EXPLAINED_LIST = [...FILTERS.filter((name) => !NOT_EXPLAINED.has(name)), 'budget']
export const LIST_PARAMETERS = [
  ...FILTERS,
  ...LIST_FILTER_PARAMETERS,
  'limit',
  'cursor',
  'budget',
  'tokens',
  'explain',
]

/** The parameters with the names of the tools that a list is to have. */
export const LIST_NAMES = ['names', 'name', 'only'] as const

/** Reads the query of a list. An unknown parameter is an error: a list without its filter could contain every tool. */
export function parseListQuery(search: string, defaults: ListDefaults): ListQuery {
  return listQueryIn(new Query(search, LIST_PARAMETERS), LIST_NAMES, defaults)
}

/** Reads the query of a list. `nameParameters` are the parameters with names of tools. */
export function listQueryIn(
  query: Query,
  nameParameters: readonly string[],
  { envelope, itemNames = 'canonical' }: ListDefaults,
): ListQuery {
  const cursor = query.one('cursor')
  const after = cursor === undefined ? undefined : readCursor(cursor)
  if (cursor !== undefined && !after)
    throw invalidParameter('cursor', 'is not one that this service gave; take it from the Link header')
  const dialect = query.optional('dialect', DIALECTS)
  const q = parseSearchText(query)
  if (q !== undefined && cursor !== undefined) throw invalidParameter('cursor', NO_PAGES)
  const limit = query.integer('limit', 1, PAGE_MAX)
  const loaded = parseLoaded(query)
  const asked = parseWith(query)
  if (loaded.length > 0 && q === undefined && (limit !== undefined || cursor !== undefined))
    throw invalidParameter('loaded', 'cannot be used with pages; leave out limit and cursor')
  const shape = {
    dialect,
    envelope: dialect ? envelopeIn(dialect, query) : query.choice('envelope', ENVELOPES, envelope),
    q,
    ...countingIn(query),
  }
  return {
    ...shape,
    names: parseNames(query, nameParameters),
    tags: query.set('tags', FILTER_VALUES_MAX),
    categories: query.set('category', FILTER_VALUES_MAX),
    itemNames,
    strict: query.flag('strict'),
    healthy: query.flag('healthy'),
    limit,
    explainsScores: explainsScoresIn(query, shape),
    withSearch: asked.has('search'),
    // The tool comes last, and only on the first page.
    loaded: asked.has('artifacts') && after === undefined ? [...loaded, READ_ARTIFACT_NAME] : loaded,
    after,
  }
}

/** The values of `with`: parts that a list has only if they are asked for. */
export const WITH = ['search', 'artifacts'] as const

/** The parts that the query asks for: the tools for searching other tools, and the one that reads artifacts. Throws PARAMETER_INVALID. */
export function parseWith(query: Query): ReadonlySet<string> {
  const asked = query.set('with', WITH.length)
  for (const one of asked)
    if (!WITH.some((known) => known === one))
      throw invalidParameter('with', `must be ${WITH.join(' or ')}, or both with a comma between`)
  return asked
}

const NO_PAGES = 'cannot be used with q, because a search has no pages; raise limit, or use other words'

function parseSearchText(query: Query): string | undefined {
  const q = query.one('q')
  if (q === undefined) return undefined
  if (q.trim() === '') throw invalidParameter('q', 'is empty; say what the tool should do, or leave it out')
  return q
}

function parseLoaded(query: Query): readonly string[] {
  const names = parseNameFilter(query.all('loaded'))
  if (names === 'all') return []
  if ('fault' in names) throw invalidParameter('loaded', names.fault)
  return [...names]
}

/** The envelope of a list in a dialect. The default is always `array`, because a vendor's `tools` field is an array. */
function envelopeIn(dialect: Dialect, query: Query): Envelope {
  const envelope = query.choice('envelope', ENVELOPES, 'array')
  if (envelope === 'items' && !dialectRules(dialect).allowsItems) {
    const allowed = DIALECTS.filter((one) => dialectRules(one).allowsItems)
    const fault = `must be array in this dialect; items go with ${allowed.join(' and ')}`
    throw invalidParameter('envelope', fault)
  }
  return envelope
}

/** The names of tools in a query. Throws PARAMETER_INVALID. */
export function parseNames(query: Query, parameters: readonly string[] = LIST_NAMES): ListQuery['names'] {
  const names = parseNameFilter(parameters.flatMap((parameter) => query.all(parameter)))
  if (names !== 'all' && 'fault' in names) throw invalidParameter('names', names.fault)
  return names
}
