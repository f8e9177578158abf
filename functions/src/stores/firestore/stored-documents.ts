import type { Digest } from '@toolrack/contract'
import { hash } from 'node:crypto'
import type { DocumentData } from 'firebase-admin/firestore'
import type { LayerTotals } from '../../tools/definitions/layer-totals.ts'
import type { FoundDocument } from './found-document.ts'

/** The revision of a layer, in the layer's own document. Other programs may keep fields of their own beside these. */
export type LayerDocument = {
  /** Drawn when the layer is first written: a new layer never repeats an old one's revisions. */
  readonly epoch: string
  readonly revision: number
  /** How many definitions of ours it holds. */
  readonly size: number
  /** Not in a layer that was last written before its bytes were counted. */
  readonly totals?: LayerTotals
  /** Whoever has not read since this revision has missed names that are gone, and reads all anew. */
  readonly floor?: number
}

/** A definition that this service wrote. Without text it is the tombstone of a deleted one. */
export type ItemDocument = {
  readonly name: string
  readonly text: string | null
  /** Tells a text that was changed by hand; null in a tombstone. */
  readonly textHash: string | null
  readonly digest: Digest
  readonly revision: number
  readonly updatedAt: string
  readonly updatedBy: string
  /** The revisions of the versions that are kept, the oldest first. */
  readonly versions: readonly number[]
} & NameDocument

/** By what the store finds what may go, in an item and in a module. */
export type NameDocument = {
  /** The bytes of the versions, in their order; not in what was last written before they were counted. */
  readonly sizes?: readonly number[]
  /** The revision of the oldest version that may go; null where there is none. */
  readonly oldest?: number | null
  /** The revision of the deletion; null in what is no tombstone. */
  readonly deletedAt?: number | null
}

export type VersionDocument = {
  readonly revision: number
  readonly text: string | null
  readonly digest: Digest | null
  readonly at: string
  readonly by: string
  /** The write that it came with: by it a write whose commit was not answered knows that it has happened. */
  readonly writeId: string
}

const EPOCH = /^[0-9a-f]{12}$/

export function layerState(document: FoundDocument | undefined): LayerDocument | undefined {
  const { epoch, revision, size, totals, floor }: DocumentData = document?.data ?? {}
  const isOurs = typeof epoch === 'string' && EPOCH.test(epoch) && isCount(revision) && isCount(size)
  if (!isOurs) return undefined
  return { epoch, revision, size, ...(isTotals(totals) && { totals }), floor: isCount(floor) ? floor : 0 }
}

/** What this service wrote there; undefined for what another program wrote, or a hand has changed. */
export function itemDocument({ id, data }: FoundDocument): ItemDocument | undefined {
  return data && isItem(data) && data.name === id && data.textHash === textHash(data.text) ? data : undefined
}

export function versionDocument({ data }: FoundDocument): VersionDocument | undefined {
  return data && isVersion(data) ? data : undefined
}

export function textHash(text: string | null): string | null {
  return text === null ? null : hash('sha256', text, 'base64url')
}

function isItem(data: DocumentData): data is ItemDocument {
  const { name, text, digest, revision, updatedAt, updatedBy, versions }: DocumentData = data
  const texts = [name, digest, updatedAt, updatedBy].every((value) => typeof value === 'string')
  return (
    texts && isTextOrNull(text) && isCount(revision) && Array.isArray(versions) && versions.every(isCount)
  )
}

function isVersion(data: DocumentData): data is VersionDocument {
  const { text, digest, revision, at, by }: DocumentData = data
  const texts = [at, by].every((value) => typeof value === 'string')
  return texts && isTextOrNull(text) && isTextOrNull(digest) && isCount(revision)
}

function isTotals(value: unknown): value is LayerTotals {
  const { bytes, presentBytes, deleted }: DocumentData = value ?? {}
  return [bytes, presentBytes, deleted].every(isCount)
}

function isTextOrNull(value: unknown): value is string | null {
  return typeof value === 'string' || value === null
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}
