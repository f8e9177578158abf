import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bfclDefinitions } from '../definitions/bfcl.ts'
import { makeData } from '../definitions/data-folder.ts'
import type { Comparison } from '../measure/comparison.ts'
import { loadRounds, reachOf } from '../measure/load-rounds.ts'
import type { Contender, Effort } from '../measure/load-rounds.ts'
import type { Measured } from '../measure/result.ts'
import { LIST_PATH, ask, headersFor, saveList } from '../processes/ask.ts'
import { withServers } from '../processes/server-process.ts'
import type { ServerProcess } from '../processes/server-process.ts'

const MCP_PATH = '/mcp'
const LIST_AS_MCP = `${LIST_PATH}?dialect=mcp`
const BODY = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} })
const [OURS, OURS_AS_MCP, PEER, EMPTY] = [
  'Toolrack, 753 tools',
  'Toolrack, dialect mcp',
  'MCP SDK, tools/list',
  'Express ending the same Buffer, 753 tools',
]

/** The whole list against `tools/list` of the official MCP SDK with the same tools. */
export function mcpServer(folder: string, effort: Effort): Promise<Measured> {
  const definitions = bfclDefinitions()
  return withServers(async (start) => {
    const ours = await start('toolrack.ts', { env: await makeData(folder, definitions) })
    const listed = await saveList(ours, LIST_PATH, definitions, folder)
    const { body } = await ask(ours, LIST_AS_MCP)
    const tools = join(folder, 'mcp-tools.json')
    writeFileSync(tools, body)
    const peer = await start('mcp-server.ts', { args: [MCP_PATH, tools] })
    await checkPeer(peer, JSON.parse(body.toString()))
    const empty = await start('express-end.ts', { args: [LIST_PATH, listed] })
    const get = (name: string, server: ServerProcess, path: string): Contender => ({
      name,
      server,
      paths: () => [path],
      headers: headersFor(ours.token),
    })
    const rounds = await loadRounds(
      [
        get(OURS, ours, LIST_PATH),
        get(OURS_AS_MCP, ours, LIST_AS_MCP),
        { name: PEER, server: peer, paths: () => [MCP_PATH], headers: MCP_HEADERS, body: BODY },
        get(EMPTY, empty, LIST_PATH),
      ],
      effort,
    )
    return { rounds, comparisons: COMPARISONS, generator: reachOf(effort.generator, rounds, [EMPTY]) }
  })
}

const MCP_HEADERS = {
  'Content-Type': 'application/json',
  Accept: 'application/json, text/event-stream',
  'MCP-Protocol-Version': '2025-11-25',
}

/** Throws unless the peer lists the same tools. */
async function checkPeer({ url }: ServerProcess, tools: unknown): Promise<void> {
  const answer = await fetch(url + MCP_PATH, { method: 'POST', headers: MCP_HEADERS, body: BODY })
  assert.equal(answer.status, 200)
  assert.deepEqual(await answer.json(), { result: { tools }, jsonrpc: '2.0', id: 1 })
}

const throughput = { metric: 'requestsPerSecond', unit: 'requests/s', against: PEER } as const
const COMPARISONS: readonly Comparison[] = [
  { ...throughput, what: '753 tools, 32 connections', ours: OURS, goal: { atLeast: 20 } },
  { ...throughput, what: '753 tools in the dialect mcp, 32 connections', ours: OURS_AS_MCP },
  { what: '753 tools, processor time of a request', metric: 'cpuUs', unit: 'µs', ours: OURS, against: PEER },
  { what: '753 tools, 1 connection, median', metric: 'p50Us', unit: 'µs', ours: OURS, against: PEER },
]
