import { buildNames } from '../build/build-rounds.ts'
import { buildRounds } from '../build/build-rounds.ts'
import { bfclDefinitions } from '../definitions/bfcl.ts'
import { makeData } from '../definitions/data-folder.ts'
import { drawing, manyDefinitions } from '../definitions/many.ts'
import type { Comparison } from '../measure/comparison.ts'
import { loadRounds, reachOf } from '../measure/load-rounds.ts'
import type { Contender, Effort } from '../measure/load-rounds.ts'
import type { Measured } from '../measure/result.ts'
import { LIST_PATH, headersFor, saveList } from '../processes/ask.ts'
import { withServers } from '../processes/server-process.ts'

const [SMALL, LARGE] = [753, 10_000]
const FIVE = [0, 150, 300, 450, 600]
const EMPTY = 'Express ending the same Buffer, 5 tools'
/** The number of different lists. The service's cache holds fewer answers, so no list is found in the cache. */
const NEW_LISTS = 40_000

/** Measures a list of five tools of a large catalog against five tools of a small catalog, over HTTP and without HTTP. */
export async function filter(folder: string, effort: Effort): Promise<Measured> {
  const built = await buildRounds(effort.rounds)
  const loaded = await loadedRounds(folder, effort)
  const rounds = built.map((round, index) => ({ ...round, ...loaded[index] }))
  return { rounds, comparisons: COMPARISONS, generator: reachOf(effort.generator, rounds, [EMPTY]) }
}

function loadedRounds(folder: string, effort: Effort) {
  return withServers(async (start) => {
    const contenders: Contender[] = []
    const draw = drawing(2)
    for (const size of [SMALL, LARGE]) {
      const definitions = manyDefinitions(bfclDefinitions(), size)
      const server = await start('toolrack.ts', { env: await makeData(folder, definitions) })
      const headers = headersFor(server.token)
      // Both catalogs use the same five definitions. Only the suffix of their names differs.
      const lastCopy = (Math.floor(size / SMALL) - 1) * SMALL
      const five = FIVE.flatMap((index) => definitions[lastCopy + index] ?? [])
      const path = pathFor(five.map((definition) => definition.function.name))
      const file = await saveList(server, path, five, folder)
      const { same, fresh } = namesFor(size)
      contenders.push(
        { name: same, server, headers, paths: () => [path] },
        {
          name: fresh,
          server,
          headers,
          paths: () => Array.from({ length: NEW_LISTS }, () => pathFor(draw(definitions, 5))),
        },
      )
      if (size === LARGE) {
        const empty = await start('express-end.ts', { args: [LIST_PATH, file] })
        contenders.push({ name: EMPTY, server: empty, headers, paths: () => [path] })
      }
    }
    return loadRounds(contenders, effort)
  })
}

function pathFor(names: readonly string[]): string {
  return `${LIST_PATH}?names=${names.join(',')}`
}

function namesFor(count: number) {
  const size = count.toLocaleString('en-US')
  return { same: `Toolrack, the same 5 of ${size}`, fresh: `Toolrack, 5 others of ${size} each time` }
}

const throughput = { metric: 'requestsPerSecond', unit: 'requests/s' } as const
const [small, large] = [namesFor(SMALL), namesFor(LARGE)]
const [smallBuild, largeBuild] = [buildNames(SMALL), buildNames(LARGE)]

const COMPARISONS: readonly Comparison[] = [
  {
    ...throughput,
    what: '5 names, 32 connections',
    ours: large.same,
    against: small.same,
    goal: { atLeast: 1 / 1.3 },
  },
  {
    ...throughput,
    what: '5 new names each time, 32 connections',
    ours: large.fresh,
    against: small.fresh,
    goal: { atLeast: 1 / 1.3 },
  },
  { ...throughput, what: '5 names, 32 connections, empty handler', ours: large.same, against: EMPTY },
  {
    what: 'building 5 names',
    metric: 'buildUs',
    unit: 'µs',
    ours: largeBuild.ours,
    against: smallBuild.ours,
    goal: { atMost: 1.3 },
  },
  {
    what: 'building 5 names, 1,000 lists in turn',
    metric: 'manyBuildUs',
    unit: 'µs',
    ours: largeBuild.ours,
    against: smallBuild.ours,
  },
  {
    what: 'building 5 names, merge, filter and stringify',
    metric: 'buildsPerSecond',
    unit: 'builds/s',
    ours: largeBuild.ours,
    against: largeBuild.peer,
    goal: { atLeast: 300 },
  },
]
