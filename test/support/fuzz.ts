import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

export type FuzzRun = {
  readonly code: number | null
  /** The whole output of the fuzzer. */
  readonly said: string
  /** The counts in the output, by their labels. */
  readonly numbers: ReadonlyMap<string, number>
}

/** Runs a kind of the fuzzer as `npm run fuzz` does, with a fixed seed and number of rounds, so the cases are always the same. */
export async function fuzz(kind: 'routes' | 'schemas', seed: number, rounds: number): Promise<FuzzRun> {
  const program = fileURLToPath(new URL(`../fuzz/${kind}.ts`, import.meta.url))
  const args = ['--disable-warning=ExperimentalWarning', program, `--seed=${seed}`, `--rounds=${rounds}`]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const [said, complained, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ])
  const lines = said.matchAll(/^ {2}(.+): (\d+)$/gm)
  const numbers = new Map(Array.from(lines, ([, what = '', number]) => [what, Number(number)]))
  return { code, said: said + complained, numbers }
}
