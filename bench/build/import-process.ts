import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Sample } from '../measure/round.ts'

/** Runs on the server's core: times groups of imports from a function's folder, one after the other. */
const [, , source = '', json = '[]'] = process.argv
const groups = JSON.parse(json) as readonly (readonly [string, readonly string[]])[]
const { load } = (await import(pathToFileURL(join(source, 'load.js')).href)) as {
  load: (name: string) => Promise<unknown>
}
const times: Record<string, Sample> = {}
for (const [group, names] of groups) {
  const startedMs = performance.now()
  for (const name of names) await load(name)
  times[group] = { importMs: performance.now() - startedMs }
}
process.send?.(times)
process.on('disconnect', () => process.exit(0))
