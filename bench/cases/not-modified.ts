import { bfclDefinitions, nearestInSize } from '../definitions/bfcl.ts'
import { makeData } from '../definitions/data-folder.ts'
import type { Comparison } from '../measure/comparison.ts'
import { loadRounds, reachOf } from '../measure/load-rounds.ts'
import type { Contender, Effort } from '../measure/load-rounds.ts'
import type { Measured } from '../measure/result.ts'
import { LIST_PATH, ask, headersFor, saveList } from '../processes/ask.ts'
import { withServers } from '../processes/server-process.ts'
import type { ServerProcess } from '../processes/server-process.ts'

const EMPTY = 'Express ending a bare 304'

/** Measures the 304 of a list, against the 304 of Express, which first makes the whole answer. */
export function notModified(folder: string, effort: Effort): Promise<Measured> {
  const all = bfclDefinitions()
  const catalogs = [all, nearestInSize(all, 30, 20_000 / 30)]
  return withServers(async (start) => {
    const contenders: Contender[] = []
    for (const definitions of catalogs) {
      const { toolrack, json } = namesFor(definitions.length)
      const ours = await start('toolrack.ts', { env: await makeData(folder, definitions) })
      const args = [LIST_PATH, await saveList(ours, LIST_PATH, definitions, folder)]
      contenders.push(
        await contender(toolrack, ours, ours.token),
        await contender(json, await start('express-json.ts', { args }), ours.token),
      )
    }
    const [ours] = contenders
    const empty = await start('express-end.ts', { args: [LIST_PATH] })
    contenders.push({ name: EMPTY, server: empty, paths: () => [LIST_PATH], headers: ours?.headers ?? {} })
    const rounds = await loadRounds(contenders, effort)
    return {
      rounds,
      comparisons: catalogs.flatMap(({ length }) => comparisons(length)),
      generator: reachOf(effort.generator, rounds, [EMPTY]),
    }
  })
}

/** A server, and requests to it that have the ETag of its list. */
async function contender(name: string, server: ServerProcess, token = ''): Promise<Contender> {
  const { etag } = await ask(server, LIST_PATH)
  await ask(server, LIST_PATH, { httpStatus: 304, ifNoneMatch: etag })
  return { name, server, paths: () => [LIST_PATH], headers: headersFor(token, etag) }
}

function namesFor(size: number) {
  return { toolrack: `Toolrack, 304 of ${size} tools`, json: `Express res.json, 304 of ${size} tools` }
}

function comparisons(size: number): Comparison[] {
  const { toolrack: ours, json } = namesFor(size)
  const throughput = { metric: 'requestsPerSecond', unit: 'requests/s', ours } as const
  return [
    {
      ...throughput,
      what: `${size} tools, 32 connections`,
      against: json,
      goal: { atLeast: 5 },
    },
    { ...throughput, what: `${size} tools, 32 connections, bare 304`, against: EMPTY },
    { what: `${size} tools, 1 connection, median`, metric: 'p50Us', unit: 'µs', ours, against: json },
  ]
}
