import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ProbeReport } from './probe.ts'

const MAIN = fileURLToPath(new URL('../../../functions/src/local.ts', import.meta.url))
const PROBE = new URL('./probe.ts', import.meta.url).href
const READY = /is ready at (?<url>http:\S+) .*\n(?:token: (?<token>\S+)\n)?[\s\S]*Ctrl-C stops the server\.\n/

export type ServiceOptions = {
  readonly env?: Readonly<Record<string, string>>
  readonly args?: readonly string[]
}

/** The embedded server as `npm start` runs it, in a data folder of its own, with the probe beside it. */
export class WatchedService {
  readonly url: string
  /** Empty where users come with tokens of Firebase. */
  readonly token: string
  readonly data: string
  readonly #child: ChildProcess
  readonly #log: () => string

  private constructor(
    child: ChildProcess,
    log: () => string,
    found: { readonly url: string; readonly token: string; readonly data: string },
  ) {
    this.#child = child
    this.#log = log
    this.url = found.url
    this.token = found.token
    this.data = found.data
  }

  /** Rejects with what the server said when it ends before it is ready. */
  static async start({ env = {}, args = [] }: ServiceOptions = {}): Promise<WatchedService> {
    const data = mkdtempSync(join(tmpdir(), 'toolrack-fuzz-'))
    const flags = ['--disable-warning=ExperimentalWarning', '--expose-gc', '--import', PROBE]
    const child = spawn(process.execPath, [...flags, MAIN, ...args], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: { PATH: process.env['PATH'], PORT: '0', TOOLRACK_DATA: data, HOME: data, ...env },
    })
    let said = ''
    let log = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (log += text))
    const ready = new Promise<RegExpExecArray>((resolve, reject) => {
      child.stdout?.setEncoding('utf8').on('data', (text: string) => {
        said += text
        const found = READY.exec(said)
        if (found) resolve(found)
      })
      child.once('close', () => reject(new Error(`the service did not start: ${log}`)))
    })
    const { url = '', token = '' } = (await ready).groups ?? {}
    return new WatchedService(child, () => log, { url, token, data })
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Everything that it has logged. */
  get log(): string {
    return this.#log()
  }

  /** Has the service collect its garbage and tell what is left. Rejects when it ends instead. */
  async inspect(): Promise<ProbeReport> {
    const waiting = new AbortController()
    const { signal } = waiting
    this.#child.send('inspect')
    try {
      return await Promise.race([
        once(this.#child, 'message', { signal }).then(([report]) => report as ProbeReport),
        once(this.#child, 'exit', { signal }).then(() => {
          throw new Error('the service has ended')
        }),
      ])
    } finally {
      waiting.abort()
    }
  }

  async stop(): Promise<void> {
    if (this.isAlive) {
      const ended = once(this.#child, 'exit')
      this.#child.kill('SIGKILL')
      await ended
    }
    rmSync(this.data, { recursive: true, force: true })
  }
}
