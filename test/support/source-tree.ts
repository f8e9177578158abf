import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'

/** The text of each TypeScript and JavaScript file by its path from the root of the checkout. */
export type SourceTree = ReadonlyMap<string, string>

export const ROOT = new URL('../../', import.meta.url)

export function readSource(...folders: readonly string[]): SourceTree {
  const paths = folders.flatMap((folder) =>
    readdirSync(new URL(`${folder}/`, ROOT), { recursive: true, encoding: 'utf8' }).map((name) =>
      posix.join(folder, name.replaceAll('\\', '/')),
    ),
  )
  const sources = paths.filter((path) => /\.m?ts$|\.mjs$/.test(path))
  return new Map(sources.map((path) => [path, readFileSync(new URL(path, ROOT), 'utf8')]))
}

const STATEMENT = /^(?:import|export)\s(?:[\w\s*{},$]*\sfrom\s*)?['"]([^'"\n]+)['"]/gm
const EXPRESSION = /\b(?:import|getBuiltinModule)\(\s*['"]([^'"\n]+)['"]/g

/**
 * The imports of a file, including types: a path from the root for a file of this checkout (`packages/contract` for the
 * workspace package), `npm:name` for a package, `node:name` for a built-in.
 */
export function importsOf(path: string, text: string): string[] {
  const found = [...text.matchAll(STATEMENT), ...text.matchAll(EXPRESSION)]
  return found.map(([, specifier]) => target(path, specifier ?? ''))
}

function target(path: string, specifier: string): string {
  if (specifier.startsWith('.')) return posix.join(posix.dirname(path), specifier)
  if (specifier.startsWith('node:')) return specifier
  const [, name = specifier] = /^(@[^/]+\/[^/]+|[^/]+)/.exec(specifier) ?? []
  return name.startsWith('@toolrack/') ? `packages/${name.slice('@toolrack/'.length)}` : `npm:${name}`
}
