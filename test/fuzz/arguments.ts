import { parseArgs } from 'node:util'
import type { Rounds } from './rounds.ts'

/** For how long a kind runs, and the number that decides every case. */
export type FuzzArguments = { readonly until: Rounds<unknown>['until']; readonly seed: number }

const SECONDS = 60
/** fast-check takes seeds of 32 bits. */
const SEED_MAX = 0x7fff_ffff

/**
 * Reads `--seconds N --seed S`: 60 seconds and a random seed unless said. `--rounds N` in place of the seconds makes the same
 * cases on every machine. Throws a sentence for whoever typed something else.
 */
export function fuzzArguments(args: readonly string[]): FuzzArguments {
  const { values } = parseArgs({
    args: [...args],
    options: { seconds: { type: 'string' }, seed: { type: 'string' }, rounds: { type: 'string' } },
  })
  const rounds = wholeNumber('--rounds', values.rounds)
  const seconds = wholeNumber('--seconds', values.seconds) ?? SECONDS
  return {
    until: rounds === undefined ? { ms: performance.now() + seconds * 1_000 } : { rounds },
    seed: wholeNumber('--seed', values.seed) ?? Math.floor(Math.random() * SEED_MAX),
  }
}

function wholeNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const number = /^\d{1,10}$/.test(text) ? Number(text) : Infinity
  if (number > SEED_MAX) throw new Error(`${name} must be a whole number from 0 to ${SEED_MAX}.`)
  return number
}
