import type { ErrorDetail } from '@toolrack/contract'
import { ToolrackError } from '@toolrack/contract'
import type { AdmittedSpec } from './admit-spec.ts'
import type { CheckedModule, ModuleFault } from './checked-module.ts'

/** Why a module as a whole is not taken; undefined for one that has at least one tool. Its old version goes on. */
export function moduleRefusal(
  checked: CheckedModule,
  specs: readonly AdmittedSpec[],
): ToolrackError | undefined {
  const details = [...checked.faults.map((fault) => faultDetail(fault)), ...missingImports(checked)]
  if (details.length > 0) return refusal(details)
  if (specs.some(({ admitted }) => admitted)) return undefined
  return refusal(specs.flatMap(({ spec, faults }) => faults.map((fault) => faultDetail(fault, spec.name))))
}

/** What is imported inside of a function would fail later, in the middle of a call. */
function missingImports({ missingImports: missing, notes }: CheckedModule): ErrorDetail[] {
  const sentences = notes.filter(({ kind }) => kind === 'import_unavailable')
  return missing.map((name) => {
    const note = sentences.find(({ message }) => message.includes(`'${name}'`))
    const message = note?.message ?? `'${name}' is not installed here.`
    return { reason: 'MODULE_BROKEN', kind: 'import_not_installed', import: name, message, line: note?.line }
  })
}

/** A fault as an answer tells it. */
export function faultDetail({ code, ...fault }: ModuleFault, name?: string | null): ErrorDetail {
  return { reason: code, ...(name !== undefined && { name }), ...fault }
}

function refusal(details: readonly ErrorDetail[]): ToolrackError {
  const [first] = details
  const more = details.length > 1 ? ` (and ${details.length - 1} more, see details)` : ''
  const sentence = typeof first?.['message'] === 'string' ? first['message'] : 'The module has no tool.'
  return new ToolrackError('MODULE_INVALID', `${sentence}${more}`, { details })
}
