import { dialectRules, DIALECTS, inDialect } from '@toolrack/contract'
import type { Dialect, ToolDefinition } from '@toolrack/contract'
import assert from 'node:assert/strict'
import { bfclDefinitions } from '../definitions/bfcl.ts'
import { makeData } from '../definitions/data-folder.ts'
import type { Comparison } from '../measure/comparison.ts'
import { loadRounds } from '../measure/load-rounds.ts'
import type { Contender, Effort } from '../measure/load-rounds.ts'
import type { Measured } from '../measure/result.ts'
import { LIST_PATH, ask, headersFor, saveList } from '../processes/ask.ts'
import { withServers } from '../processes/server-process.ts'
import type { ServerProcess } from '../processes/server-process.ts'

const DEFAULT = 'Toolrack, no dialect'

/** The whole list in each vendor's dialect against the list without a dialect, from one warm server. */
export function dialects(folder: string, effort: Effort): Promise<Measured> {
  const definitions = bfclDefinitions()
  return withServers(async (start) => {
    const server = await start('toolrack.ts', { env: await makeData(folder, definitions) })
    await saveList(server, LIST_PATH, definitions, folder)
    for (const dialect of DIALECTS) await checkList(server, dialect, definitions)
    const contender = (name: string, path: string): Contender => ({
      name,
      server,
      paths: () => [path],
      headers: headersFor(server.token),
    })
    const contenders = [
      contender(DEFAULT, LIST_PATH),
      ...DIALECTS.map((dialect) => contender(nameOf(dialect), pathOf(dialect))),
    ]
    return { rounds: await loadRounds(contenders, effort), comparisons: DIALECTS.flatMap(comparisons) }
  })
}

/** Throws unless the list is equal to the definitions as the contract converts them. */
async function checkList(
  server: ServerProcess,
  dialect: Dialect,
  definitions: readonly ToolDefinition[],
): Promise<void> {
  const { body } = await ask(server, pathOf(dialect))
  const inOrder = definitions.toSorted((a, b) => (a.function.name < b.function.name ? -1 : 1))
  const items = inOrder.flatMap((definition): object[] => {
    const converted = inDialect(definition, dialectRules(dialect))
    return 'item' in converted ? [converted.item] : []
  })
  const expected = dialect === 'gemini' ? [{ functionDeclarations: items }] : items
  assert.deepEqual(JSON.parse(body.toString()), expected)
}

function pathOf(dialect: Dialect): string {
  return `${LIST_PATH}?dialect=${dialect}`
}

function nameOf(dialect: Dialect): string {
  return `Toolrack, ${dialect}`
}

function comparisons(dialect: Dialect): Comparison[] {
  const what = `753 tools in the dialect ${dialect}`
  const compared = { ours: nameOf(dialect), against: DEFAULT }
  return [
    {
      ...compared,
      what: `${what}, 32 connections`,
      metric: 'requestsPerSecond',
      unit: 'requests/s',
      goal: { atLeast: 0.9 },
    },
    { ...compared, what: `${what}, processor time of a request`, metric: 'cpuUs', unit: 'µs' },
  ]
}
