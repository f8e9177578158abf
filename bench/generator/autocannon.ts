import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { runGenerator } from './generator.ts'
import type { Generator } from './generator.ts'

const PROCESS = fileURLToPath(new URL('autocannon-process.ts', import.meta.url))
const { version } = createRequire(import.meta.url)('autocannon/package.json') as { version: string }

/** https://github.com/mcollina/autocannon, a development dependency. With answers of 400 kB, autocannon itself is the limit. */
export const autocannon: Generator = {
  name: `autocannon ${version}`,
  run: (load) => runGenerator(process.execPath, [PROCESS], { input: JSON.stringify(load) }),
}
