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

/** A test that ran out of time leaves its runner running, and then jest would never end. */
const running = new Set<RunnerProcess>()
afterAll(async () => {
  await Promise.all([...running].map((runner) => runner.stop()))
})

/** A runner's process that fails in a given way, and what it did. */
export class StandInRunner implements AsyncDisposable {
  readonly process: RunnerProcess
  /** What the operator reads. */
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

  /** Every start so far, the last one last. */
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
