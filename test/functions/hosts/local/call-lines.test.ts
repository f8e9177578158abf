import { expect, test } from '@jest/globals'
import { toolFailure, toolResult, type ErrorCode } from '@toolrack/contract'
import { readFileSync } from 'node:fs'
import { outcomeOf, type CallOutcome } from '../../../../functions/src/calls/call.ts'
import { callLines } from '../../../../functions/src/hosts/local/call-lines.ts'
import { receivedCall, requestedCall, resolvedCall } from '../../../support/call-stages.ts'
import { tool } from '../../../support/definition-changes.ts'

/** The lines of one call on a terminal of this width. */
function shown(outcome: CallOutcome, { columns = 80, printed = true, tookMs = 12.34 } = {}) {
  let text = ''
  callLines({ columns, writeCall: (lines) => (text += lines) }, printed)(outcome, tookMs)
  expect(text.endsWith('\n')).toBe(true)
  return text.slice(0, -1).split('\n')
}

const CALL = resolvedCall(tool('notes:find'), { arguments: { secret: 'an argument' } })

function failed(text: string, truncated = false): CallOutcome {
  const failure = toolFailure('TOOL_RAISED', 'an error with an argument')
  return { ...outcomeOf(CALL, failure), log: { text, truncated } }
}

test('a call that succeeded is one line, without what it printed', () => {
  const outcome = { ...outcomeOf(CALL, toolResult('a result')), log: { text: 'printed', truncated: false } }
  expect(shown(outcome)).toEqual(['call  notes:find  ok  12.3 ms  i1'])
})

test('what a call that failed printed follows it', () => {
  expect(shown(failed('one\n\n  two\tthree\r\n'))).toEqual([
    'call  notes:find  TOOL_RAISED  12.3 ms  i1',
    '      | one',
    '      | ',
    '      |   two    three',
  ])
  expect(shown(failed(''))).toHaveLength(1)
  expect(shown({ ...failed(''), log: null })).toHaveLength(1)
})

test('docs/how-to/run.md shows calls as the terminal does', () => {
  const page = readFileSync(new URL('../../../../docs/how-to/run.md', import.meta.url), 'utf8')
  const [, block = ''] = /^```text\n(call {2}[^]+?)\n```$/m.exec(page) ?? []
  const calls = block.split(/\n(?=call)/)
  expect(calls.length).toBeGreaterThan(2)
  for (const lines of calls) {
    const [first = '', ...printed] = lines.split('\n')
    const [, name = '', code = '', ms = '', invocationId = ''] = first.split('  ')
    const call = { ...resolvedCall(tool(name)), invocationId }
    const result = code === 'ok' ? toolResult('') : toolFailure(code as ErrorCode, '')
    const log = { text: printed.map((row) => row.replace('      | ', '')).join('\n'), truncated: false }
    const outcome = { ...outcomeOf(call, result), log }
    expect(shown(outcome, { tookMs: Number.parseFloat(ms) })).toEqual([first, ...printed])
  }
})

test('secrets in what a call printed are not shown', () => {
  expect(shown(failed('password=hunter2 and Bearer abcdefghijkl\nok')).slice(1)).toEqual([
    '      | password=[redacted] and Bearer [redacted]',
    '      | ok',
  ])
})

test('what a user printed is not for an operator who is somebody else', () => {
  expect(shown(failed('printed'), { printed: false })).toHaveLength(1)
})

test('a call whose tool is not known shows the name that was asked for, if it is one', () => {
  const refusal = toolFailure('TOOL_NOT_FOUND', 'None.')
  const lines = [receivedCall(), requestedCall({ name: 'NONE' }), requestedCall({ name: 'a\nb' })].map(
    (call) => shown(outcomeOf(call, refusal)),
  )
  expect(lines).toEqual([
    ['call  -  TOOL_NOT_FOUND  12.3 ms  i1'],
    ['call  NONE  TOOL_NOT_FOUND  12.3 ms  i1'],
    ['call  -  TOOL_NOT_FOUND  12.3 ms  i1'],
  ])
})

test('only the last 20 rows are shown, and a row says that there were more', () => {
  const lines = shown(failed(Array.from({ length: 1_000 }, (_, line) => `line ${line}\n`).join('')))
  expect(lines).toHaveLength(22)
  expect(lines[1]).toBe('      … the log of this call begins earlier')
  expect(lines.slice(2, 3).concat(lines.slice(-1))).toEqual(['      | line 980', '      | line 999'])
  const cut = shown(failed('x'.repeat(65_536), true))
  expect(cut.at(-1)).toBe('      … what it printed after this was not kept')
  expect(cut.join('').length).toBeLessThan(2_000)
})

/** Characters with which a terminal moves, colours, beeps, starts a line, or shows a text in another order or not at all. */
const ODD = ['\x1b[2J', '\x9b31m', '\r', '\b', '\x07', '\0', '\x7f', '\v', '\f', '\x85', '\u2028', '\u2029']
  .concat([
    '\u202e',
    '\u2066',
    '\u200f',
    '\u200b',
    '\u00ad',
    '\ufeff',
    '\ud800',
    '\u{e0041}',
    '\x1b]0;title\x07',
  ])
  .map((odd) => [`U+${odd.codePointAt(0)?.toString(16).padStart(4, '0')}`, odd] as const)

test.each(ODD)('%s is shown as an escape', (_name, odd) => {
  const lines = shown(failed(`before${odd}after`))
  expect(lines).toHaveLength(2)
  expect(lines[1]).toMatch(/^ {6}\| before(?:\\u[0-9a-f]{4})+.*after$/)
  expect(lines[1]).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u)
})

test('no row is wider than the terminal, so no part of it stands at the start of a line', () => {
  const forged = 'call  notes:find  ok  1.0 ms  i2'
  for (const columns of [40, 80, 200]) {
    const lines = shown(failed(`${'.'.repeat(columns - 8)}${forged}\n${'漢'.repeat(300)}`), { columns })
    const rows = lines.filter((line) => line.startsWith('      | '))
    for (const row of rows) {
      const characters = Array.from(row)
      const wide = characters.filter((character) => character > '~')
      expect(characters.length + wide.length).toBeLessThanOrEqual(columns)
    }
    expect(lines.filter((line) => !rows.includes(line))).toEqual([
      expect.stringMatching(/^call {2}notes:find {2}TOOL_RAISED /),
      ...(columns === 40 ? ['      … the log of this call begins earlier'] : []),
    ])
  }
})

test('neither the arguments nor the error is shown', () => {
  expect(shown(failed('printed')).join('\n')).not.toMatch(/argument/)
})
