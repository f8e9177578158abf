import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { CORE, pinned } from '../processes/pin.ts'

/** A load: its requests, the number of connections, and the duration. */
export type Load = {
  readonly url: string
  /** The paths are requested one after the other, again and again. */
  readonly paths: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  /** The body of each request, which is then a POST. Without a body the requests are GETs. */
  readonly body?: string
  readonly connections: number
  readonly seconds: number
}

export type LoadResult = {
  readonly requestsPerSecond: number
  readonly p50Us: number
  readonly p99Us: number
  /** The processor time that the generator used. */
  readonly cpuMs: number
}

/** Sends requests as fast as they are answered. Rejects if a request fails, because then the figures mean nothing. */
export type Generator = {
  /** The name of the program, with its version. */
  readonly name: string
  readonly run: (load: Load) => Promise<LoadResult>
}

type Printed = { readonly errors: number; readonly cpuMs?: number }

type GeneratorRun = {
  readonly input?: string
  /** Finds the processor time in the output, if the result does not have it. */
  readonly cpuMsOf?: (output: string) => number
}

/** Runs a program that generates a load, on the generator's core. The last line that it prints is the result. */
export async function runGenerator(
  command: string,
  args: readonly string[],
  { input = '', cpuMsOf = () => Number.NaN }: GeneratorRun = {},
): Promise<LoadResult> {
  const child = spawn(...pinned(CORE.generator, command, args), { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(input)
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  const line = output.trimEnd().split('\n').at(-1) ?? ''
  if (code !== 0 || !line.startsWith('{')) throw new Error(`${command} ended with ${String(code)}: ${output}`)
  const { errors, ...result } = JSON.parse(line) as Omit<LoadResult, 'cpuMs'> & Printed
  if (errors > 0) throw new Error(`${errors} requests failed under ${command}`)
  return { ...result, cpuMs: result.cpuMs ?? cpuMsOf(output) }
}
