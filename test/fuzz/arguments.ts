import { parseArgs } from 'node:util'

/** How long a kind runs, in seconds, and the number that decides every case. */
export type FuzzArguments = { readonly seconds: number; readonly seed: number }

const SECONDS = 60
/** fast-check takes seeds of 32 bits. */
const SEED_MAX = 0x7fff_ffff

/** Reads `--seconds N --seed S`: 60 seconds and a random seed unless said. Throws a sentence for whoever typed something else. */
export function fuzzArguments(args: readonly string[]): FuzzArguments {
  const { values } = parseArgs({
    args: [...args],
    options: { seconds: { type: 'string' }, seed: { type: 'string' } },
  })
  return {
    seconds: wholeNumber('--seconds', values.seconds, SECONDS),
    seed: wholeNumber('--seed', values.seed, Math.floor(Math.random() * SEED_MAX)),
  }
}

function wholeNumber(name: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise
  const number = /^\d{1,10}$/.test(text) ? Number(text) : Infinity
  if (number > SEED_MAX) throw new Error(`${name} must be a whole number from 0 to ${SEED_MAX}.`)
  return number
}
