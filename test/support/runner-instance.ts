import { afterAll } from '@jest/globals'
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readLines } from '../../functions/src/hosts/local/runner-child.ts'
import { PYTHON, RUNNER } from './runner-environment.ts'

/** A test that ran out of time leaves its runner behind. */
const alive = new Set<ChildProcess>()
afterAll(() => alive.forEach((child) => child.kill('SIGKILL')))

/** The real runner as Cloud Run starts it: without a parent, and without a secret because IAM protects it. */
export class RunnerInstance implements AsyncDisposable {
  readonly url: string
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, url: string) {
    this.#child = child
    this.url = url
  }

  static async start(settings: NodeJS.ProcessEnv = {}): Promise<RunnerInstance> {
    const place = { PATH: process.env['PATH'], HOST: '127.0.0.1', PORT: '0' }
    const env = { ...place, K_SERVICE: 'toolrack-runner', ...settings }
    const child = spawn(PYTHON, ['-I', RUNNER], { env, stdio: ['ignore', 'pipe', 'ignore'] })
    alive.add(child)
    const line = await new Promise<string>((resolve) => readLines(child.stdout, resolve))
    return new RunnerInstance(child, (JSON.parse(line) as { listening: string }).listening)
  }

  /** Calls that run in it at the moment. */
  async running(): Promise<number> {
    const health = await (await fetch(`${this.url}/health`)).json()
    return (health as { calls?: { running: number } }).calls?.running ?? 0
  }

  /** Stops it: it keeps its connections and does nothing. */
  hang(): void {
    this.#child.kill('SIGSTOP')
  }

  /** SIGKILL, as when an instance is lost. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    this.#child.kill('SIGKILL')
    await once(this.#child, 'exit')
    alive.delete(this.#child)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill()
  }
}
