import { signInWithClaims } from '../../scripts/toolchain/auth-emulator.mjs'
import { listedTool } from '@toolrack/contract'
import type { ListedTool } from '@toolrack/contract'
import assert from 'node:assert/strict'
import { bfclDefinitions } from '../definitions/bfcl.ts'
import { putCollection, putDefinitions } from '../definitions/cloud-catalog.ts'
import type { Comparison } from '../measure/comparison.ts'
import { loadRounds } from '../measure/load-rounds.ts'
import type { Effort } from '../measure/load-rounds.ts'
import type { Measured, NotRun } from '../measure/result.ts'
import { LIST_PATH, ask, headersFor, saveList } from '../processes/ask.ts'
import { makeDeployment } from '../processes/deployment.ts'
import { withEmulators } from '../processes/emulators.ts'
import type { Emulators } from '../processes/emulators.ts'
import { functionEnvironment, served } from '../processes/framework.ts'
import { withServers } from '../processes/server-process.ts'
import type { ServerProcess, StartServer } from '../processes/server-process.ts'

/** The duration of a load is multiplied by this: the emulator needs seconds for 32 reads of 753 documents at once. */
const PATIENCE = 2

const OURS = "Toolrack's function, 753 tools"
const TYPICAL = 'a function reading Firestore each time, 753 tools'

/** Measures the whole list of a warm function, against a function that reads the same Firestore for each list. */
export function firestore(folder: string, effort: Effort): Promise<Measured | NotRun> {
  return withEmulators(folder, (emulators) =>
    withServers((start) => measure(folder, effort, emulators, start)),
  )
}

async function measure(
  folder: string,
  effort: Effort,
  emulators: Emulators,
  start: StartServer,
): Promise<Measured> {
  const { ours, build } = await makeDeployment(folder, { hasFileLayer: false })
  const definitions = bfclDefinitions()
  const claims = { toolrackAdmin: true }
  const { idToken: token } = await signInWithClaims(
    emulators.auth,
    emulators.project,
    'admin@bench.example',
    claims,
  )
  const serve = async (source: string, target: string): Promise<ServerProcess> =>
    start('framework.ts', { env: functionEnvironment(emulators, await served(source, target)) })
  const toolrack = { ...(await serve(ours, 'workflows')), token }
  await putDefinitions(toolrack, 'global', definitions)
  await saveList(toolrack, LIST_PATH, definitions, folder)
  await putCollection(emulators, definitions)
  const typical = await serve(await build('typical-function'), 'typical')
  const listed = JSON.parse((await ask(typical, LIST_PATH)).body.toString()) as ListedTool[]
  assert.deepEqual(byName(listed), byName(definitions.map(listedTool)))
  const asked = { paths: () => [LIST_PATH], headers: headersFor(token) }
  const contenders = [
    { name: OURS, server: toolrack, ...asked },
    { name: TYPICAL, server: typical, ...asked },
  ]
  const rounds = await loadRounds(contenders, { ...effort, seconds: effort.seconds * PATIENCE })
  return { rounds, comparisons: COMPARISONS }
}

function byName(tools: readonly ListedTool[]): ListedTool[] {
  return tools.toSorted((a, b) => (a.function.name < b.function.name ? -1 : 1))
}

const pair = { ours: OURS, against: TYPICAL } as const

const COMPARISONS: readonly Comparison[] = [
  {
    ...pair,
    what: 'the whole list, 32 connections',
    metric: 'requestsPerSecond',
    unit: 'requests/s',
    goal: { atLeast: 25 },
  },
  {
    ...pair,
    what: "processor time of a request, without the emulator's",
    metric: 'cpuUs',
    unit: 'µs',
    goal: { atMost: 1 / 25 },
  },
  { ...pair, what: '1 connection, median', metric: 'p50Us', unit: 'µs' },
]
