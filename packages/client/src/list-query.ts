import { DIALECTS, parseNameFilter, type Dialect, type NameFilter } from '@toolrack/contract'
import { optionInvalid } from './errors.ts'

/**
 * Which tools a list has, and in which dialect. A tool is in the list if it matches `names`, `tags`, `category` and each `scope`.
 */
export type ListOptions<D extends Dialect | undefined = Dialect | undefined> = {
  /**
   * Names or aliases: an array, a text with commas, or a text with a JSON array. `@sha256:…` can follow each name and asks for
   * one version. `[]` means no tool.
   */
  readonly names?: string | readonly string[] | undefined
  /** Tools that have any of these tags. */
  readonly tags?: readonly string[] | undefined
  /** Tools of any of these categories. */
  readonly category?: string | readonly string[] | undefined
  /** A request in words, for which tools are searched. The best tools come first. Near-identical tools come at the end. */
  readonly q?: string | undefined
  /**
   * With `scores`, each tool that `q` finds has the field `x-toolrack` with its score and the names of near-identical tools.
   * Cannot be combined with `dialect`, `budget` or `tokens`. Local definitions have no scores.
   */
  readonly explain?: 'scores' | undefined
  /** With `search`, the list also has the tools by which a model finds more tools, or the vendor's own search. */
  readonly with?: 'search' | undefined
  /** The names of tools that the model has loaded, in the order of loading. These tools come at the end of the list. */
  readonly loaded?: readonly string[] | undefined
  /**
   * Limits the list to the tools in a scope, such as `@web,!web_post`, or `ref:room/kitchen` for a stored scope. If several
   * scopes are given, a tool must be in all of them.
   */
  readonly scope?: string | readonly string[] | undefined
  readonly dialect?: D
  /** The id of a session. The list then has only the tools of its selection. It replaces the session of the ToolDefs. */
  readonly session?: string | undefined
  /**
   * The most o200k tokens that the list may take. Tools that do not fit are shortened, listed by name only, or dropped. If the
   * list is made of the client's own definitions, it is not shortened.
   */
  readonly budget?: number | undefined
  /** If true, the list has the number of its tokens, even without a budget. */
  readonly tokens?: boolean | undefined
  /** If true and the service cannot read a layer, the result is a remembered list instead of one that lacks the layer. */
  readonly strict?: boolean | undefined
  /** If true, the list leaves out tools that the service does not call for a while, because they have failed again and again. */
  readonly healthy?: boolean | undefined
  /** When the signal is aborted, `list` rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/** A query in its normal form. Queries that are equal in this form share one request and one remembered list. */
export type ListQuery = {
  readonly names: NameFilter
  readonly tags: readonly string[]
  readonly categories: readonly string[]
  readonly q: string | undefined
  readonly loaded: readonly string[]
  readonly scopes: readonly string[]
  readonly dialect: Dialect | undefined
  readonly session: string | undefined
  /** The query part of the URL, with its question mark. */
  readonly search: string
}

/**
 * The names of all options. An unknown option, which a JavaScript program may pass, is refused. If it were ignored, the list
 * could have more tools than the program expects.
 */
const OPTIONS =
  'names, tags, category, q, explain, with, loaded, scope, dialect, session, budget, tokens, strict, healthy, signal'

/** The largest budget that the service accepts. */
const BUDGET_MAX = 999_999_999_999_999

/** The query of these options. Throws OPTION_INVALID. */
export function listQuery(options: ListOptions): ListQuery {
  for (const name in options)
    if (!OPTIONS.split(', ').includes(name))
      throw optionInvalid(`${name} is none of a list, which takes ${OPTIONS}`)
  const { names = '', tags = [], category = [], scope = [], q, with: extra, loaded = [] } = options
  const { dialect, session, strict, healthy, budget, tokens, explain } = options
  const filter = parseNameFilter(typeof names === 'string' ? [names] : names.length > 0 ? names : ['[]'])
  if (typeof filter === 'object' && 'fault' in filter) throw optionInvalid(`names ${filter.fault}`)
  if (dialect !== undefined && !DIALECTS.includes(dialect))
    throw optionInvalid(`dialect must be one of ${DIALECTS.join(', ')}`)
  if (budget !== undefined && !(Number.isInteger(budget) && budget >= 0 && budget <= BUDGET_MAX))
    throw optionInvalid(`budget must be a whole number of tokens from 0 to ${BUDGET_MAX}`)
  const categories = [category].flat()
  const scopes = [scope].flat()
  // The envelope is always named in the query, because the default of a service could be `items`. Lists of `items` leave out
  // tools that no workflow runs.
  const parameters = new URLSearchParams({ envelope: 'array' })
  if (filter !== 'all') parameters.set('names', [...filter].join() || '[]')
  for (const [name, values] of Object.entries({ tags, category: categories, loaded }))
    if (values.length > 0) parameters.set(name, values.join())
  for (const one of scopes) parameters.append('scope', one)
  for (const [name, value] of Object.entries({ q, explain, with: extra, dialect, session }))
    if (value !== undefined) parameters.set(name, value)
  if (budget !== undefined) parameters.set('budget', String(budget))
  for (const [name, isOn] of Object.entries({ tokens, strict, healthy })) if (isOn) parameters.set(name, '1')
  const query = { names: filter, tags, categories, scopes, q, loaded, dialect, session }
  return { ...query, search: `?${parameters.toString()}` }
}
