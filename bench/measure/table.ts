import { writeFileSync } from 'node:fs'
import type { ComparisonResult, Goal } from './comparison.ts'
import { readResult } from './result.ts'
import type { Result } from './result.ts'

export const HEADER = ['| case | what | ours | against | ratio | goal | |', '|---|---|---|---|---|---|---|']

const PAGE = new URL('../RESULTS.md', import.meta.url)
const INTRODUCTION = `\`npm run bench -- --save\` writes this page: the last saved result of each case. [README.md](README.md) explains the columns
and how each figure is measured. "missed" is a goal that was not reached in that run. Ratios change less between runs than
absolute figures.`

/** Writes the page with the last saved result of every case. */
export function savePage(cases: readonly string[]): void {
  const results = cases.flatMap((name) => readResult(name) ?? [])
  writeFileSync(PAGE, `${pageOf(results).join('\n')}\n`)
}

/** The lines of the page: the dates, machines and versions, then the figures, then the circumstances of each case. */
export function pageOf(results: readonly Result[]): string[] {
  const measured = results.filter(({ notRun }) => notRun === undefined)
  const days = allOf(measured.map(({ date }) => date.slice(0, 10)))
  const facts = [
    `- Date: ${[...new Set([days[0], days.at(-1)])].join(' to ')}.`,
    `- Machine: ${allOf(measured.map(machineOf)).join('; ')}.`,
    `- Versions: ${allOf(measured.map(({ node }) => `Node ${node.slice(1)}`)).join(', ')}; ${allOf(measured.flatMap(({ generator }) => generator?.name ?? [])).join(', ')}.`,
  ]
  const table = ['## Figures', '', ...HEADER, ...results.flatMap(rowsOf)]
  const circumstances = ['## Circumstances of each case', '', ...circumstancesOf(results)]
  return ['# Measured speed', '', INTRODUCTION, '', ...facts, '', ...table, '', ...circumstances]
}

/** The different texts, sorted. */
function allOf(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].toSorted()
}

function machineOf({ cores, cpu }: Result): string {
  return `${cores} × ${cpu}`
}

/** One line for each case that was measured, with its date, machine and generator. */
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
  const { date, node, pinned, generator, rounds } = result
  const reach = Object.entries(generator?.emptyHandler ?? {}).map(
    ([what, requestsPerSecond]) => `${number(requestsPerSecond)}/s on ${what}`,
  )
  const busy = Object.values(result.medians).flatMap((sample) => sample['busy'] ?? [])
  const told = [
    `${result.case}: ${date.slice(0, 10)}`,
    `Node ${node.slice(1)}`,
    machineOf(result),
    pinned ? 'server and generator on a core each' : 'server and generator share the cores',
    `${rounds.length} rounds`,
    ...(generator ? [`${generator.name}, which reaches ${reach.join(', ')}`] : []),
    ...(busy.length > 0 ? [`each server at least ${number(Math.min(...busy))} busy at 32 connections`] : []),
  ]
  return `- ${told.join('; ')}.`
}
