import type { Digest } from '@toolrack/contract'
import type { Deletion, StoredDefinition } from '../views/layer-source.ts'
import type { Consent } from './decide-consent.ts'
import type { DefinitionVersion } from './definition-store.ts'
import type { ModuleGrants, ModuleSummary, ModuleVersion } from './module-store.ts'
import { revisionText } from './layer-state.ts'

/** A definition as all stores keep it. Without text, it is the tombstone of a deleted definition. */
export type DefinitionRecord = Pick<ModuleRecord, 'name' | 'revision' | 'updatedAt' | 'updatedBy'> & {
  readonly text: string | null
  readonly digest: Digest
  /** The tokens of the definition, as in `StoredDefinition`. Missing or null if they were not counted. */
  readonly tokens?: string | null
}

/** A version of a definition. A deletion has neither text nor digest. */
export type DefinitionVersionRecord = Pick<ModuleVersionRecord, 'revision' | 'at' | 'by'> & {
  readonly text: string | null
  readonly digest: Digest | null
}

/** A module as all stores keep it, without its report. Without a sha256, it is the tombstone of a deleted module. */
export type ModuleRecord = Omit<ModuleSummary, 'sha256' | 'environment' | 'revision' | keyof ModuleGrants> & {
  readonly sha256: string | null
  readonly environment?: Digest | null
  readonly revision: number
  /**
   * The `grantsText` of the module. Missing or null in a record of an earlier version. A tombstone has the `revocationText` of
   * the module, or null.
   */
  readonly granted?: string | null
}

/** A version of a module. A deletion has no sha256. */
export type ModuleVersionRecord = Omit<ModuleVersion, 'sha256' | 'environment' | 'revision'> &
  Pick<ModuleRecord, 'sha256' | 'environment' | 'revision'>

/** The definition in a record, or undefined for a tombstone. */
export function storedDefinition(record: DefinitionRecord, epoch: string): StoredDefinition | undefined {
  const { name, text, digest, revision, tokens, updatedAt, updatedBy } = record
  if (text === null) return undefined
  const stored = { name, text, digest, revision: revisionText(revision, epoch), updatedAt, updatedBy }
  return typeof tokens === 'string' ? { ...stored, tokens } : stored
}

/** The deletion that a tombstone records. Undefined if the record is a definition. */
export function deletionOf({ name, text, revision }: DefinitionRecord, epoch: string): Deletion | undefined {
  return text === null ? { name, revision: revisionText(revision, epoch) } : undefined
}

export function definitionVersion(record: DefinitionVersionRecord, epoch: string): DefinitionVersion {
  const { revision, text, digest, at, by } = record
  const content = text === null || digest === null ? {} : { text, digest }
  return { revision: revisionText(revision, epoch), ...content, at, by }
}

/** The module in a record, or undefined for a tombstone. */
export function moduleSummary(record: ModuleRecord, epoch: string): ModuleSummary | undefined {
  const { name, sha256, environment, tools, revision, updatedAt, updatedBy, granted } = record
  if (sha256 === null) return undefined
  const grants = typeof granted === 'string' ? (JSON.parse(granted) as ModuleGrants) : {}
  const written = { revision: revisionText(revision, epoch), updatedAt, updatedBy }
  return { name, sha256, ...environmentIn(environment), tools, ...written, ...grants }
}

/** The grants and the consent of a module as the stores keep them. */
export function grantsText({ grants, grantsDigest, consent, created }: ModuleGrants): string {
  return JSON.stringify({ grants, grantsDigest, consent, created })
}

/** What the tombstone of a module keeps of its last decision: a revocation. Null for any other decision. */
export function revocationText(consent: Consent | null | undefined): string | null {
  return consent?.isRevoked === true ? JSON.stringify({ consent }) : null
}

/** The revocation in a `revocationText`. */
export function parseRevocation(granted: string): Consent {
  return (JSON.parse(granted) as { readonly consent: Consent }).consent
}

function environmentIn(environment: Digest | null | undefined): Pick<ModuleSummary, 'environment'> {
  return typeof environment === 'string' ? { environment } : {}
}

export function moduleVersion(record: ModuleVersionRecord, epoch: string): ModuleVersion {
  const { revision, sha256, environment, tools, at, by } = record
  const content = { ...(sha256 !== null && { sha256 }), ...environmentIn(environment) }
  return { revision: revisionText(revision, epoch), ...content, tools, at, by }
}
