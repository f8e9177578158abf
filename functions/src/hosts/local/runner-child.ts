import { spawn } from 'node:child_process'
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '../../log.ts'
import type { RunnerAddress } from '../../platform/runner/runner-address.ts'
import { readLines } from './read-lines.ts'
import { forwardLine } from './runner-log.ts'

export type RunnerCommand = {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Of every life; without it each has a new one. */
  readonly secret?: string | undefined
}

export type RunnerEnd = {
  /** To go behind "The runner". */
  readonly how: string
  /** Whether it would end the same way again, for the operator has to correct something first. */
  readonly isFinal: boolean
}

const LAST_WORDS_MS = 200

/** EX_CONFIG: a setting can't be used. */
const BAD_SETTING = 78

/**
 * One life of the runner's process. It gets its secret as the first line of its input, which then stays open:
 * when we go, however we go, the input ends and the runner with it. It leads a session of its own, where a Ctrl-C at the
 * terminal does not reach it.
 */
export class RunnerChild {
  /** Where it listens; undefined when it has ended before, or said something else than that. */
  readonly ready: Promise<RunnerAddress | undefined>
  readonly ended: Promise<RunnerEnd>
  readonly #child: ChildProcessWithoutNullStreams
  /** Its last complaint. */
  #lastWord = ''
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
    readLines(stderr, (line) => (this.#lastWord = forwardLine(log, line) || this.#lastWord))
    const firstLine = new Promise<string>((resolve) => readLines(stdout, resolve))
    this.ready = Promise.race([firstLine, this.ended.then(() => undefined)]).then((line) =>
      line === undefined ? undefined : this.#address(line, secret),
    )
  }

  /** Lets it end by itself, and ends it and its process group where it does not. */
  async stop(patienceMs: number): Promise<void> {
    this.#child.stdin.end()
    const left = await Promise.race([this.ended, pause(patienceMs, 'patience', { ref: false })])
    if (left === 'patience') this.kill('did not end by itself')
    await this.ended
  }

  /** `fault` says why, where that is not plain from how it ends. */
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
      // What it said last may still be on its way.
      await Promise.race([closed, pause(LAST_WORDS_MS, undefined, { ref: false })])
      const how = code === null ? `was ended by ${signal}` : `has ended with exit code ${code}`
      const lastWord = this.#lastWord && `: ${this.#lastWord.replace(/\.$/, '')}`
      return { how: this.#fault || how + lastWord, isFinal: code === BAD_SETTING }
    } catch (error) {
      return { how: `can not be started (${(error as NodeJS.ErrnoException).code})`, isFinal: false }
    }
  }

  #address(line: string, secret: string): RunnerAddress | undefined {
    const url = listeningIn(line)
    if (url === undefined) this.kill('said something else than where it listens')
    return url === undefined ? undefined : { url, secret }
  }
}

/** `{"listening":"http://127.0.0.1:40123","pid":7}`, on this machine only: what we hand out is a secret. */
function listeningIn(line: string): string | undefined {
  try {
    const { listening } = JSON.parse(line) as { listening?: unknown }
    return typeof listening === 'string' && /^http:\/\/127\.0\.0\.1:\d+\/?$/.test(listening)
      ? listening
      : undefined
  } catch {
    return undefined
  }
}
