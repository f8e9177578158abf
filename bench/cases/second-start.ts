import type { ToolDefinition } from '@toolrack/contract'
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { KEPT_ADMISSIONS } from '../../functions/src/hosts/local/private-files.ts'
import { bfclDefinitions } from '../definitions/bfcl.ts'
import { makeData } from '../definitions/data-folder.ts'
import type { Comparison } from '../measure/comparison.ts'
import type { Effort } from '../measure/load-rounds.ts'
import type { Measured } from '../measure/result.ts'
import type { Round, Sample } from '../measure/round.ts'
import { LIST_PATH, ask } from '../processes/ask.ts'
import { withServers } from '../processes/server-process.ts'

/** The number of starts per round. A start takes little time, but the times of starts differ much. */
const STARTS = 3

const NONE = 'no definitions'
const FIRST = 'the first start with 753 files'
const SECOND = 'a second start with 753 files'

/** Measures the time from the start of a server to its first list, with one definition in each of 753 files, and with none. */
export async function secondStart(folder: string, { rounds: count }: Effort): Promise<Measured> {
  const none = await makeData(join(folder, 'none'), [])
  const definitions = bfclDefinitions()
  const filled = await dataWithFiles(join(folder, 'files'), definitions)
  const kept = join(filled['TOOLRACK_DATA'] ?? '', KEPT_ADMISSIONS)
  const rounds: Round[] = []
  while (rounds.length < count * STARTS) {
    rmSync(kept, { force: true })
    const first = await firstList(filled, definitions.length)
    assert.ok(existsSync(kept), 'the first start has kept nothing')
    const without = await firstList(none, 0)
    rounds.push({
      [FIRST]: first,
      [NONE]: without,
      [SECOND]: await firstList(filled, definitions.length),
    })
  }
  return { rounds, comparisons: COMPARISONS }
}

/** Makes a data folder without definitions, and a folder with one file for each definition. Returns the server's environment. */
async function dataWithFiles(
  folder: string,
  definitions: readonly ToolDefinition[],
): Promise<NodeJS.ProcessEnv> {
  const env = await makeData(folder, [])
  const files = join(folder, 'definitions')
  mkdirSync(files)
  for (const [index, definition] of definitions.entries())
    writeFileSync(join(files, `${index}.json`), JSON.stringify({ family: 'bfcl', tools: [definition] }))
  return { ...env, TOOLRACK_DEFS_DIR: files }
}

/** The figures of one start. The list must have `count` tools. */
function firstList(env: NodeJS.ProcessEnv, count: number): Promise<Sample> {
  return withServers(async (start) => {
    const server = await start('toolrack.ts', { env })
    const { body } = await ask(server, LIST_PATH)
    const readyMs = performance.now() - server.startedMs
    assert.equal((JSON.parse(body.toString()) as readonly unknown[]).length, count)
    return { readyMs, cpuMs: (await server.usage()).cpuMs }
  })
}

const ready = { what: 'process start to first list', metric: 'readyMs', unit: 'ms', against: NONE } as const

const COMPARISONS: readonly Comparison[] = [
  { ...ready, what: `${ready.what}, second start`, ours: SECOND, goal: { atMost: 1.3 } },
  { ...ready, what: `${ready.what}, first start`, ours: FIRST },
  { ...ready, what: 'processor time of it, second start', metric: 'cpuMs', ours: SECOND },
]
