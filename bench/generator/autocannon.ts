import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { Generator } from './generator.ts'
import { runGenerator } from './run-generator.ts'

const PROCESS = fileURLToPath(new URL('autocannon-process.ts', import.meta.url))
const { version } = createRequire(import.meta.url)('autocannon/package.json') as { version: string }

/** https://github.com/mcollina/autocannon, a development dependency: always there. */
export const autocannon: Generator = {
  name: `autocannon ${version}`,
  run: (load) => runGenerator(process.execPath, [PROCESS], JSON.stringify(load)),
}
