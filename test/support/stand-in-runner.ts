import { afterAll } from '@jest/globals'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { RunnerCommand } from '../../functions/src/hosts/local/runner-child.ts'
import { RunnerProcess } from '../../functions/src/hosts/local/runner-process.ts'
import type { RunnerPatience } from '../../functions/src/hosts/local/runner-process.ts'
import { textLog } from '../../functions/src/log.ts'
import { temporaryFolder } from './temporary-folder.ts'

const SCRIPT = fileURLToPath(new URL('runners/stand-in.mjs', import.meta.url))

export type Start = { readonly pid: number; readonly secret?: string; readonly env?: Record<string, string> }

/** The running runners. They are stopped at the end, because after a test that timed out jest would otherwise never end. */
const running = new Set<RunnerProcess>()
afterAll(async () => {
  await Promise.all([...running].map((runner) => runner.stop()))
})

/** A process of a runner that fails in a given way. It records its starts. */
export class StandInRunner implements AsyncDisposable {
  readonly process: RunnerProcess
  /** The service's log about the runner. */
  log = ''
  readonly #folder = temporaryFolder()
  readonly #starts: string

  constructor(kind: string, patience: Partial<RunnerPatience> = {}, command?: RunnerCommand) {
    this.#starts = join(this.#folder.path, 'starts')
    const standIn = { command: process.execPath, args: [SCRIPT, kind, this.#starts], env: { MARK: 'kept' } }
    const log = textLog({ write: (line) => (this.log += line) })
    this.process = new RunnerProcess(command ?? standIn, log, patience)
    running.add(this.process)
  }

  /** All starts until now, in order. */
  get starts(): Start[] {
    if (!existsSync(this.#starts)) return []
    const lines = readFileSync(this.#starts, 'utf8').split('\n').slice(0, -1)
    return lines.map((line) => JSON.parse(line) as Start)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process.stop()
    running.delete(this.process)
    this.#folder[Symbol.dispose]()
  }
}
