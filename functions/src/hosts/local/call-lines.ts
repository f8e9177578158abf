import { isToolName } from '@toolrack/contract'
import { redactText } from '../../redaction/redact.ts'
import type { Known } from '../../calls/call.ts'
import type { ShowCall } from '../../calls/pipeline/steps.ts'
import { harmless } from '../../log.ts'
import type { PrintedLog } from '../../catalog/definitions/runner.ts'

/** The most rows that are shown of a failed call's output. The last rows are shown, because they are closest to the failure. */
const ROWS_MAX = 20

/**
 * The most UTF-16 code units that are read of a call's output: 20 rows of 200 columns. Escaping 64 KB would take milliseconds.
 */
const PRINTED_MAX = 4 * 1024

const MARGIN = '      '
const BEFORE_PRINTED = `${MARGIN}| `

/** The methods of `Terminal` that are used here. */
type Shown = { readonly columns: number; writeCall(lines: string): void }

/**
 * Shows each call on the terminal as a line with its tool, outcome, milliseconds and invocationId. The line never contains
 * arguments or a result. If `printed` is true, the end of a failed call's output follows, without recognized secrets.
 */
export function callLines(terminal: Shown, printed: boolean): ShowCall {
  return ({ call, result, log }, tookMs) => {
    const isFailure = result.resultType === 'failure'
    const outcome = isFailure ? result.code : 'ok'
    const line = `call  ${toolOf(call)}  ${outcome}  ${tookMs.toFixed(1)} ms  ${call.invocationId}`
    const rows = isFailure && printed && log ? printedRows(log, terminal.columns) : []
    terminal.writeCall([line, ...rows, ''].join('\n'))
  }
}

/** The name of the tool. If no tool was found, the name in the request, if it is a valid name. */
function toolOf({ entry, request }: Known): string {
  if (entry) return entry.name
  return request && isToolName(request.name) ? redactText(request.name) : '-'
}

/**
 * Splits the output of a tool into rows that are narrower than the terminal. The terminal would wrap a longer row, and its rest
 * could look like a line of the service.
 */
function printedRows({ text, truncated }: PrintedLog, columns: number): readonly string[] {
  if (text === '') return []
  const width = Math.max(20, columns - BEFORE_PRINTED.length)
  const end = redactText(text)
    .slice(-PRINTED_MAX)
    .replace(/\r?\n$/, '')
  const rows = end.split(/\r?\n/).flatMap((line) => folded(harmless(line.replaceAll('\t', '    ')), width))
  const isCut = text.length > PRINTED_MAX || rows.length > ROWS_MAX
  return [
    ...(isCut ? [`${MARGIN}… the log of this call begins earlier`] : []),
    ...rows.slice(-ROWS_MAX).map((row) => BEFORE_PRINTED + row),
    ...(truncated ? [`${MARGIN}… what it printed after this was not kept`] : []),
  ]
}

/** Splits the line into rows of at most `width` columns. Outside ASCII, a character may take two columns. */
function folded(line: string, width: number): readonly string[] {
  const rows: string[] = []
  let row = ''
  let left = width
  for (const character of line) {
    const columns = character <= '~' ? 1 : 2
    if (columns > left) {
      rows.push(row)
      row = ''
      left = width
    }
    row += character
    left -= columns
  }
  return [...rows, row]
}
