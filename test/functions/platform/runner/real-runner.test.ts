import { expect } from '@jest/globals'
import { spawn } from 'node:child_process'
import { hash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, rmSync } from 'node:fs'
import type { Runner, RunnerHealth } from '../../../../functions/src/catalog/definitions/runner.ts'
import { parseConfig } from '../../../../functions/src/hosts/config.ts'
import { openRunner } from '../../../../functions/src/hosts/local/open-runner.ts'
import { HttpRunner } from '../../../../functions/src/platform/runner/http-runner.ts'
import { commandOf, descendantsOf, isAlive } from '../../../support/processes.ts'
import { CALL } from '../../../support/runner-call.ts'
import { PYTHON, RUNNER, withPython } from '../../../support/runner-environment.ts'
import { until } from '../../../support/until.ts'

const log = { info: () => undefined, warn: () => undefined, error: () => undefined }

function healthWith(runner: Runner, status: string): Promise<RunnerHealth> {
  return until(
    () => runner.health(),
    (health) => health.status === status,
  )
}

/** The runners that a process has started. */
function runnersBelow(pid: number): number[] {
  const started = descendantsOf(pid).filter((each) => commandOf(each).includes('--parent=stdin'))
  // A runner's children have its command too.
  return started.filter((each) => !started.some((other) => descendantsOf(other).includes(each)))
}

withPython('a runner that runs elsewhere is asked with RUNNER_SECRET, and refuses another', async () => {
  const secret = 'what only the two of them know'.replaceAll(' ', '-')
  const elsewhere = spawn(PYTHON, ['-I', RUNNER, '--parent=stdin'], { stdio: ['pipe', 'pipe', 'inherit'] })
  try {
    elsewhere.stdin.write(`${secret}\n`)
    const [line] = (await once(elsewhere.stdout.setEncoding('utf8'), 'data')) as [string]
    const { listening: RUNNER_URL } = JSON.parse(line) as { listening: string }
    const named = (RUNNER_SECRET: string) =>
      openRunner(parseConfig({ RUNNER_URL, RUNNER_SECRET }), { python: PYTHON }, log)
    const [friend, stranger] = [named(secret), named(`${secret}r`)]
    expect(await healthWith(friend, 'ready')).toMatchObject({ isolation: expect.stringMatching(/^L[0-4]$/) })
    expect(await healthWith(stranger, 'unreachable')).toMatchObject({
      reason: 'The runner refuses the secret of this service.',
    })
    // None was started beside it.
    expect(runnersBelow(process.pid)).toEqual([elsewhere.pid])
    await Promise.all([friend.close(), stranger.close()])
  } finally {
    elsewhere.stdin.end()
    await once(elsewhere, 'exit')
  }
})

withPython('calls go on when the folder of the socket is removed while the runner lives', async () => {
  const runner = openRunner(parseConfig({}), { python: PYTHON }, log)
  try {
    const { status } = await healthWith(runner, 'ready')
    expect(status).toBe('ready')
    // The runner gets no TMPDIR.
    const [pid] = runnersBelow(process.pid)
    const folders = readdirSync('/tmp').filter((name) => new RegExp(`-${pid}-.*-frames$`).test(name))
    expect(folders).toHaveLength(1)
    const source = 'TOOL_SPECS = [{"name": "m:t", "description": "T.", "handler": lambda n: {"n": n}}]\n'
    const sha256 = hash('sha256', source)
    const results = (signals: readonly AbortSignal[]) =>
      Promise.all(
        signals.map(async (signal, n) => {
          const call = { ...CALL, module: 'm', tool: 'm:t', sha256, arguments: { n }, signal }
          const outcome = await runner.invoke({ ...call, source: () => Promise.resolve({ source }) })
          return 'json' in outcome ? outcome.json : outcome
        }),
      )
    const { signal } = new AbortController()
    expect(await results([signal])).toEqual(['{"n":0}'])
    for (const folder of folders) rmSync(`/tmp/${folder}`, { recursive: true })
    // One of these calls has the connection that was kept.
    const own = [1, 2, 3].map(() => new AbortController().signal)
    expect(await results(own)).toEqual(['{"n":0}', '{"n":1}', '{"n":2}'])
    expect(await results([signal, signal])).toEqual(['{"n":0}', '{"n":1}'])
  } finally {
    await runner.close()
  }
})

withPython('a setting that the runner refuses is told by its name', async () => {
  const settings = { TOOLRACK_RUNNER_SLOTS: '2', TOOLRACK_RUNNER_USER_SLOTS: '3' }
  const runner = openRunner(parseConfig(settings), { python: PYTHON }, log)
  expect(await healthWith(runner, 'unreachable')).toMatchObject({
    reason: expect.stringMatching(
      /exit code 78: .*TOOLRACK_RUNNER_USER_SLOTS.*; correct that, then start the server again\.$/,
    ),
  })
  await runner.close()
})

withPython('a runner that is closed while it starts leaves nothing', async () => {
  const runner = openRunner(parseConfig({}), { python: PYTHON }, log)
  const started = await until(
    () => Promise.resolve(runnersBelow(process.pid)),
    ({ length }) => length > 0,
  )
  await runner.close()
  await until(
    () => Promise.resolve(started.filter(isAlive)),
    ({ length }) => length === 0,
  )
})

const CHART = `
import toolrack

def chart(path):
    with open(path, "rb") as file:
        return [toolrack.Image(file.read(), "image/png", "chart.png")]

TOOL_SPECS = [{"name": "m:chart", "description": "Draws.", "handler": chart}]
`

for (const way of ['in frames', 'over HTTP'])
  withPython(`a file of the arguments and an image of the result keep their bytes ${way}`, async () => {
    const secret = 'what-only-the-two-of-them-know'
    const elsewhere = spawn(PYTHON, ['-I', RUNNER, '--parent=stdin'], { stdio: ['pipe', 'pipe', 'inherit'] })
    try {
      elsewhere.stdin.write(`${secret}\n`)
      const [line] = (await once(elsewhere.stdout.setEncoding('utf8'), 'data')) as [string]
      const { listening: url, socket } = JSON.parse(line) as { listening: string; socket: string }
      const endpoint = { url, secret, ...(way === 'in frames' && { socket }) }
      const runner = new HttpRunner({ endpoint: () => endpoint })
      const png = randomBytes(300_001)
      const outcome = await runner.invoke({
        ...CALL,
        module: 'm',
        tool: 'm:chart',
        sha256: hash('sha256', CHART),
        arguments: { path: 'an artifact' },
        attached: [{ pointer: '/path', name: 'in.png', bytes: new Uint8Array(png) }],
        source: () => Promise.resolve({ source: CHART }),
      })
      expect(outcome).toMatchObject({
        json: '[{"image":1,"mimeType":"image/png","bytes":300001}]',
        made: [{ type: 'image', mimeType: 'image/png', name: 'chart.png' }],
      })
      expect('made' in outcome && png.equals(outcome.made?.[0]?.bytes ?? Buffer.alloc(0))).toBe(true)
      await runner.close()
    } finally {
      elsewhere.stdin.end()
      await once(elsewhere, 'exit')
    }
  })
