import { listedTool, type Digest, type Layer, type ToolDefinition, type ToolLimits } from '@toolrack/contract'
import { howRun, type HowRun } from './how-run.ts'
import type { StoredDefinition } from './layer-source.ts'

/** A definition as the catalog holds it: what lists, calls and explanations ask for, read once from the stored text. */
export type CatalogEntry = {
  readonly name: string
  readonly layer: Layer
  readonly digest: Digest
  readonly stored: StoredDefinition
  readonly sealed: boolean
  readonly category: string | undefined
  readonly tags: readonly string[]
  readonly howRun: HowRun
  readonly limits: ToolLimits
  /** The side that runs it. Null if this version cannot run it. */
  readonly callable: 'service' | 'client' | null
  readonly workflowName: string | undefined
  /** The UTF-8 JSON of the listed tool. */
  readonly fragment: Buffer
}

const NO_TAGS: readonly string[] = []
const NO_LIMITS: ToolLimits = {}

/** Trusts the text, because it was admitted before it was stored. */
export function catalogEntry(stored: StoredDefinition, layer: Layer): CatalogEntry {
  const definition = definitionOf({ stored })
  const run = howRun(definition.runner)
  return {
    name: stored.name,
    layer,
    digest: stored.digest,
    stored,
    sealed: definition.sealed === true,
    category: definition.category,
    tags: definition.tags ?? NO_TAGS,
    howRun: run,
    limits: definition.limits ?? NO_LIMITS,
    callable: run.by === 'nobody' ? null : run.by === 'client' ? 'client' : 'service',
    workflowName: definition.runner?.workflowName,
    fragment: Buffer.from(JSON.stringify(listedTool(definition))),
  }
}

/**
 * The whole definition, for what an entry does not hold. It is parsed each time, because parsed definitions take a multiple
 * of the memory of their texts. Keep what you make of it, not the definition.
 */
export function definitionOf({ stored }: Pick<CatalogEntry, 'stored'>): ToolDefinition {
  return JSON.parse(stored.text) as ToolDefinition
}
