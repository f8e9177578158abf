import type { ErrorDetail } from '@toolrack/contract'
import type { AdmittedModule } from '../modules/admit-module.ts'
import type { FileRead } from './read-module-file.ts'

/** One file as it was last seen. */
export type FolderFile = {
  readonly file: string
  readonly stamp: string
  /** Of the content that was last read; none where it could not be. */
  readonly sha256?: string | undefined
  /** The last content that could be used: it serves as long as there is anything of that name. */
  readonly loaded?: LoadedModule | undefined
  /** Why what is there now is not what serves. */
  readonly faults: readonly ErrorDetail[]
}

export type LoadedModule = AdmittedModule & { readonly loadedAt: Date }

/** What a look makes of a file, and of its check. */
export type FileStep = { readonly next: FolderFile; readonly check: 'want' | 'drop' | 'leave' }

/**
 * The file after a look at it, the same object where nothing has changed. Only content that has not been looked at is checked:
 * what it was before, and what it is again, is known. `retry` has content checked once more that was refused.
 */
export function afterLook(known: FolderFile, read: FileRead, retry: boolean): FileStep {
  if (read.found === 'same' || read.found === 'gone') return { next: known, check: 'leave' }
  const { file, loaded, faults } = known
  const { stamp } = read
  if (read.found === 'fault') {
    const [first] = faults
    const isTold = known.sha256 === undefined && first?.['message'] === read.fault['message']
    return { next: isTold ? known : { file, stamp, loaded, faults: [read.fault] }, check: 'drop' }
  }
  const { sha256 } = read
  if (known.sha256 === sha256 && !(retry && faults.length > 0))
    return { next: known.stamp === stamp ? known : { ...known, stamp }, check: 'leave' }
  if (loaded?.sha256 === sha256) return { next: { file, stamp, sha256, loaded, faults: [] }, check: 'drop' }
  return { next: { file, stamp, sha256, loaded, faults }, check: 'want' }
}
