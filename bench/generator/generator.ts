import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { CORE, pinned } from '../processes/pin.ts'

/** The requests, the number of connections, and the duration. */
export type Load = {
  readonly url: string
  /** Requested one after the other, again and again. */
  readonly paths: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  /** Sent by POST. Without a body, the requests are GETs. */
  readonly body?: string
  readonly connections: number
  readonly seconds: number
}

export type LoadResult = {
  readonly requestsPerSecond: number
  readonly p50Us: number
  readonly p99Us: number
}

/** Sends each request after the previous answer. Rejects if a request fails, because the measurement is then useless. */
export type Generator = {
  /** The name with the version. */
  readonly name: string
  readonly run: (load: Load) => Promise<LoadResult>
}

/** Runs a program that generates a load, on the generator's core. The last line that it prints is the result. */
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
