import { bfclDefinitions, nearestInSize } from '../definitions/bfcl.ts'
import { makeData } from '../definitions/data-folder.ts'
import { LIST_PATH, headersFor, saveList } from '../processes/ask.ts'
import type { Comparison } from '../measure/comparison.ts'
import { loadRounds, reachOf } from '../measure/load-rounds.ts'
import type { Contender, Effort } from '../measure/load-rounds.ts'
import type { Measured } from '../measure/result.ts'
import { withServers } from '../processes/server-process.ts'
import type { ServerProcess } from '../processes/server-process.ts'

/** The whole list of a warm server that checks the token, against a handler that only sends the same bytes. */
export function list(folder: string, effort: Effort): Promise<Measured> {
  const all = bfclDefinitions()
  const catalogs = [nearestInSize(all, 30, 20_000 / 30), all]
  return withServers(async (start) => {
    const contenders: Contender[] = []
    for (const definitions of catalogs) {
      const { toolrack, end, json } = namesFor(definitions.length)
      const ours = await start('toolrack.ts', { env: await makeData(folder, definitions) })
      const args = [LIST_PATH, await saveList(ours, LIST_PATH, definitions, folder)]
      const contender = (name: string, server: ServerProcess): Contender => ({
        name,
        server,
        paths: () => [LIST_PATH],
        headers: headersFor(ours.token),
      })
      contenders.push(
        contender(toolrack, ours),
        contender(end, await start('express-end.ts', { args })),
        contender(json, await start('express-json.ts', { args })),
      )
    }
    const rounds = await loadRounds(contenders, effort)
    const sizes = catalogs.map(({ length }) => length)
    return {
      rounds,
      comparisons: sizes.flatMap(comparisons),
      generator: reachOf(
        effort.generator,
        rounds,
        sizes.map((size) => namesFor(size).end),
      ),
    }
  })
}

function namesFor(size: number) {
  return {
    toolrack: `Toolrack, ${size} tools`,
    end: `Express ending the same Buffer, ${size} tools`,
    json: `Express res.json, ${size} tools`,
  }
}

function comparisons(size: number): Comparison[] {
  const { toolrack: ours, end, json } = namesFor(size)
  const throughput = { metric: 'requestsPerSecond', unit: 'requests/s', ours } as const
  const latency = { unit: 'µs', ours } as const
  return [
    {
      ...throughput,
      what: `${size} tools, 32 connections`,
      against: end,
      goal: { atLeast: 0.8 },
    },
    {
      ...latency,
      what: `${size} tools, 1 connection, median`,
      metric: 'p50Us',
      against: end,
      goal: { atMost: 1.2 },
    },
    { ...latency, what: `${size} tools, 1 connection, p99`, metric: 'p99Us', against: end },
    { ...throughput, what: `${size} tools, 32 connections, res.json`, against: json },
  ]
}
