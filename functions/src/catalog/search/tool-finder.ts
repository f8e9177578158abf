import {
  dialectRules,
  DIALECTS,
  firstSentence,
  inDialect,
  isJsonObject,
  listedTool,
  nameIn,
  type Dialect,
  type JsonObject,
} from '@toolrack/contract'
import type { Finder } from '../builtin/builtins.ts'
import { definitionOf, type CatalogEntry } from '../views/catalog-entry.ts'
import type { CatalogView } from '../views/catalog-view.ts'
import { isFinder } from '../views/select-entries.ts'
import { nearMiss } from '../schemas/near-miss.ts'
import { twinNames } from './found-list.ts'
import type { FoundTool } from './ranked-tools.ts'
import { readQuery } from './read-query.ts'
import type { ToolSearch } from './tool-search.ts'

/** How many tools a search returns if the model does not say how many. */
const FOUND = 5

/** The most UTF-16 code units of the sentence that describes a found tool. It is the first sentence of its description. */
const SENTENCE_LENGTH_MAX = 300

type Parts = {
  readonly view: CatalogView
  readonly uid: string
  /** The dialect of the vendor whose model is asking, if it is known. */
  readonly dialect: string | undefined
  readonly search: Pick<ToolSearch, 'find'>
  /** A signal that is aborted when nobody waits for the call any more. */
  readonly signal: AbortSignal
}

/**
 * Finds tools for a model. It finds only tools that the model's caller may see, and returns the names by which the model may call
 * them.
 */
export class ToolFinder implements Finder {
  readonly #parts: Parts
  readonly #dialect: Dialect | undefined

  constructor(parts: Parts) {
    this.#parts = parts
    this.#dialect = DIALECTS.find((one) => one === parts.dialect)
  }

  /** The best tools for a request, with the facts that a model needs to choose one. */
  async search(query: string, limit: number = FOUND): Promise<JsonObject> {
    const { view, uid, search, signal } = this.#parts
    if (readQuery(query).terms.length === 0)
      return { tools: [], note: 'The query has no word to search for. Say in words what the tool should do.' }
    const found = await search.find(view, uid, query, { limit, only: isNoFinder, signal })
    if (found.length === 0) return { tools: [], note: 'No tool fits. Try other words for what it should do.' }
    return { tools: found.map((one) => this.#shown(one)) }
  }

  /** The whole definitions of the named tools, in the order of the names. */
  load(names: readonly string[]): JsonObject {
    const { view } = this.#parts
    const tools: JsonObject[] = []
    const unknown: JsonObject[] = []
    for (const name of new Set(names)) {
      const entry = view.resolve(name)
      if (entry) tools.push(this.#defined(entry))
      else unknown.push({ name, ...this.#near(name) })
    }
    return { tools, ...(unknown.length > 0 && { unknown }) }
  }

  #shown({ entry, twins }: FoundTool): JsonObject {
    const { description, parameters } = definitionOf(entry).function
    const properties = parameters['properties']
    return {
      name: this.#nameOf(entry.name),
      description: firstSentence(description.slice(0, SENTENCE_LENGTH_MAX)),
      arguments: isJsonObject(properties) ? Object.keys(properties) : [],
      ...(twins.length > 0 && { twins: twinNames(twins).map((name) => this.#nameOf(name)) }),
    }
  }

  /**
   * The definition in the dialect of the request. If the request has no dialect, the definition as in a list without a dialect.
   */
  #defined(entry: CatalogEntry): JsonObject {
    const definition = definitionOf(entry)
    if (this.#dialect === undefined) return { ...listedTool(definition) }
    const converted = inDialect(definition, dialectRules(this.#dialect))
    if ('item' in converted) return { ...converted.item }
    return { name: this.#nameOf(entry.name), fault: `It cannot be called here: ${converted.reason}` }
  }

  #near(name: string): JsonObject {
    const near = nearMiss(name, namesIn(this.#parts.view))
    return near === undefined ? {} : { didYouMean: this.#nameOf(near) }
  }

  #nameOf(name: string): string {
    return this.#dialect === undefined ? name : nameIn(dialectRules(this.#dialect), name)
  }
}

function isNoFinder(entry: CatalogEntry): boolean {
  return !isFinder(entry)
}

function* namesIn(view: CatalogView): Generator<string> {
  for (const { name } of view.entries()) yield name
}
