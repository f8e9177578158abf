import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runGenerator } from './generator.ts'
import type { Generator, Load, LoadResult } from './generator.ts'

const SCRIPT = fileURLToPath(new URL('wrk.lua', import.meta.url))

/**
 * wrk does not measure its processor time, but the shell does. The second line of `times` has the time of the shell's children:
 * `0m1.5s 0m0.7s`. With `LC_ALL=C`, bash prints a decimal point and never a comma.
 */
const TIMED = 'LC_ALL=C; printed=$(wrk "$@") && times && echo "$printed"'
const CHILDREN = /^.+\n(\d+)m([\d.]+)s (\d+)m([\d.]+)s\n/

/** https://github.com/wg/wrk, if it is installed. */
export function findWrk(): Generator | undefined {
  const { stdout } = spawnSync('wrk', ['-v'], { encoding: 'utf8' })
  const version = /^wrk (\S+)/.exec(stdout ?? '')?.[1]
  return version === undefined ? undefined : { name: `wrk ${version}`, run: runWrk }
}

async function runWrk({ url, paths, headers, body, connections, seconds }: Load): Promise<LoadResult> {
  const folder = mkdtempSync(join(tmpdir(), 'toolrack-wrk-'))
  try {
    const file = join(folder, 'paths')
    writeFileSync(file, paths.join('\n'))
    const bodyFile = join(folder, 'body')
    if (body !== undefined) writeFileSync(bodyFile, body)
    const options = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', '-s', SCRIPT]
    const sent = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
    const files = [file, ...(body === undefined ? [] : [bodyFile])]
    const args = ['-c', TIMED, 'wrk', ...options, ...sent, url, '--', ...files]
    return await runGenerator('sh', args, { cpuMsOf: childrenMs })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** The processor time of the shell's children. */
export function childrenMs(output: string): number {
  const found = CHILDREN.exec(output)
  if (!found) throw new Error(`the shell has not printed the processor time of wrk: ${output}`)
  const [userMinutes = 0, user = 0, systemMinutes = 0, system = 0] = found.slice(1).map(Number)
  return ((userMinutes + systemMinutes) * 60 + user + system) * 1_000
}
