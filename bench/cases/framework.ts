import { signIn } from '../../scripts/toolchain/auth-emulator.mjs'
import { bfclDefinitions, nearestInSize } from '../definitions/bfcl.ts'
import { putDefinitions } from '../definitions/cloud-catalog.ts'
import type { Comparison } from '../measure/comparison.ts'
import { loadRounds, reachOf } from '../measure/load-rounds.ts'
import type { Contender, Effort } from '../measure/load-rounds.ts'
import type { Measured, NotRun } from '../measure/result.ts'
import { LIST_PATH, ask, headersFor, saveList } from '../processes/ask.ts'
import { makeDeployment } from '../processes/deployment.ts'
import { withEmulators } from '../processes/emulators.ts'
import type { Emulators } from '../processes/emulators.ts'
import { functionEnvironment, served } from '../processes/framework.ts'
import { withServers } from '../processes/server-process.ts'
import type { StartServer } from '../processes/server-process.ts'

/** The whole list of a warm, deployed function that checks the token, against a function that only sends the same bytes. */
export function framework(folder: string, effort: Effort): Promise<Measured | NotRun> {
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
  const empty = await build('empty-function')
  const all = bfclDefinitions()
  const catalogs = [nearestInSize(all, 30, 20_000 / 30), all]
  const contenders: Contender[] = []
  for (const definitions of catalogs) {
    const names = namesFor(definitions.length)
    const { idToken: token } = await signIn(emulators.auth, `tools-${definitions.length}@bench.example`)
    const toolrack = {
      ...(await start('framework.ts', {
        env: functionEnvironment(emulators, await served(ours, 'workflows')),
      })),
      token,
    }
    await putDefinitions(toolrack, 'user', definitions)
    const file = await saveList(toolrack, LIST_PATH, definitions, folder)
    const end = await start('framework.ts', {
      env: { NODE_ENV: 'production', BENCH_BODY: file, ...(await served(empty, 'empty')) },
    })
    await ask(end, LIST_PATH)
    const asked = { paths: () => [LIST_PATH], headers: headersFor(token) }
    contenders.push(
      { name: names.toolrack, server: toolrack, ...asked },
      { name: names.end, server: end, ...asked },
    )
  }
  const rounds = await loadRounds(contenders, effort)
  const sizes = catalogs.map(({ length }) => length)
  const emptyHandlers = sizes.map((size) => namesFor(size).end)
  return {
    rounds,
    comparisons: sizes.flatMap(comparisons),
    generator: reachOf(effort.generator, rounds, emptyHandlers),
  }
}

function namesFor(size: number) {
  return {
    toolrack: `Toolrack's function, ${size} tools`,
    end: `a function ending the same Buffer, ${size} tools`,
  }
}

function comparisons(size: number): Comparison[] {
  const { toolrack: ours, end: against } = namesFor(size)
  return [
    {
      what: `${size} tools, 32 connections`,
      metric: 'requestsPerSecond',
      unit: 'requests/s',
      ours,
      against,
      goal: { atLeast: 0.9 },
    },
    { what: `${size} tools, processor time of a request`, metric: 'cpuUs', unit: 'µs', ours, against },
    { what: `${size} tools, 1 connection, median`, metric: 'p50Us', unit: 'µs', ours, against },
    { what: `${size} tools, 1 connection, p99`, metric: 'p99Us', unit: 'µs', ours, against },
  ]
}
