import type { DocumentData } from 'firebase-admin/firestore'
import type { FoundDocument } from './found-document.ts'
import type { NameDocument } from './stored-documents.ts'

/** A version of a module as its module knows it. */
export type KeptVersion = { readonly revision: number; readonly sha256: string | null }

/** A module. Without a sha256 it is the tombstone of a deleted one, which keeps its versions. */
export type ModuleDocument = {
  readonly name: string
  /** The same for one that is there, and nothing in a tombstone: what lists are ordered by. */
  readonly listedAs?: string
  readonly sha256: string | null
  readonly tools: readonly string[]
  /** JSON. */
  readonly report: string
  readonly revision: number
  readonly updatedAt: string
  readonly updatedBy: string
  /** Those that are kept, the oldest first. */
  readonly versions: readonly KeptVersion[]
} & NameDocument

/** Everything of a module but its report, which a list does without. */
export type ListedModuleDocument = Omit<ModuleDocument, 'report' | 'versions' | keyof NameDocument>

export const LISTED_FIELDS = ['name', 'listedAs', 'sha256', 'tools', 'revision', 'updatedAt', 'updatedBy']

export type ModuleVersionDocument = {
  readonly revision: number
  readonly sha256: string | null
  readonly tools: readonly string[]
  readonly at: string
  readonly by: string
  /** The write that it came with. */
  readonly writeId: string
}

/** A source, and the versions of modules that have it; it goes with the last of them. */
export type BlobDocument = { readonly source: string; readonly keptBy: readonly string[] }

/** What this service wrote there; undefined for anything else. */
export function moduleDocument(found: FoundDocument): ModuleDocument | undefined {
  const { data } = found
  const { report, versions }: DocumentData = data ?? {}
  const isWhole = typeof report === 'string' && Array.isArray(versions) && versions.every(isKept)
  return isWhole && listedModuleDocument(found) ? (data as ModuleDocument) : undefined
}

export function listedModuleDocument({ id, data }: FoundDocument): ListedModuleDocument | undefined {
  const { name, sha256, tools, revision, updatedAt, updatedBy }: DocumentData = data ?? {}
  const isOurs =
    name === id &&
    isTextOrNull(sha256) &&
    isTexts(tools) &&
    Number.isSafeInteger(revision) &&
    isTexts([updatedAt, updatedBy])
  return isOurs ? (data as ListedModuleDocument) : undefined
}

export function moduleVersionDocument({ data }: FoundDocument): ModuleVersionDocument | undefined {
  const { revision, sha256, tools, at, by }: DocumentData = data ?? {}
  const isOurs = Number.isSafeInteger(revision) && isTextOrNull(sha256) && isTexts(tools) && isTexts([at, by])
  return isOurs ? (data as ModuleVersionDocument) : undefined
}

export function blobDocument({ data }: FoundDocument): BlobDocument | undefined {
  const { source, keptBy }: DocumentData = data ?? {}
  return typeof source === 'string' && isTexts(keptBy) ? { source, keptBy } : undefined
}

function isKept(value: unknown): boolean {
  const { revision, sha256 } = (value ?? {}) as DocumentData
  return Number.isSafeInteger(revision) && isTextOrNull(sha256)
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

function isTextOrNull(value: unknown): value is string | null {
  return typeof value === 'string' || value === null
}
