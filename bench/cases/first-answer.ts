import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { makeData } from '../definitions/data-folder.ts'
import { ARGUMENTS } from '../definitions/echo-tool.ts'
import { FILES, newModule, newModuleOfFiles } from '../definitions/new-module.ts'
import type { Effort } from '../measure/load-rounds.ts'
import type { Measured, NotRun } from '../measure/result.ts'
import type { Round } from '../measure/round.ts'
import { timedRounds } from '../measure/timed-rounds.ts'
import { withBenchPython } from '../processes/bench-python.ts'
import { keepAliveClient } from '../processes/keep-alive-client.ts'
import type { KeepAliveClient } from '../processes/keep-alive-client.ts'
import { withRunner } from '../processes/python-runner.ts'
import { withServers } from '../processes/server-process.ts'
import type { ServerProcess } from '../processes/server-process.ts'

const MODULES = 10
/** The pause before each call. Meanwhile the runner prepares the next children, and the service scans the changed folder. */
const PAUSE_MS = 300
/** The pause after a call whose tool does not exist yet. */
const POLL_MS = 2

const SAVED = 'Toolrack, a file saved in the folder'
const UPLOADED = 'Toolrack, uploaded'
const UPLOADED_FILES = `Toolrack, ${FILES} files uploaded`

/** Measures the time from a new module, saved in the watched folder or uploaded, to the first answer of its tool. */
export function firstAnswer(folder: string, { rounds: count }: Effort): Promise<Measured | NotRun> {
  return withBenchPython((python) =>
    withRunner(python, (runner) =>
      withServers(async (start) => {
        const tools = join(folder, 'tools')
        mkdirSync(tools)
        const env = { ...(await makeData(folder, [])), ...runner.address, TOOLRACK_TOOLS_DIR: tools }
        const server = await start('toolrack.ts', { env })
        const client = await keepAliveClient(Number(new URL(server.url).port), server.token)
        let modules = 0
        async function save(): Promise<void> {
          const { module, tool, source } = newModule((modules += 1))
          const path = join(tools, `${module}.py`)
          writeFileSync(path, source)
          while (!(await isAnswered(client, tool))) await pause(POLL_MS)
          rmSync(path)
        }
        async function upload(): Promise<void> {
          const { module, tool, source } = newModule((modules += 1))
          await uploadTo(server, module, { source })
          assert.ok(await isAnswered(client, tool), 'what was uploaded is not answered')
        }
        async function uploadFiles(): Promise<void> {
          const { module, tool, files } = newModuleOfFiles((modules += 1))
          await uploadTo(server, module, { files })
          assert.ok(await isAnswered(client, tool), 'what was uploaded is not answered')
        }
        await save()
        await upload()
        await uploadFiles()
        const rounds = await timedRounds(
          [
            { name: SAVED, calls: MODULES, pauseMs: PAUSE_MS, call: save },
            { name: UPLOADED, calls: MODULES, pauseMs: PAUSE_MS, call: upload },
            { name: UPLOADED_FILES, calls: MODULES, pauseMs: PAUSE_MS, call: uploadFiles },
          ],
          count,
        )
        client.close()
        return { rounds: rounds.map(inMilliseconds), comparisons: COMPARISONS, sharesCores: true }
      }),
    ),
  )
}

const median = { metric: 'p50Ms', unit: 'ms' } as const
const slowest = { metric: 'p99Ms', unit: 'ms' } as const

const COMPARISONS = [
  { ...median, what: 'file saved to first answer, median', ours: SAVED, goal: { atMost: 300 } },
  { ...slowest, what: 'file saved to first answer, p99', ours: SAVED },
  { ...median, what: 'upload to first answer, median', ours: UPLOADED, goal: { atMost: 250 } },
  { ...slowest, what: 'upload to first answer, p99', ours: UPLOADED },
  {
    ...median,
    what: `a module of ${FILES} files: upload to first answer`,
    ours: UPLOADED_FILES,
    against: UPLOADED,
    goal: { atMost: 2 },
  },
]

/** True if the tool exists. A wrong answer ends the benchmark. */
async function isAnswered(client: KeepAliveClient, tool: string): Promise<boolean> {
  const call = { name: tool, arguments: ARGUMENTS }
  const answer = await client.send('POST', '/workflows/tools/invoke', call).catch((error: unknown) => {
    assert.match(String(error), /Unsupported tool/)
  })
  if (answer === undefined) return false
  assert.deepEqual((answer as { data?: unknown }).data, ARGUMENTS)
  return true
}

async function uploadTo(
  { url, token = '' }: ServerProcess,
  module: string,
  content: Readonly<Record<string, unknown>>,
): Promise<void> {
  const answer = await fetch(`${url}/workflows/tools/modules/${module}`, {
    method: 'PUT',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(content),
  })
  assert.equal(answer.status, 201, await answer.text())
}

function inMilliseconds(round: Round): Round {
  return Object.fromEntries(
    Object.entries(round).map(([name, { p50Us = 0, p99Us = 0 }]) => [
      name,
      { p50Ms: p50Us / 1_000, p99Ms: p99Us / 1_000 },
    ]),
  )
}
