import { canonicalJson, type Digest } from '@toolrack/contract'
import { isDigest } from '../../access/job-token.ts'
import { either, isNull, isText, listOf, object, type Test } from '../../value-shape.ts'

/**
 * The packages of a module, as the runner has resolved them. The lock belongs to a version of the module. A program that has the
 * lock can build the same environment again.
 */
export type PackageLock = {
  /** The SHA-256 of the canonical JSON of `packages`, each with name, version, file and sha256 only, sorted by name. */
  readonly digest: Digest
  /** The normalised requirements of the module, sorted. They are the values of its grants of the kind `packages`. */
  readonly requirements: readonly string[]
  /** The version of Python (`3.11`) and the platform (`linux-x86_64`) for which the wheels are. */
  readonly python: string
  readonly platform: string
  readonly packages: readonly LockedPackage[]
}

export type LockedPackage = {
  readonly name: string
  readonly version: string
  /** The file name of the wheel. */
  readonly file: string
  /** 64 hex digits. */
  readonly sha256: string
  /** The size of the wheel. Null if the index does not say it. */
  readonly bytes: number | null
}

/**
 * The key under which a store keeps the lock of a content. Locks of different contents can have the same digest and differ in
 * their requirements, so a store keeps each of them.
 */
export function lockKey(sha256: string, environment: Digest): string {
  return `${sha256}.${environment.slice('sha256:'.length)}`
}

/** The text of a lock that the stores keep. Its bytes count in the layer. */
export function lockText(lock: PackageLock): string {
  return canonicalJson(lock)
}

const isCount: Test<number> = (value): value is number => typeof value === 'number' && value >= 0

export const isPackageLock: Test<PackageLock> = object({
  digest: isDigest,
  requirements: listOf(isText),
  python: isText,
  platform: isText,
  packages: listOf(
    object<LockedPackage>({
      name: isText,
      version: isText,
      file: isText,
      sha256: isText,
      bytes: either(isCount, isNull),
    }),
  ),
})
