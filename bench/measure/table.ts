import { writeFileSync } from 'node:fs'
import type { ComparisonResult, Goal } from './comparison.ts'
import { fileOf, readResult } from './result.ts'
import type { Result } from './result.ts'

/** Writes one table of the last results of all cases, and returns it. */
export function writeTable(cases: readonly string[]): string {
  const text = table(cases.flatMap((name) => readResult(name) ?? []))
  writeFileSync(fileOf('table.md'), text)
  return text
}

/** The results as Markdown, with the command that makes them. */
function table(results: readonly Result[]): string {
  const rows = results.flatMap(rowsOf)
  return [
    '`npm run bench`',
    '',
    '| case | what | ours | against | ratio | goal | |',
    '|---|---|---|---|---|---|---|',
    ...rows,
    '',
    ...results.filter(({ notRun }) => notRun === undefined).map(circumstances),
    '',
  ].join('\n')
}

function rowsOf(result: Result): string[] {
  if (result.notRun === undefined) return result.outcomes.map((outcome) => row(result.case, outcome))
  const why = result.notRun.replaceAll(/\s*\n\s*/g, ' ').replaceAll('|', '\\|')
  return [`| ${result.case} | not run: ${why} | | | | | |`]
}

function row(name: string, { what, unit, ours, against, ...figures }: ComparisonResult): string {
  const { oursMedian, againstMedian, ratio, goal, met } = figures
  return `| ${[
    name,
    what,
    `${number(oursMedian)} ${unit} (${ours})`,
    againstMedian === undefined ? '' : `${number(againstMedian)} ${unit} (${against})`,
    ratio === undefined ? '' : number(ratio),
    goal ? goalText(goal) : 'report',
    met === undefined ? '' : met ? 'met' : '**missed**',
  ].join(' | ')} |`
}

function goalText(goal: Goal): string {
  return 'atLeast' in goal ? `≥ ${number(goal.atLeast)}` : `≤ ${number(goal.atMost)}`
}

/** Three significant digits, with commas between thousands. */
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
