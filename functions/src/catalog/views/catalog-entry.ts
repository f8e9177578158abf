import {
  classesOf,
  grantsOf,
  listedTool,
  type Digest,
  type Grant,
  type Layer,
  type OnFailure,
  type ToolClass,
  type ToolDefinition,
  type ToolLimits,
} from '@toolrack/contract'
import { howRun, type HowRun } from './how-run.ts'
import type { StoredDefinition } from './layer-source.ts'
import { keptBytes } from './kept-bytes.ts'

/** A definition in the catalog, with the values that lists, calls and explanations need. */
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
  /** What is done after a failure of the tool. Undefined for most tools. */
  readonly onFailure: OnFailure | undefined
  /** What the tool may use beyond the standard library, sorted. */
  readonly grants: readonly Grant[]
  /** The digest of the grants of its module that a person must accept before the tool can be called. */
  readonly pendingGrants: Digest | undefined
  /** The classes of the tool. Rules decide by these classes, by the name, and by the schema of the tool. */
  readonly classes: readonly ToolClass[]
  /** The side that runs the tool. Null if this version of the service cannot run it. */
  readonly callable: 'service' | 'client' | null
  readonly workflowName: string | undefined
  /** The JSON text of the tool in a list, as UTF-8. */
  readonly fragment: Buffer
}

/** A definition in its layer. The same definition in two layers is two tools, because each has its own module and secrets. */
export type LayeredDigest = `${Layer} ${Digest}`

export function layeredDigest({ layer, digest }: Pick<CatalogEntry, 'layer' | 'digest'>): LayeredDigest {
  return `${layer} ${digest}`
}

// All entries without tags or limits share these values, because the catalog may have 100,000 entries.
const NO_TAGS: readonly string[] = []
const NO_LIMITS: ToolLimits = {}

/**
 * The different lists of classes, by the text of the list. Entries with the same classes share a list. There are few different
 * lists, because there are only twelve classes.
 */
const CLASSES = new Map<string, readonly ToolClass[]>()

function sharedClasses(classes: readonly ToolClass[]): readonly ToolClass[] {
  const sorted = classes.toSorted()
  const key = sorted.join()
  const known = CLASSES.get(key) ?? sorted
  CLASSES.set(key, known)
  return known
}

/** Makes the entry of a stored definition. The text is not checked again, because it was admitted before it was stored. */
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
    onFailure: definition.onFailure,
    grants: grantsOf(definition.runner),
    pendingGrants: definition.pendingGrants,
    classes: sharedClasses(classesOf(definition.annotations, layer)),
    callable: run.by === 'nobody' ? null : run.by === 'client' ? 'client' : 'service',
    workflowName: definition.runner?.workflowName,
    fragment: keptBytes(JSON.stringify(listedTool(definition))),
  }
}

/** A definition as it is stored. */
export type StoredToolDefinition = ToolDefinition & {
  /**
   * The digest of the grants (`grantsDigest`) of its module that a person must accept before the tool can be called. Absent if
   * nothing is left to accept. Only uploads of modules and consents write it. It is not part of the tool's digest.
   */
  readonly pendingGrants?: Digest | undefined
}

/** Parses the definition again at each call, because a parsed definition takes several times the memory of its text. */
export function definitionOf({ stored }: Pick<CatalogEntry, 'stored'>): StoredToolDefinition {
  return JSON.parse(stored.text) as StoredToolDefinition
}
