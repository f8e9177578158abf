import type { ErrorDetail, JsonObject, ToolrackError } from '@toolrack/contract'
import type { AdmittedSpec } from '../../../catalog/definitions/admit-spec.ts'
import type { CheckReport, ModuleNote } from '../../../catalog/definitions/check-report.ts'
import type { Checked } from './check-module.ts'
import { grantLines, grantsOfModule, packageLines } from './grant-lines.ts'
import { parametersLine } from './parameters-line.ts'
import { indented, terminalText } from './terminal-text.ts'

type Refused = { readonly file: string; readonly error: ToolrackError }

/** The most characters of an example's result that are shown. They fit in a few lines. */
const RESULT_CHARACTERS_MAX = 200

/**
 * The lines that tell a person the result of a check: each spec with its faults, parameters, examples and notes, the packages and the
 * grants of the module, and its output.
 */
export function reportLines(checked: Checked): readonly string[] {
  const { file, report } = checked
  const notes = report?.notes ?? []
  if ('module' in checked)
    return [
      ...acceptedLines(file, checked.module.specs),
      ...packageLines(checked.module.lock),
      ...grantLines(grantsOfModule(checked.module)),
      ...noteLines(notes, '  '),
      ...printedLines(report),
    ]
  // Notes about missing packages are left out, because a refused module already has a fault for each of these packages.
  const more = notes.filter(({ kind }) => kind !== 'import_unavailable')
  return [...refusedLines(checked), ...noteLines(more, '  '), ...printedLines(report)]
}

/** True if the module and all of its specs are accepted and no example has failed. */
export function isAllGood(checked: Checked): boolean {
  if (!('module' in checked)) return false
  return checked.module.specs.every(
    ({ admitted, spec }) => admitted && !spec.notes.some(({ kind }) => kind === 'example_failed'),
  )
}

function acceptedLines(file: string, specs: readonly AdmittedSpec[]): readonly string[] {
  const accepted = specs.filter(({ admitted }) => admitted).length
  const count = accepted === specs.length ? tools(accepted) : `${accepted} of ${tools(specs.length)}`
  return [`${file}: accepted, ${count}`, ...specs.flatMap(specLines)]
}

function specLines({ spec, admitted, faults }: AdmittedSpec): readonly string[] {
  const title = `  ${terminalText(spec.name ?? 'a spec without a name')}`
  if (!admitted)
    return [`${title}: refused`, ...faults.flatMap((fault) => faultLines({ reason: fault.code, ...fault }))]
  const derived = spec.accepted && spec.derived.includes('parameters') ? '  (from the signature)' : ''
  const parameters = parametersLine(admitted.definition.function.parameters)
  return [
    terminalText(`${title}(${parameters})${derived}`),
    ...spec.examples.flatMap(exampleLines),
    ...noteLines(spec.notes, '    '),
  ]
}

/** The lines about one example, for example `example 0: ok, returned "Bern: cloudy"`. */
function exampleLines({ index, outcome, code, text, error, reason, matched }: JsonObject): readonly string[] {
  const start = `    example ${JSON.stringify(index)}: `
  if (outcome === 'skipped') return [`${start}skipped, because ${terminalText(textOf(reason))}`]
  if (outcome !== 'success')
    return [`${start}failed with ${textOf(code)}`, ...indented(textOf(error), '      | ')]
  const said = textOf(text)
  const shown = said.length > RESULT_CHARACTERS_MAX ? `${said.slice(0, RESULT_CHARACTERS_MAX)}…` : said
  const how = matched === false ? 'not what it states' : 'ok'
  return [terminalText(`${start}${how}, returned ${JSON.stringify(shown)}`)]
}

/**
 * The lines about the error that an upload of the module would have. They show its details or, if no detail has a message, its
 * message.
 */
function refusedLines({ file, error }: Refused): readonly string[] {
  const { code, details, message } = error
  const told = details.filter((detail) => typeof detail['message'] === 'string')
  // After any other error, the runner or the index of packages has failed, and the author need not change the file.
  const how = code.startsWith('MODULE_') || code === 'PACKAGES_REFUSED' ? 'refused' : 'not checked'
  const lines = told.length > 0 ? told.flatMap(faultLines) : indented(message, '    ')
  return [`${file}: ${how}`, ...lines]
}

function faultLines({ message, traceback }: ErrorDetail): readonly string[] {
  const lines = typeof traceback === 'string' ? indented(traceback, '      | ') : []
  return [...indented(textOf(message), '    '), ...lines]
}

function noteLines(notes: readonly ModuleNote[], margin: string): readonly string[] {
  return notes.map(({ message }) => `${margin}note: ${terminalText(message)}`)
}

function printedLines(report: CheckReport | undefined): readonly string[] {
  const text = report?.log.text ?? ''
  return text === '' ? [] : ['  printed:', ...indented(text, '    | ')]
}

function tools(count: number): string {
  return `${count} ${count === 1 ? 'tool' : 'tools'}`
}

/** The text in a field of a report. Empty if the field contains no text. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
