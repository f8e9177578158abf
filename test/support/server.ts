import { afterAll } from '@jest/globals'
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'

/** The running servers. They are killed at the end, because after a test that timed out jest would otherwise never end. */
const alive = new Set<ChildProcess>()
afterAll(() => alive.forEach((child) => child.kill('SIGKILL')))

const MAIN = fileURLToPath(new URL('../../functions/src/local.ts', import.meta.url))
const BANNER =
  /is ready at (?<url>http:\S+) .*\n(?:token: (?<token>\S+)\n)?[\s\S]*Ctrl-C stops the server\.\n/

export type ServerOptions = {
  /** The data folder. The default is a new folder, which is removed at the end. */
  readonly data?: string
  readonly definitions?: string
  readonly env?: Readonly<Record<string, string>>
  /** A command that starts the server in another environment, such as `unshare -rm`. It must exec the command after it. */
  readonly through?: readonly string[]
  readonly args?: readonly string[]
}

/** The exit status and the output of a server that has ended or has not started. */
export type Ended = {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  /** Without the warnings about delays, which any server may print whose disk is slow. */
  readonly stderr: string
}

const DELAY_WARNINGS = /^warn {2}the event loop was delayed {2}.*\n/gm

/** The embedded server as `npm start` runs it, in a separate process with its own data folder. */
export class Server implements AsyncDisposable {
  readonly data: string
  readonly #options: ServerOptions
  readonly #ownsData: boolean
  #run: Run

  private constructor(options: ServerOptions, data: string, run: Run) {
    this.#options = options
    this.#ownsData = options.data === undefined
    this.data = data
    this.#run = run
  }

  /** Resolves when the server has printed its banner. If the server ends before, rejects with its stderr. */
  static async start(options: ServerOptions = {}): Promise<Server> {
    const data = options.data ?? mkdtempSync(join(tmpdir(), 'toolrack-e2e-'))
    const run = new Run(options, data)
    const server = new Server(options, data, run)
    try {
      await run.ready()
    } catch (error) {
      await server[Symbol.asyncDispose]()
      throw error
    }
    return server
  }

  get url(): string {
    return this.#run.url
  }

  get token(): string {
    return this.#run.token
  }

  /** The header with the token that may also decide approvals and write rules. */
  get approver(): { readonly Authorization: string } {
    return { Authorization: `Bearer ${readFileSync(join(this.data, 'approver-token'), 'utf8').trim()}` }
  }

  get pid(): number {
    return this.#run.child.pid ?? 0
  }

  /** The stdout of the server since its last start, which is its banner. */
  get said(): string {
    return this.#run.stdout
  }

  /** The log of the server since its last start. */
  get log(): string {
    return this.#run.stderr
  }

  /** The parent's end of descriptor 3. */
  get parentPipe(): Writable {
    return this.#run.child.stdio[3] as Writable
  }

  /** `fetch` with a path of the server, and with the server's token unless `init` has an Authorization. */
  fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers)
    if (!headers.has('Authorization')) headers.set('Authorization', `Bearer ${this.token}`)
    return fetch(this.url + path, { ...init, headers })
  }

  signal(signal: NodeJS.Signals): void {
    this.#run.child.kill(signal)
  }

  ended(): Promise<Ended> {
    return this.#run.ended
  }

  /** Sends SIGTERM, as a platform does. */
  stop(): Promise<Ended> {
    this.signal('SIGTERM')
    return this.ended()
  }

  async kill9(): Promise<void> {
    this.signal('SIGKILL')
    await this.ended()
  }

  /** Starts again with the same data. The caller must have ended the last process. */
  async restart(): Promise<void> {
    this.#run = new Run(this.#options, this.data)
    await this.#run.ready()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill9()
    if (this.#ownsData) rmSync(this.data, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Runs a server that is expected not to start. */
export function failedStart(options: ServerOptions & { readonly data: string }): Promise<Ended> {
  return new Run(options, options.data).ended
}

class Run {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
  stdout = ''
  stderr = ''
  url = ''
  token = ''

  constructor({ through = [], args = [], definitions, env = {} }: ServerOptions, data: string) {
    const node = [process.execPath, '--disable-warning=ExperimentalWarning', MAIN, ...args]
    const [command = '', ...rest] = [...through, ...node]
    this.child = spawn(command, rest, {
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      env: {
        ...withoutOurs(process.env),
        PORT: '0',
        TOOLRACK_DATA: data,
        // The server must not read the folder of modules in the tester's home.
        HOME: data,
        ...(definitions !== undefined && { TOOLRACK_DEFS_DIR: definitions }),
        ...env,
      },
    })
    alive.add(this.child)
    this.child.once('exit', () => alive.delete(this.child))
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text
      this.child.emit('said')
    })
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text))
    this.child.stdio[3]?.on('error', () => undefined)
    this.ended = once(this.child, 'close').then(([code, signal]) => ({
      code: code as number | null,
      signal: signal as NodeJS.Signals | null,
      stdout: this.stdout,
      stderr: this.stderr.replaceAll(DELAY_WARNINGS, ''),
    }))
  }

  async ready(): Promise<void> {
    for (;;) {
      const { url, token = '' } = BANNER.exec(this.stdout)?.groups ?? {}
      if (url !== undefined) {
        this.url = url
        this.token = token
        return
      }
      const ended = await Promise.race([once(this.child, 'said').then(() => undefined), this.ended])
      if (ended) throw new Error(`the server ended with ${ended.code ?? ended.signal}: ${ended.stderr}`)
    }
  }
}

/** Removes the service's variables, because the server must not get those of the tester. */
function withoutOurs(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const ours = /^(TOOLRACK_|RALPH_|LIST_|PORT$|HOST$|NODE_OPTIONS$)/
  return Object.fromEntries(Object.entries(env).filter(([name]) => !ours.test(name)))
}
