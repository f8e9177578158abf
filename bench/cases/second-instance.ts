import { signInWithClaims } from '../../scripts/toolchain/auth-emulator.mjs'
import type { ListedTool } from '@toolrack/contract'
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { bfclDefinitions } from '../definitions/bfcl.ts'
import { putDefinitions, send } from '../definitions/cloud-catalog.ts'
import type { Comparison } from '../measure/comparison.ts'
import type { Effort } from '../measure/load-rounds.ts'
import type { Measured, NotRun } from '../measure/result.ts'
import type { Round } from '../measure/round.ts'
import { LIST_PATH } from '../processes/ask.ts'
import { makeDeployment } from '../processes/deployment.ts'
import { withEmulators } from '../processes/emulators.ts'
import type { Emulators } from '../processes/emulators.ts'
import { functionEnvironment, served } from '../processes/framework.ts'
import { withServers } from '../processes/server-process.ts'
import type { ServerProcess, StartServer } from '../processes/server-process.ts'
import type { Reads } from '../servers/count-reads.ts'

const POLL_MS = 20
const IDLE_MS = 3_000
/** The number of writes per round. */
const WRITES = 3
/** A user's list reads two layers in Firestore: the user's and the global one. */
const LAYERS = 2

const WRITE = 'a write by another instance'
const IDLE = 'a list that nobody writes to'

/**
 * Measures the time until one instance lists a definition that another instance wrote to a layer of 753 definitions, and how many
 * documents it reads from Firestore for this.
 */
export function secondInstance(folder: string, effort: Effort): Promise<Measured | NotRun> {
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
  const claims = { toolrackAdmin: true }
  const { idToken: token } = await signInWithClaims(
    emulators.auth,
    emulators.project,
    'admin@bench.example',
    claims,
  )
  const instance = async () => {
    const env = functionEnvironment(emulators, {
      BENCH_COUNT_READS: 'yes',
      ...(await served(ours, 'workflows')),
    })
    return { ...(await start('framework.ts', { env })), token }
  }
  const [writer, reader] = [await instance(), await instance()]
  const definitions = bfclDefinitions()
  await putDefinitions(writer, 'global', definitions)
  const [changed] = definitions
  assert.ok(changed)
  const path = `${LIST_PATH}?names=${changed.function.name}`
  await description(reader, path)

  const rounds: Round[] = []
  while (rounds.length < count * WRITES) {
    const idle = await readsDuring(reader, () => pollFor(reader, path, IDLE_MS))
    const text = `Written as number ${rounds.length}.`
    let [writtenMs, seenMs] = [0, 0]
    // The reader checks for writes once a second. Each write must come at another moment between two checks.
    await pollFor(reader, path, (rounds.length * 370) % 1_000)
    const written = await readsDuring(reader, async () => {
      const name = encodeURIComponent(changed.function.name)
      const definition = { ...changed, function: { ...changed.function, description: text } }
      await send(writer, 'PUT', `/workflows/tools/defs/${name}?layer=global`, definition)
      writtenMs = performance.now()
      while ((await description(reader, path)) !== text) await pause(POLL_MS)
      seenMs = performance.now()
    })
    rounds.push({
      [WRITE]: { seenMs: seenMs - writtenMs, items: written.items, calls: written.calls },
      [IDLE]: {
        readsPerSecond: ((idle.layerDocuments + idle.items) / LAYERS / IDLE_MS) * 1_000,
        calls: idle.calls,
      },
    })
  }
  return { rounds, comparisons: COMPARISONS }
}

/** Requests the list again and again, as clients of a busy instance do. */
async function pollFor(server: ServerProcess, path: string, ms: number): Promise<void> {
  const endsMs = performance.now() + ms
  while (performance.now() < endsMs) {
    await description(server, path)
    await pause(POLL_MS)
  }
}

async function description(server: ServerProcess, path: string): Promise<string | undefined> {
  const [tool] = await send<readonly ListedTool[]>(server, 'GET', path)
  return tool?.function.description
}

async function readsDuring(server: ServerProcess, work: () => Promise<void>): Promise<Reads> {
  const before = await readsOf(server)
  await work()
  const after = await readsOf(server)
  return {
    calls: after.calls - before.calls,
    layerDocuments: after.layerDocuments - before.layerDocuments,
    items: after.items - before.items,
  }
}

async function readsOf(server: ServerProcess): Promise<Reads> {
  const { reads } = await server.usage()
  assert.ok(reads, 'the reads of this server are not counted')
  return reads
}

const seen = { metric: 'seenMs', unit: 'ms', ours: WRITE, goal: { atMost: 2_000 } } as const

const COMPARISONS: readonly Comparison[] = [
  { ...seen, what: 'write to list on the other, median' },
  { ...seen, what: 'write to list on the other, slowest', of: 'highest' },
  {
    what: 'definitions read for one changed',
    metric: 'items',
    unit: 'reads',
    ours: WRITE,
    of: 'highest',
    goal: { atMost: 1 },
  },
  { what: 'reads of one layer', metric: 'readsPerSecond', unit: 'reads/s', ours: IDLE, goal: { atMost: 1 } },
]
