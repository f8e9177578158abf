import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { MemoryDefinitionStore } from '../../test/support/memory-definition-store.ts'
import { newSealing } from '../../test/support/memory-governance.ts'
import { put, tool } from '../../test/support/definition-changes.ts'
import { absentRunner } from '../../functions/src/catalog/definitions/runner.ts'
import { KEPT_MS } from '../../functions/src/features/artifacts/artifact.ts'
import { embeddedGovernance } from '../../functions/src/hosts/local/governance.ts'
import { closeServices, createServices } from '../../functions/src/hosts/services.ts'
import { ArtifactFiles } from '../../functions/src/stores/files/artifact-files.ts'
import { openGovernance } from '../../functions/src/stores/sqlite/open-governance.ts'
import { SqliteInvocationLogs } from '../../functions/src/stores/sqlite/sqlite-invocation-logs.ts'
import type { Round } from '../measure/round.ts'
import { AFTER_ALL, AFTER_FIRST, CALLS, FIRST, WITHOUT } from '../cases/artifacts.ts'

/**
 * Makes calls whose results have an image, through all steps of the service. The runner is a double that answers at once: the
 * figures are about what the service keeps. This process has a clock of its own, so it can see the artifacts expire.
 */
const IMAGE_BYTES = 8 * 1024
/** The calls that run at the same time. */
const AT_ONCE = 8
const DAY_MS = 24 * 60 * 60 * 1_000

const [, , folder = '', rounds = '1'] = process.argv

async function round(at: number): Promise<Round> {
  const data = join(folder, `round-${at}`)
  const clock = { nowMs: Date.now() }
  const now = () => clock.nowMs
  const image = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(IMAGE_BYTES - 8, at + 1)])
  let makes = false
  const usage = { wallMs: 1, cpuMs: 1, maxRssBytes: 1 }
  const log = { text: '', truncated: false }
  const chart = { type: 'image', mimeType: 'image/png', name: 'chart.png', bytes: image } as const
  const bytes = new ArtifactFiles(join(data, 'artifacts'))
  const runner = { kind: 'python', module: 'maker', sha256: 'a'.repeat(64) } as const
  const definition = { ...tool('maker:chart'), runner }
  const services = createServices({
    authenticate: () => Promise.reject(new Error('nobody asks')),
    now,
    runner: {
      ...absentRunner('It runs nothing.'),
      invoke: () =>
        Promise.resolve({ json: '{}', isolation: 'L2', usage, log, ...(makes && { made: [chart] }) }),
    },
    logs: new SqliteInvocationLogs(join(data, 'invocations.db')),
    governance: embeddedGovernance(openGovernance(join(data, 'governance.sqlite')), newSealing()),
    artifactBytes: bytes,
    store: () => new MemoryDefinitionStore(),
    files: () => ({
      read: () =>
        Promise.resolve({
          revision: 'f1',
          whole: true,
          definitions: [{ ...put(definition), revision: 'f1' }],
          deleted: [],
          skipped: [],
        }),
    }),
    log: { info: () => undefined, warn: console.error, error: console.error },
    corsOrigins: [],
  })
  await services.catalog.load()
  const principal = { kind: 'user', uid: 'ann', isAdmin: false } as const
  const request = { name: 'maker:chart', arguments: {}, context: {}, expectedDigest: undefined }
  async function call(): Promise<void> {
    const signal = new AbortController().signal
    const { result } = await services.invoker.invoke({ principal, read: () => request, signal })
    const isKept = result.resultType === 'success' && result.content?.[0]?.type === 'image'
    if (isKept !== makes) throw new Error(`another result: ${JSON.stringify(result)}`)
  }
  async function calls(count: number): Promise<number> {
    const startedMs = performance.now()
    let left = count
    const oneAfterAnother = async (): Promise<void> => {
      while (left > 0) {
        left -= 1
        await call()
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, oneAfterAnother))
    return ((performance.now() - startedMs) * 1_000) / count
  }
  await calls(FIRST)
  const withoutUs = await calls(FIRST)
  makes = true
  await calls(FIRST)
  const first = memoryMb()
  const callUs = await calls(CALLS - FIRST)
  const all = memoryMb()
  const kept = filesIn(join(data, 'artifacts'))
  clock.nowMs += KEPT_MS + DAY_MS
  const startedMs = performance.now()
  await services.artifactSweeper?.sweep()
  const sweepMs = performance.now() - startedMs
  const left = filesIn(join(data, 'artifacts'))
  await closeServices(services)
  return {
    [WITHOUT]: { callUs: withoutUs },
    [AFTER_FIRST]: { ...first },
    [AFTER_ALL]: { ...all, grownMb: all.usedMb - first.usedMb, callUs, kept, left, sweepMs },
  }
}

/** The memory of this process after a collection of garbage: what is in use, and what the system has given it. */
function memoryMb(): { readonly usedMb: number; readonly residentMb: number } {
  globalThis.gc?.()
  const { heapUsed, external, rss } = process.memoryUsage()
  return { usedMb: (heapUsed + external) / 1e6, residentMb: rss / 1e6 }
}

function filesIn(path: string): number {
  return readdirSync(path, { recursive: true, withFileTypes: true }).filter((one) => one.isFile()).length
}

const measured: Round[] = []
for (let at = 0; at < Number(rounds); at += 1) measured.push(await round(at))
process.send?.(measured)
process.on('disconnect', () => process.exit(0))
