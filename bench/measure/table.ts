import { writeFileSync } from 'node:fs'
import type { ComparisonResult, Goal } from './comparison.ts'
import { fileOf, readResult } from './result.ts'
import type { Result } from './result.ts'

export const HEADER = ['| case | what | ours | against | ratio | goal | |', '|---|---|---|---|---|---|---|']

/** Writes a table with the last saved result of every case. */
export function saveTable(cases: readonly string[]): void {
  const results = cases.flatMap((name) => readResult(name) ?? [])
  const lines = ['`npm run bench`', '', ...HEADER, ...results.flatMap(rowsOf), '']
  writeFileSync(fileOf('table.md'), [...lines, ...circumstancesOf(results), ''].join('\n'))
}

/** One line for each case that was measured: when, on which machine, with which generator. */
export function circumstancesOf(results: readonly Result[]): string[] {
  return results.filter(({ notRun }) => notRun === undefined).map(circumstances)
}

/** The lines of a result for a table. */
export function rowsOf(result: Result): string[] {
  if (result.notRun === undefined) return result.outcomes.map((outcome) => row(result.case, outcome))
  const why = result.notRun.replaceAll(/\s*\n\s*/g, ' ').replaceAll('|', '\\|')
  return [`| ${result.case} | not run: ${why} | | | | | |`]
}

function row(name: string, { what, unit, ours, against, ...figures }: ComparisonResult): string {
  const { oursMedian, againstMedian, ratio, goal } = figures
  return `| ${[
    name,
    what,
    `${number(oursMedian)} ${unit} (${ours})`,
    againstMedian === undefined ? '' : `${number(againstMedian)} ${unit} (${against})`,
    ratio === undefined ? '' : number(ratio),
    goal ? goalText(goal) : 'report',
    verdict(figures),
  ].join(' | ')} |`
}

function verdict({ met, generatorIsLimit }: Pick<ComparisonResult, 'met' | 'generatorIsLimit'>): string {
  if (generatorIsLimit) return 'the generator is the limit'
  return met === undefined ? '' : met ? 'met' : '**missed**'
}

function goalText(goal: Goal): string {
  return 'atLeast' in goal ? `≥ ${number(goal.atLeast)}` : `≤ ${number(goal.atMost)}`
}

/** A number with three significant digits, and with commas between thousands. */
function number(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(3)))
}

function circumstances(result: Result): string {
  const { date, node, cpu, cores, pinned, generator, rounds } = result
  const reach = Object.entries(generator?.emptyHandler ?? {}).map(
    ([what, requestsPerSecond]) => `${number(requestsPerSecond)}/s on ${what}`,
  )
  const busy = Object.values(result.medians).flatMap((sample) => sample['busy'] ?? [])
  const told = [
    `${result.case}: ${date.slice(0, 10)}`,
    `Node ${node.slice(1)}`,
    `${cores} × ${cpu}`,
    pinned ? 'server and generator on a core each' : 'server and generator share the cores',
    `${rounds.length} rounds`,
    ...(generator ? [`${generator.name}, which reaches ${reach.join(', ')}`] : []),
    ...(busy.length > 0 ? [`each server at least ${number(Math.min(...busy))} busy at 32 connections`] : []),
  ]
  return `- ${told.join('; ')}.`
}
