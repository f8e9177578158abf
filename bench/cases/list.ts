import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bfclDefinitions, nearestInSize } from '../definitions/bfcl.ts'
import { makeData } from '../definitions/data-folder.ts'
import { LIST_PATH, ask, headersFor, saveList } from '../processes/ask.ts'
import type { Comparison } from '../measure/comparison.ts'
import { loadRounds, reachOf } from '../measure/load-rounds.ts'
import type { Contender, Effort } from '../measure/load-rounds.ts'
import type { Measured } from '../measure/result.ts'
import { withServers } from '../processes/server-process.ts'
import type { ServerProcess, StartServer } from '../processes/server-process.ts'

const MCP_PATH = '/mcp'
const AS_MCP = `${LIST_PATH}?dialect=mcp`
const MCP_BODY = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} })
const MCP_HEADERS = {
  'Content-Type': 'application/json',
  Accept: 'application/json, text/event-stream',
  'MCP-Protocol-Version': '2025-11-25',
}
const [DIALECT, MCP] = ['Toolrack, dialect mcp', 'MCP SDK, tools/list']

/**
 * Measures the whole list of a warm server that checks the token, against a handler that only sends the same bytes. Also measures
 * the list in a dialect, against the list without a dialect and against the official MCP SDK with the same tools.
 */
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
      if (definitions !== all) continue
      const peer = await mcpPeer(ours, folder, start)
      contenders.push(
        { ...contender(DIALECT, ours), paths: () => [AS_MCP] },
        { name: MCP, server: peer, paths: () => [MCP_PATH], headers: MCP_HEADERS, body: MCP_BODY },
      )
    }
    const rounds = await loadRounds(contenders, effort)
    const sizes = catalogs.map(({ length }) => length)
    return {
      rounds,
      comparisons: [...sizes.flatMap(comparisons), ...IN_DIALECT],
      generator: reachOf(
        effort.generator,
        rounds,
        sizes.map((size) => namesFor(size).end),
      ),
    }
  })
}

/** Starts a server of the MCP SDK with the tools of our list. Throws unless it lists the same tools. */
async function mcpPeer(ours: ServerProcess, folder: string, start: StartServer): Promise<ServerProcess> {
  const { body } = await ask(ours, AS_MCP)
  const file = join(folder, 'mcp-tools.json')
  writeFileSync(file, body)
  const peer = await start('mcp-server.ts', { args: [MCP_PATH, file] })
  const answer = await fetch(peer.url + MCP_PATH, { method: 'POST', headers: MCP_HEADERS, body: MCP_BODY })
  const tools: unknown = JSON.parse(body.toString())
  assert.deepEqual(await answer.json(), { result: { tools }, jsonrpc: '2.0', id: 1 })
  return peer
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

const inDialect = { metric: 'requestsPerSecond', unit: 'requests/s', ours: DIALECT } as const
const IN_DIALECT: readonly Comparison[] = [
  {
    ...inDialect,
    what: '753 tools in the dialect mcp, 32 connections',
    against: namesFor(753).toolrack,
    goal: { atLeast: 0.9 },
  },
  { ...inDialect, what: '753 tools, 32 connections, MCP SDK', against: MCP, goal: { atLeast: 20 } },
]
