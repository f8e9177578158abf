import type { ErrorDetail } from '@toolrack/contract'
import type { AdmittedModule } from '../../catalog/definitions/admit-module.ts'
import type { ModuleContent } from '../../catalog/definitions/module-content.ts'

export type LoadedModule = AdmittedModule & { readonly loadedAt: Date }

export type FolderFile = {
  /** `weather.py`, or `weather/__init__.py` if the module is a folder. */
  readonly file: string
  readonly stamp: string
  /** The digest of the content that was last read. Undefined if the last read failed. */
  readonly sha256?: string | undefined
  /** The last content that passed its check. It is used until the file passes with newer content, or is deleted. */
  readonly loaded?: LoadedModule | undefined
  /** The faults of the present content. */
  readonly faults: readonly ErrorDetail[]
}

export type FileRead =
  | { readonly found: 'gone' }
  | { readonly found: 'same' }
  | (ModuleContent<Uint8Array> & { readonly found: 'content'; readonly sha256: string } & Stamped)
  | FileFault

export type FileFault = { readonly found: 'fault'; readonly fault: ErrorDetail } & Stamped

/**
 * `stamp` is a text that changes when the file changes. An empty stamp is never equal to another stamp. `changedMs` is the time
 * of the last change, in milliseconds since 1970.
 */
export type Stamped = { readonly stamp: string; readonly changedMs: number }

type AfterRead = { readonly next: FolderFile; readonly check: 'want' | 'drop' | 'leave' }

/**
 * The file after a read, and whether its content must be checked. `next` is the same object if nothing has changed. Content that
 * was checked is not checked again, unless it was refused and `retry` is true.
 */
export function afterRead(known: FolderFile, read: FileRead, retry: boolean): AfterRead {
  if (read.found === 'same' || read.found === 'gone') return { next: known, check: 'leave' }
  const { file, loaded, faults } = known
  const { stamp } = read
  if (read.found === 'fault') {
    const isKnown = known.sha256 === undefined && faults[0]?.['message'] === read.fault['message']
    return { next: isKnown ? known : { file, stamp, loaded, faults: [read.fault] }, check: 'drop' }
  }
  const { sha256 } = read
  if (known.sha256 === sha256 && !(retry && faults.length > 0))
    return { next: known.stamp === stamp ? known : { ...known, stamp }, check: 'leave' }
  if (loaded?.sha256 === sha256) return { next: { file, stamp, sha256, loaded, faults: [] }, check: 'drop' }
  return { next: { file, stamp, sha256, loaded, faults }, check: 'want' }
}
