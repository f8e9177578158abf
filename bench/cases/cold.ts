import { signInWithClaims } from '../../scripts/toolchain/auth-emulator.mjs'
import { join } from 'node:path'
import { newJobKeys } from '../../functions/src/access/job-keys.ts'
import { bfclDefinitions, nearestInSize } from '../definitions/bfcl.ts'
import { mintToken, putCollection, putDefinitions } from '../definitions/cloud-catalog.ts'
import type { Comparison } from '../measure/comparison.ts'
import type { Effort } from '../measure/load-rounds.ts'
import type { Measured, NotRun } from '../measure/result.ts'
import type { Round, Sample } from '../measure/round.ts'
import { LIST_PATH, ask } from '../processes/ask.ts'
import { coldStart } from '../processes/cold-start.ts'
import type { FirstRequest } from '../processes/cold-start.ts'
import { makeDeployment } from '../processes/deployment.ts'
import { withEmulators } from '../processes/emulators.ts'
import type { Emulators } from '../processes/emulators.ts'
import { functionEnvironment, served } from '../processes/framework.ts'
import { withServers } from '../processes/server-process.ts'

/** The number of starts per round. A start takes little time, but the times of starts differ much. */
const STARTS = 3
const GLOBAL = 30

/** A start: the function, its environment and its first request. */
type Start = {
  readonly name: string
  readonly source: string
  readonly target: string
  readonly env: NodeJS.ProcessEnv
  readonly first: FirstRequest
}

const TYPICAL = 'the ordinary stack reading 30 documents'
const ASKED = 'Toolrack, 30 tools in Firestore'
const FILES = "Toolrack's app on its file layer, without a Firestore client"
const NO_TOOLS = 'Toolrack, nothing in Firestore'
const CUT_OFF = 'Toolrack, Firestore unreachable'

/** A port on which nobody listens. */
const UNREACHABLE = '127.0.0.1:9'

/** Measures the time from the start of a process to its first list. */
export function cold(folder: string, effort: Effort): Promise<Measured | NotRun> {
  return withEmulators(folder, async (emulators) => {
    const starts = await prepare(folder, emulators)
    const rounds: Round[] = []
    while (rounds.length < effort.rounds * STARTS) {
      const samples = new Map<string, Sample>()
      for (const { name, source, target, env, first } of starts) {
        samples.set(name, await coldStart({ ...env, ...(await served(source, target)) }, first))
      }
      rounds.push(Object.fromEntries(samples))
    }
    return { rounds, comparisons: COMPARISONS }
  })
}

/** Fills Firestore and mints a job token for the tools. The token is verified offline. */
async function prepare(folder: string, emulators: Emulators): Promise<readonly Start[]> {
  const { ours, build } = await makeDeployment(folder, { hasFileLayer: true })
  const definitions = nearestInSize(bfclDefinitions(), GLOBAL, 20_000 / GLOBAL)
  await putCollection(emulators, definitions)
  const keys = { TOOLRACK_JOB_KEYS: newJobKeys() }
  const { token, files } = await withServers(async (start) => {
    const claims = { toolrackAdmin: true }
    const admin = await signInWithClaims(emulators.auth, emulators.project, 'admin@bench.example', claims)
    const env = functionEnvironment(emulators, { ...keys, ...(await served(ours, 'workflows')) })
    const server = { ...(await start('framework.ts', { env })), token: admin.idToken }
    await putDefinitions(server, 'global', definitions)
    const { layers } = await ask(server, LIST_PATH)
    // The file layer also has tools that only some lists show.
    const [, files = ''] = /file=(\d+)/.exec(layers) ?? []
    return { token: await mintToken(server, ['global', 'file']), files }
  })
  const list = (layers: string): FirstRequest => ({ path: '/jobs/tools/list', token, layers })
  const nothing = list(`user=0,global=0,file=${files}`)
  const env = functionEnvironment(emulators, keys)
  const empty = { GCLOUD_PROJECT: 'demo-empty', GOOGLE_CLOUD_PROJECT: 'demo-empty' }
  const toolrack = { source: ours, target: 'jobs', env }
  return [
    {
      name: TYPICAL,
      source: await build('typical-function'),
      target: 'typical',
      env: functionEnvironment(emulators),
      first: { path: LIST_PATH },
    },
    { ...toolrack, name: ASKED, first: list(`user=0,global=${GLOBAL},file=${files}`) },
    {
      name: FILES,
      source: await build('file-function'),
      target: 'jobs',
      env: { ...env, BENCH_FILE_LAYER: join(ours, 'dist/file-layer.json') },
      first: nothing,
    },
    { ...toolrack, name: NO_TOOLS, env: { ...env, ...empty }, first: nothing },
    {
      ...toolrack,
      name: CUT_OFF,
      env: { ...env, FIRESTORE_EMULATOR_HOST: UNREACHABLE },
      first: list(`user=error,global=error,file=${files},rules=error`),
    },
  ]
}

const ready = { metric: 'readyMs', unit: 'ms', against: TYPICAL } as const

const COMPARISONS: readonly Comparison[] = [
  { ...ready, what: 'process start to first 200, Firestore asked', ours: ASKED, goal: { atMost: 0.6 } },
  { ...ready, what: 'process start to first 200, file layer alone', ours: FILES, goal: { atMost: 0.35 } },
  { ...ready, what: 'process start to first 200, empty Firestore', ours: NO_TOOLS },
  { ...ready, what: 'process start to first 200, Firestore unreachable', ours: CUT_OFF },
  {
    what: 'process start to open port',
    metric: 'openMs',
    unit: 'ms',
    ours: ASKED,
    against: TYPICAL,
  },
  {
    what: 'processor time to first 200, Firestore asked',
    metric: 'cpuMs',
    unit: 'ms',
    ours: ASKED,
    against: TYPICAL,
  },
  {
    what: 'processor time to first 200, file layer alone',
    metric: 'cpuMs',
    unit: 'ms',
    ours: FILES,
    against: TYPICAL,
  },
]
