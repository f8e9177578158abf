import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Round } from '../measure/round.ts'
import { FRAMEWORK } from './framework.ts'
import { nextMessage, startNodeProcess } from './node-process.ts'

/** The name of a group in the report, and its imports. */
export type ImportGroup = readonly [name: string, specifiers: readonly string[]]

const IMPORT = /^import\s[^'"]*['"](?<specifier>[^'"]+)['"];?$/gm

/** The imports of a new instance in order: those before the instance listens, then those for its first request. */
export function importsOf(ours: string): readonly ImportGroup[] {
  const bundle = readFileSync(join(ours, 'dist/index.js'), 'utf8')
  const found = [...bundle.matchAll(IMPORT)].flatMap(({ groups }) => groups?.['specifier'] ?? [])
  const packages = [...new Set(found)].filter((specifier) => !/^(?:node:|\.)/.test(specifier))
  return [
    ['the Functions Framework', [pathToFileURL(join(FRAMEWORK, '../server.js')).href, 'read-package-up']],
    ...packages.map((name): ImportGroup => [name, [name]]),
    ['our bundle itself', ['./dist/index.js']],
    ['jose', ['jose']],
  ]
}

/** The imports of the first write. */
export const LATER_IMPORTS: readonly ImportGroup[] = [
  ['zod', ['zod']],
  ['the Firestore client', ['@google-cloud/firestore']],
]

/** Times imports in a new process, in the function's order. Each time excludes what earlier imports have already loaded. */
export async function importTimes(ours: string, groups: readonly ImportGroup[]): Promise<Round> {
  writeFileSync(join(ours, 'load.js'), 'export const load = (name) => import(name)\n')
  const child = startNodeProcess('build/import-process.ts', {
    args: [ours, JSON.stringify(groups)],
    env: { FUNCTION_TARGET: 'jobs' },
  })
  try {
    return await nextMessage<Round>(child)
  } finally {
    if (child.connected) child.disconnect()
  }
}
