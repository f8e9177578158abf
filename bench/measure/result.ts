import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { isPinned } from '../processes/pin.ts'
import { compare } from './comparison.ts'
import type { ComparisonResult, Comparison } from './comparison.ts'
import { medians } from './round.ts'
import type { Round } from './round.ts'

const NOTHING: Measured & Partial<NotRun> = { rounds: [], comparisons: [] }
const FOLDER = new URL('../results/', import.meta.url)

/** The figures of a case, and the comparisons to make with them. */
export type Measured = {
  readonly rounds: readonly Round[]
  readonly comparisons: readonly Comparison[]
  /** True if no process was pinned to a core, because a call wakes several processes and needs every core. */
  readonly sharesCores?: true
  /** The generator, and its requests per second on the empty handler. Undefined in a case without a generator. */
  readonly generator?: { readonly name: string; readonly emptyHandler: Readonly<Record<string, number>> }
}

/** The reason why this machine cannot run a case. */
export type NotRun = { readonly notRun: string }

export type Result = {
  readonly case: string
  /** The reason why there are no figures. */
  readonly notRun?: string
  readonly date: string
  readonly node: string
  readonly cpu: string
  readonly cores: number
  /** True if server and generator had a core each. */
  readonly pinned: boolean
  readonly generator: Measured['generator'] | null
  readonly rounds: readonly Round[]
  readonly medians: Round
  readonly ratios: Readonly<Record<string, number>>
  readonly goals: Readonly<Record<string, NonNullable<Comparison['goal']> & { readonly met: boolean }>>
  readonly met: boolean
  readonly outcomes: readonly ComparisonResult[]
}

export function resultOf(name: string, measured: Measured | NotRun): Result {
  const { rounds, comparisons, sharesCores, generator, notRun } = {
    ...NOTHING,
    ...measured,
  }
  const outcomes = comparisons.map((comparison) => compare(comparison, rounds))
  return {
    case: name,
    ...(notRun !== undefined && { notRun }),
    date: new Date().toISOString(),
    node: process.version,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    pinned: isPinned && !sharesCores,
    generator: generator ?? null,
    rounds,
    medians: medians(rounds),
    ratios: Object.fromEntries(
      outcomes.flatMap(({ what, ratio }) => (ratio === undefined ? [] : [[what, ratio]])),
    ),
    goals: Object.fromEntries(
      outcomes.flatMap(({ what, goal, met }) =>
        goal && met !== undefined ? [[what, { ...goal, met }]] : [],
      ),
    ),
    met: notRun === undefined && outcomes.every(({ goal, met }) => goal === undefined || met === true),
    outcomes,
  }
}

/** Saves a result. It replaces the saved result of its case. */
export function saveResult(result: Result): void {
  mkdirSync(FOLDER, { recursive: true })
  writeFileSync(fileOf(`${result.case}.json`), `${JSON.stringify(result, undefined, 2)}\n`)
}

/** The last result of a case. Undefined if there is none. */
export function readResult(name: string): Result | undefined {
  try {
    return JSON.parse(readFileSync(fileOf(`${name}.json`), 'utf8')) as Result
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** The path of a file of `results/`. */
function fileOf(name: string): string {
  return fileURLToPath(new URL(name, FOLDER))
}
