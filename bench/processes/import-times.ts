import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Round } from '../measure/round.ts'
import { FRAMEWORK } from './framework.ts'
import { nextMessage, startNodeProcess } from './node-process.ts'

/** What is imported together, and how that is called in the report. */
export type ImportGroup = readonly [name: string, specifiers: readonly string[]]

const IMPORT = /^import\s[^'"]*['"](?<specifier>[^'"]+)['"];?$/gm

/** What a new instance of our function imports, in its order: before it listens, and then for its first request. */
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

/** What waits for the first definition that is written. */
export const LATER_IMPORTS: readonly ImportGroup[] = [
  ['zod', ['zod']],
  ['the Firestore client', ['@google-cloud/firestore']],
]

/** Times imports in a fresh process, as our function finds them: each costs what those before it have not loaded yet. */
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
