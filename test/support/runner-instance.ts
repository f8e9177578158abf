import { afterAll } from '@jest/globals'
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readLines } from '../../functions/src/hosts/local/runner-child.ts'
import { PYTHON, RUNNER } from './runner-environment.ts'

/** The running runners. They are killed at the end, because a test that timed out has not stopped its runner. */
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

  /** The number of calls that run at the moment. */
  async running(): Promise<number> {
    const health = await (await fetch(`${this.url}/health`)).json()
    return (health as { calls?: { running: number } }).calls?.running ?? 0
  }

  /** Sends SIGSTOP. The runner keeps its connections and does nothing. */
  hang(): void {
    this.#child.kill('SIGSTOP')
  }

  /** Sends SIGKILL, as if the instance is lost. */
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
