import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { CORE, pinned } from '../processes/pin.ts'
import type { LoadResult } from './generator.ts'

/** Runs a generator on its core; the last line it prints is the result. */
export async function runGenerator(
  command: string,
  args: readonly string[],
  input = '',
): Promise<LoadResult> {
  const child = spawn(...pinned(CORE.generator, command, args), { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(input)
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  const line = output.trimEnd().split('\n').at(-1) ?? ''
  if (code !== 0 || !line.startsWith('{')) throw new Error(`${command} ended with ${String(code)}: ${output}`)
  const { errors, ...result } = JSON.parse(line) as LoadResult & { readonly errors: number }
  if (errors > 0) throw new Error(`${errors} requests failed under ${command}`)
  return result
}
