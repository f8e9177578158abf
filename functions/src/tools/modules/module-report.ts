import type { JsonObject } from '@toolrack/contract'
import type { AdmittedSpec } from './admit-spec.ts'
import type { CheckedModule } from './checked-module.ts'

/** What a report may take where it is kept: a document of Firestore holds 1 MB. */
export const REPORT_BYTES_MAX = 256 * 1024

/** What came of a module, spec by spec, as it is answered and kept. What its examples printed is left out of one that is too large. */
export function moduleReport(checked: CheckedModule, specs: readonly AdmittedSpec[]): JsonObject {
  const { imports, notes, log } = checked
  const whole = { imports, notes, log, specs: specs.map(specReport) } as unknown as JsonObject
  if (isSmall(whole)) return whole
  const shortened = {
    imports,
    notes: [],
    log: '',
    shortened: true,
    specs: specs.map(shortReport),
  } as unknown as JsonObject
  return isSmall(shortened) ? shortened : { imports: [], notes: [], log: '', shortened: true, specs: [] }
}

function specReport({ spec, admitted, faults }: AdmittedSpec) {
  const { name, line, notes, examples, content } = spec
  return {
    name,
    line,
    accepted: admitted !== undefined,
    ...(admitted && {
      digest: admitted.digest,
      derived: content?.derived ?? [],
      normalised: admitted.normalised,
      unenforced: admitted.unenforced,
      secrets: content?.secrets ?? [],
      network: content?.network ?? [],
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

function isSmall(report: JsonObject): boolean {
  return Buffer.byteLength(JSON.stringify(report)) <= REPORT_BYTES_MAX
}
