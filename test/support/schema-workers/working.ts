import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { WorkerPool } from '../../../functions/src/catalog/schemas/worker-pool.ts'
import type { Asker, PoolOptions } from '../../../functions/src/catalog/schemas/worker-pool.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const OBEDIENT = new URL('obedient-worker.ts', import.meta.url)
const FOREVER = 2_000_000_000
export const ADMITTED = { report: { faults: [], unenforced: [] } }

type Report = { readonly unenforced: readonly string[] }

/** Processes of the obedient worker, and a folder for the files that it writes. */
export function working(options: Partial<PoolOptions> = {}, firstStart = '') {
  const folder = temporaryFolder()
  const at = (name: string): string => join(folder.path, name)
  // A worker whose first start runs `firstStart`, which can end or hang it. The file `starts` has a dot for each start.
  const own = `
    import { appendFileSync, existsSync } from 'node:fs'
    const isFirst = !existsSync(${JSON.stringify(at('starts'))})
    appendFileSync(${JSON.stringify(at('starts'))}, '.')
    ${firstStart}
    await import(${JSON.stringify(OBEDIENT.href)})`
  if (firstStart !== '') writeFileSync(at('worker.mjs'), own)
  const url = firstStart === '' ? OBEDIENT : pathToFileURL(at('worker.mjs'))
  const pool = new WorkerPool<string, Report>(url, { deadlineMs: FOREVER, ...options })
  return {
    pool,
    at,
    ask: (title: string, asker: Partial<Asker> = {}) =>
      pool.ask(JSON.stringify({ title }), { user: 'ann', ...asker }),
    count: (name: string) => readFileSync(at(name), 'utf8').length,
    async [Symbol.asyncDispose]() {
      // After a failed test a question may still wait for this file.
      writeFileSync(at('go'), '')
      await pool.close()
      folder[Symbol.dispose]()
    },
  }
}

/** The id of the process that answers. */
export async function pidOf(
  { ask }: Pick<ReturnType<typeof working>, 'ask'>,
  asker: Partial<Asker> = {},
): Promise<number> {
  const answer = await ask('pid', asker)
  return Number('report' in answer ? answer.report.unenforced[0] : answer.fault)
}
