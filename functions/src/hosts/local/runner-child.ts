import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '../../log.ts'
import { parseObject } from '../../parse-object.ts'
import type { RunnerEndpoint } from '../../platform/runner/runner-request.ts'
import { EXIT } from './start-error.ts'

export type RunnerCommand = {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** The secret of all processes of the runner. If it is undefined, each process gets a new secret. */
  readonly secret?: string | undefined
}

export type RunnerEnd = {
  /** How the process ended, as words that follow "The runner" in a sentence. */
  readonly how: string
  /** True if only the operator can correct the cause. Until then, every process would end in the same way. */
  readonly isFinal: boolean
}

/** The most milliseconds to wait for the last lines of a process that has ended. */
const LAST_LINES_MS = 200

/**
 * One process of the runner. The first line of its standard input is its secret. The input then stays open. When this server
 * ends, the input closes, and the runner ends too. The process has its own session, so a Ctrl-C at the terminal does not reach
 * it.
 */
export class RunnerChild {
  /**
   * The endpoint of the process. Undefined if the process has ended before it wrote its address, or if the first line that it
   * wrote was not the address.
   */
  readonly ready: Promise<RunnerEndpoint | undefined>
  readonly ended: Promise<RunnerEnd>
  readonly #child: ChildProcessWithoutNullStreams
  /** The last warning or error that the process has logged. */
  #lastWarning = ''
  #fault = ''

  constructor(
    { command, args, env, secret = randomBytes(32).toString('base64url') }: RunnerCommand,
    log: Log,
  ) {
    this.#child = spawn(command, args, { env, cwd: '/', stdio: 'pipe', detached: true })
    const { stdin, stdout, stderr } = this.#child
    this.ended = this.#end()
    stdin.on('error', () => undefined)
    stdin.write(`${secret}\n`)
    readLines(stderr, (line) => (this.#lastWarning = forwardLine(log, line) || this.#lastWarning))
    const firstLine = new Promise<string>((resolve) => readLines(stdout, resolve))
    this.ready = Promise.race([firstLine, this.ended.then(() => undefined)]).then((line) =>
      line === undefined ? undefined : this.#endpoint(line, secret),
    )
  }

  /** Closes the input of the process. If the process does not end within `patienceMs`, kills its process group. */
  async stop(patienceMs: number): Promise<void> {
    this.#child.stdin.end()
    const left = await Promise.race([this.ended, pause(patienceMs, 'patience', { ref: false })])
    if (left === 'patience') this.kill('did not end by itself')
    await this.ended
  }

  /** Kills the process group. `fault` becomes `how` in the result of `ended`. */
  kill(fault: string): void {
    this.#fault ||= fault
    const { pid, exitCode, signalCode } = this.#child
    if (pid === undefined || exitCode !== null || signalCode !== null) return
    process.kill(-pid, 'SIGKILL')
  }

  async #end(): Promise<RunnerEnd> {
    const closed = once(this.#child, 'close').catch(() => undefined)
    try {
      const [code, signal] = (await once(this.#child, 'exit')) as [number | null, NodeJS.Signals | null]
      await Promise.race([closed, pause(LAST_LINES_MS, undefined, { ref: false })])
      const how = code === null ? `was ended by ${signal}` : `has ended with exit code ${code}`
      const reason = this.#lastWarning && `: ${this.#lastWarning.replace(/\.$/, '')}`
      return { how: this.#fault || how + reason, isFinal: code === EXIT.badConfig }
    } catch (error) {
      return { how: `cannot be started (${(error as NodeJS.ErrnoException).code})`, isFinal: false }
    }
  }

  #endpoint(line: string, secret: string): RunnerEndpoint | undefined {
    const { listening: url, socket } = parseObject(line) ?? {}
    // Only an address on this machine is accepted, because the secret is sent there.
    if (typeof url === 'string' && /^http:\/\/127\.0\.0\.1:\d+\/?$/.test(url))
      return { url, secret, ...(typeof socket === 'string' && { socket }) }
    this.kill('did not write its address first')
    return undefined
  }
}

/** The most characters of a line. A longer line is passed on in parts, so that it does not fill the memory. */
const LINE_CHARACTERS_MAX = 65_536

export function readLines(stream: Readable, onLine: (line: string) => void): void {
  let rest = ''
  stream.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    lines.forEach(onLine)
    if (rest.length < LINE_CHARACTERS_MAX) return
    onLine(rest)
    rest = ''
  })
  stream.on('end', () => {
    if (rest !== '') onLine(rest)
  })
}

const LEVELS: ReadonlyMap<unknown, keyof Log> = new Map([
  ['DEBUG', 'info'],
  ['INFO', 'info'],
  ['NOTICE', 'info'],
  ['WARNING', 'warn'],
])

/** Writes a line of the runner's log to this server's log. Returns the message of a warning or an error, or an empty text. */
function forwardLine(log: Log, line: string): string {
  // A line that is not a JSON object was written by Python itself.
  const entry = parseObject(line) ?? { severity: 'WARNING', message: line.trimEnd() }
  const { severity, message, ...fields } = entry
  const said = typeof message === 'string' ? message : line
  const level = LEVELS.get(severity) ?? 'error'
  if (said !== '') log[level](`runner: ${said}`, Object.keys(fields).length > 0 ? fields : undefined)
  return level === 'info' ? '' : said
}
