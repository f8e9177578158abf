import { bfclDefinitions } from '../definitions/bfcl.ts'
import { drawing, manyDefinitions } from '../definitions/many.ts'
import { median } from '../measure/median.ts'
import type { Round, Sample } from '../measure/round.ts'
import { buildNames } from './build-rounds.ts'
import { checkSame, layeredCatalog } from './layered-catalog.ts'

/**
 * The sizes of the catalogs. This process runs on the server's core. It measures how long it takes to build a list of 5 names from
 * each catalog, without HTTP and without a cache.
 */
const SIZES = [753, 10_000]
/** How many different lists are built. The definitions of `few` fit into the processor's cache. The definitions of `many` do not. */
const LISTS = { few: 100, many: 1_000 }

type Task = { readonly name: string; readonly measure: () => Sample }

const tasks = SIZES.flatMap((size): Task[] => {
  const definitions = manyDefinitions(bfclDefinitions(), size)
  const catalog = layeredCatalog(definitions)
  const draw = drawing(size)
  const lists = Array.from({ length: LISTS.many }, () => draw(definitions, 5))
  for (const names of lists.slice(0, 20)) checkSame(catalog, names)
  const many = lists.map((names) => catalog.prepare(names))
  const few = many.slice(0, LISTS.few)
  const naive = lists.slice(0, LISTS.few).map((names) => () => catalog.mergeAndFilter(names))
  const { ours, peer } = buildNames(size)
  return [
    {
      name: ours,
      measure: () => ({ ...sample(timeUs(few, 200, 100)), manyBuildUs: timeUs(many, 200, 100) }),
    },
    { name: peer, measure: () => sample(timeUs(naive, 100, 1)) },
  ]
})

function round(): Round {
  return Object.fromEntries(tasks.map(({ name, measure }) => [name, measure()]))
}

function sample(buildUs: number) {
  return { buildUs, buildsPerSecond: 1e6 / buildUs }
}

/** The time of one build: the median of batches, because the clock is too coarse for a single build of Toolrack. */
function timeUs(builds: readonly (() => Buffer)[], batches: number, batchSize: number): number {
  let next = 0
  const times = Array.from({ length: batches }, () => {
    const startedMs = performance.now()
    for (let turn = 0; turn < batchSize; turn += 1) {
      if (builds[next % builds.length]?.().length === 0) throw new Error('a build gave nothing')
      next += 1
    }
    return ((performance.now() - startedMs) * 1_000) / batchSize
  })
  return median(times)
}

round() // warms up
process.send?.(Array.from({ length: Number(process.argv[2]) }, round))
process.on('disconnect', () => process.exit(0))
