import {
  GRANT_KINDS,
  grantsDigest,
  grantsOf,
  sortedGrants,
  type Digest,
  type Grant,
} from '@toolrack/contract'
import type { AdmittedModule } from '../../../catalog/definitions/admit-module.ts'
import type { PackageLock } from '../../../catalog/definitions/package-lock.ts'
import { terminalText } from './terminal-text.ts'

/** The grants that a module asks for, and their digest, as the answer to its upload has them. */
export type AskedGrants = { readonly grants: readonly Grant[]; readonly grantsDigest: Digest }

/** The grants of all accepted tools of a module. */
export function grantsOfModule({ tools }: Pick<AdmittedModule, 'tools'>): AskedGrants {
  const grants = sortedGrants(tools.flatMap(({ definition }) => grantsOf(definition.runner)))
  return { grants, grantsDigest: grantsDigest(grants) }
}

/** The line that lists the locked packages with their versions and their size. None without a lock. */
export function packageLines(lock: PackageLock | undefined): readonly string[] {
  if (!lock) return []
  const names = lock.packages.map(({ name, version }) => `${name} ${version}`).join(', ')
  const size = sizeOf(lock)
  const more = size === undefined ? '' : ` (${size} to download)`
  return [terminalText(`  packages: ${names}${more}`), terminalText(`    locked as ${lock.digest}`)]
}

/** The lines that say what the module asks a person for. None if it asks for nothing. */
export function grantLines({ grants, grantsDigest: digest }: AskedGrants): readonly string[] {
  if (grants.length === 0) return []
  const width = Math.max(...GRANT_KINDS.map((kind) => kind.length))
  return [
    `  grants, which a person accepts after the upload (${digest}):`,
    ...grants.map(({ kind, value }) =>
      terminalText(`    ${kind.padEnd(width)}  ${value}${whose(kind, value)}`),
    ),
  ]
}

function whose(kind: Grant['kind'], value: string): string {
  return kind === 'secrets' && value.startsWith('caller:') ? ' (of the user who calls)' : ''
}

/** The bytes of all wheels. Undefined if the index did not say one of them. */
function sizeOf({ packages }: PackageLock): string | undefined {
  let bytes = 0
  for (const wheel of packages) {
    if (wheel.bytes === null) return undefined
    bytes += wheel.bytes
  }
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}
