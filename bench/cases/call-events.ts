import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { makeData } from '../definitions/data-folder.ts'
import { TOOLS } from '../definitions/echo-tool.ts'
import type { Comparison } from '../measure/comparison.ts'
import type { Effort } from '../measure/load-rounds.ts'
import { median, percentile } from '../measure/median.ts'
import type { Measured, NotRun } from '../measure/result.ts'
import type { Round } from '../measure/round.ts'
import { withBenchPython } from '../processes/bench-python.ts'
import { withRunner } from '../processes/python-runner.ts'
import { withServers } from '../processes/server-process.ts'
import type { ServerProcess } from '../processes/server-process.ts'

const CALLS = 40
const PAUSE_MS = 20

const OURS = 'Toolrack, streamed'
const PEER = 'python -I, through a pipe'

/** Measures the time from a handler's `print` to its event at the caller, against the output of a `python -I` through a pipe. */
export function callEvents(folder: string, { rounds: count }: Effort): Promise<Measured | NotRun> {
  return withBenchPython((python) =>
    withRunner(python, (runner) =>
      withServers(async (start) => {
        const env = { ...(await makeData(folder, [])), ...runner.address }
        const server = await start('toolrack.ts', { env })
        await upload(server)
        await latencyOfEvent(server)
        const rounds: Round[] = []
        while (rounds.length < count)
          rounds.push({
            [OURS]: await sample(() => latencyOfEvent(server)),
            [PEER]: await sample(() => latencyOfPipe(python)),
          })
        return { rounds, comparisons: COMPARISONS, sharesCores: true }
      }),
    ),
  )
}

const figure = { metric: 'p50Ms', unit: 'ms', ours: OURS } as const
const COMPARISONS: readonly Comparison[] = [
  { ...figure, what: 'print to first event, median', goal: { atMost: 20 } },
  { ...figure, what: 'print to first event, median, against a pipe', against: PEER },
  { ...figure, what: 'print to first event, p99', metric: 'p99Ms', against: PEER },
]

async function sample(latency: () => Promise<number>): Promise<Record<string, number>> {
  const timesMs: number[] = []
  while (timesMs.length < CALLS) {
    await pause(PAUSE_MS)
    timesMs.push(await latency())
  }
  return { p50Ms: median(timesMs), p99Ms: percentile(timesMs, 0.99) }
}

/** The milliseconds between the time in this text and now. All processes of a machine read the same monotonic clock. */
function sincePrinted(text: string): number {
  const [, printed] = /(\d{9,})/.exec(text) ?? []
  assert.ok(printed, text)
  return Number(process.hrtime.bigint() - BigInt(printed)) / 1e6
}

async function latencyOfEvent({ url, token = '' }: ServerProcess): Promise<number> {
  const answer = await fetch(`${url}/workflows/tools/invoke`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, Accept: 'text/event-stream' },
    body: '{"name":"printing:show"}',
  })
  const decoder = new TextDecoder()
  let text = ''
  let latencyMs: number | undefined
  for await (const piece of answer.body as ReadableStream<Uint8Array>) {
    text += decoder.decode(piece, { stream: true })
    if (/event: log\n.*\n\n/.test(text)) latencyMs ??= sincePrinted(text.slice(text.indexOf('event: log')))
  }
  assert.ok(latencyMs !== undefined && text.includes('"textResultForLlm":"done"'), text)
  return latencyMs
}

async function latencyOfPipe(python: string): Promise<number> {
  const program = 'import time; print(time.monotonic_ns(), flush=True); time.sleep(0.05)'
  const child = spawn(python, ['-I', '-c', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  const closed = once(child, 'close')
  const [text] = (await once(child.stdout, 'data')) as [Buffer]
  const latencyMs = sincePrinted(text.toString())
  await closed
  return latencyMs
}

async function upload({ url, token = '' }: ServerProcess): Promise<void> {
  const answer = await fetch(`${url}/workflows/tools/modules/printing`, {
    method: 'PUT',
    headers: { Authorization: `Bearer ${token}` },
    body: readFileSync(join(TOOLS, 'printing.py')),
  })
  assert.equal(answer.status, 201, await answer.text())
}
