import type { JsonObject } from '@toolrack/contract'
import type { AdmittedSpec } from './admit-spec.ts'
import type { CheckReport } from './check-report.ts'
import type { PackageLock } from './package-lock.ts'

/** The most bytes of a stored report. A document of Firestore may have 1 MB. */
export const REPORT_BYTES_MAX = 256 * 1024

/**
 * Makes the report on a module, which is stored and sent. If it would be too large, it lacks the printed lines and the results of
 * examples.
 */
export function moduleReport(
  { imports, notes, log, packages: lock }: CheckReport,
  specs: readonly AdmittedSpec[],
): JsonObject {
  const empty = { imports: [], notes: [], log: '', shortened: true, specs: [] }
  const packages = lock && { packages: packagesReport(lock) }
  const whole = { imports, notes, log: log.text, ...packages, specs: specs.map(specReport) }
  const short = { ...empty, imports, ...packages, specs: specs.map(shortReport) }
  const report: unknown = [whole, short].find(isSmall) ?? empty
  return report as JsonObject
}

/** What a report says of the packages of a module. Their files and hashes are in the lock. */
function packagesReport({ digest, requirements, packages }: PackageLock) {
  const shown = packages.map(({ name, version, bytes }) => ({ name, version, bytes }))
  return { digest, requirements, packages: shown }
}

function specReport({ spec, admitted, faults }: AdmittedSpec) {
  const { name, line, file, notes, examples } = spec
  return {
    name,
    line,
    ...(file !== undefined && { file }),
    accepted: admitted !== undefined,
    ...(admitted &&
      spec.accepted && {
        digest: admitted.digest,
        derived: spec.derived,
        normalised: admitted.normalised,
        unenforced: admitted.unenforced,
        secrets: spec.secrets,
        network: spec.network,
      }),
    faults,
    notes,
    examples,
  }
}

function shortReport({ spec, admitted, faults }: AdmittedSpec) {
  const examples = spec.examples.map(({ index, outcome, matched }) => ({ index, outcome, matched }))
  return {
    name: spec.name?.slice(0, 128) ?? null,
    line: spec.line,
    accepted: admitted !== undefined,
    ...(admitted && { digest: admitted.digest }),
    faults: faults
      .slice(0, 1)
      .map(({ code, kind, message }) => ({ code, kind, message: message.slice(0, 1_000) })),
    notes: [],
    examples,
  }
}

function isSmall(report: object): boolean {
  return Buffer.byteLength(JSON.stringify(report)) <= REPORT_BYTES_MAX
}
