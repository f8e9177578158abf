import { afterAll } from '@jest/globals'
import { runnerCommand } from '../../functions/src/local/open-runner.ts'
import { RunnerProcess } from '../../functions/src/local/runner-process.ts'
import { textLog } from '../../functions/src/log.ts'
import { HttpRunner } from '../../functions/src/runner/http-runner.ts'
import { PYTHON } from './runner-environment.ts'
import { until } from './until.ts'

/** A test that ran out of time leaves its runner behind, and jest would wait for it for ever. */
const running = new Set<RunnerProcess>()
afterAll(async () => {
  await Promise.all([...running].map((runner) => runner.stop()))
})

export type RealRunner = {
  readonly runner: HttpRunner
  readonly process: RunnerProcess
  [Symbol.asyncDispose](): Promise<void>
}

/** The Python runner itself, in a process of its own, ready for calls. */
export async function realRunner(settings: Readonly<Record<string, string>> = {}): Promise<RealRunner> {
  const process = new RunnerProcess(runnerCommand(PYTHON, settings), textLog({ write: () => true }))
  running.add(process)
  const runner = new HttpRunner({
    whereabouts: () => process.whereabouts,
    close: () => process.stop(),
    patience: { deadlineMs: 30_000, freshMs: 0 },
  })
  await until(
    () => runner.health(),
    ({ status }) => status === 'ready',
  )
  return { runner, process, [Symbol.asyncDispose]: () => runner.close() }
}
