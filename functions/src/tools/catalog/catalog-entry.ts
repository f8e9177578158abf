import type { Digest, Layer, ToolDefinition } from '@toolrack/contract'
import { listedTool } from '@toolrack/contract'
import { callableBy, howRun } from './how-run.ts'
import type { StoredDefinition } from './stored-definition.ts'

/** A definition as the catalog holds it: what select and explain ask for, and its part of the list, serialised once. */
export type CatalogEntry = {
  readonly name: string
  readonly layer: Layer
  readonly digest: Digest
  readonly stored: StoredDefinition
  readonly sealed: boolean
  readonly category: string | undefined
  readonly tags: readonly string[]
  /** Who runs it: null where nobody does in this version. */
  readonly callable: 'service' | 'client' | null
  readonly workflowName: string | undefined
  /** The UTF-8 JSON of the listed tool. */
  readonly fragment: Buffer
}

const NO_TAGS: readonly string[] = []

/** Trusts the text: it was admitted before it was stored. */
export function catalogEntry(stored: StoredDefinition, layer: Layer): CatalogEntry {
  const definition = JSON.parse(stored.text) as ToolDefinition
  return {
    name: stored.name,
    layer,
    digest: stored.digest,
    stored,
    sealed: definition.sealed === true,
    category: definition.category,
    tags: definition.tags ?? NO_TAGS,
    callable: callableBy(howRun(definition.runner)),
    workflowName: definition.runner?.workflowName,
    fragment: Buffer.from(JSON.stringify(listedTool(definition))),
  }
}
