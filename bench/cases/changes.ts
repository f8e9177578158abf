import { signInWithClaims } from '../../scripts/toolchain/auth-emulator.mjs'
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { bfclDefinitions } from '../definitions/bfcl.ts'
import { putDefinitions, send } from '../definitions/cloud-catalog.ts'
import type { Comparison } from '../measure/comparison.ts'
import type { Effort } from '../measure/load-rounds.ts'
import type { Measured, NotRun } from '../measure/result.ts'
import type { Round } from '../measure/round.ts'
import { makeDeployment } from '../processes/deployment.ts'
import { withEmulators } from '../processes/emulators.ts'
import type { Emulators } from '../processes/emulators.ts'
import { functionEnvironment, served } from '../processes/framework.ts'
import { withServers } from '../processes/server-process.ts'
import type { StartServer } from '../processes/server-process.ts'

/** The number of writes per round. */
const WRITES = 3
const WRITE = 'a write by another instance'

/** Measures the time from the answer to a write at one instance until the event on another instance's feed, with 753 definitions. */
export function changes(folder: string, effort: Effort): Promise<Measured | NotRun> {
  return withEmulators(folder, (emulators) =>
    withServers((start) => measure(folder, effort, emulators, start)),
  )
}

async function measure(
  folder: string,
  { rounds: count }: Effort,
  emulators: Emulators,
  start: StartServer,
): Promise<Measured> {
  const { ours } = await makeDeployment(folder, { hasFileLayer: false })
  const { auth, project } = emulators
  const claims = { toolrackAdmin: true }
  const { idToken: token } = await signInWithClaims(auth, project, 'admin@bench.example', claims)
  const instance = async () => {
    const env = functionEnvironment(emulators, await served(ours, 'workflows'))
    return { ...(await start('framework.ts', { env })), token }
  }
  const [writer, reader] = [await instance(), await instance()]
  const definitions = bfclDefinitions()
  await putDefinitions(writer, 'global', definitions)
  const [changed] = definitions
  assert.ok(changed)
  const feed = await fetch(`${reader.url}/workflows/tools/changes`, {
    headers: { Authorization: `Bearer ${token}`, Accept: 'text/event-stream' },
  })
  assert.equal(feed.status, 200)
  const pieces = (feed.body as ReadableStream<Uint8Array>).getReader()
  await nextEvent(pieces)

  const rounds: Round[] = []
  while (rounds.length < count * WRITES) {
    // Each write comes at another moment between two checks of the reader's instance.
    await pause(500 + ((rounds.length * 370) % 1_000))
    const name = encodeURIComponent(changed.function.name)
    const description = `Written as number ${rounds.length}.`
    const definition = { ...changed, function: { ...changed.function, description } }
    const event = nextEvent(pieces)
    await send(writer, 'PUT', `/workflows/tools/defs/${name}?layer=global`, definition)
    const writtenMs = performance.now()
    const toldMs = await event
    rounds.push({ [WRITE]: { toldMs: Math.max(0, toldMs - writtenMs) } })
  }
  await pieces.cancel()
  return { rounds, comparisons: COMPARISONS }
}

/** Waits for the next event of a change. Resolves to the time of its arrival, from `performance.now()`. */
async function nextEvent(pieces: ReadableStreamDefaultReader<Uint8Array>): Promise<number> {
  for (let text = ''; ;) {
    const { value } = await pieces.read()
    assert.ok(value, 'the feed has ended')
    text += Buffer.from(value).toString()
    if (/event: changes\ndata: .*\n\n$/.test(text)) return performance.now()
  }
}

const told = { metric: 'toldMs', unit: 'ms', ours: WRITE, goal: { atMost: 2_000 } } as const

const COMPARISONS: readonly Comparison[] = [
  { ...told, what: 'write to event on the other, median' },
  { ...told, what: 'write to event on the other, slowest', of: 'highest' },
]
