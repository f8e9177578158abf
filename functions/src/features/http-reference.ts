import { readFileSync, writeFileSync } from 'node:fs'
import { withMadeParts } from '../http/reference/markdown.ts'
import { routeFacts } from '../http/reference/route-facts.ts'
import type { TableRow } from '../http/route.ts'
import { FEATURES } from './index.ts'

/**
 * The new text of `docs/reference/http.md`. `before` is the present text. Its generated parts are made again from these routes.
 */
export async function httpReferenceText(before: string, table: readonly TableRow[]): Promise<string> {
  return withMadeParts(before, await Promise.all(table.map(routeFacts)))
}

/** `npm run http-reference` writes the page again. To be used in a checkout, after a change of the routes or their schemas. */
if (import.meta.main) {
  const file = new URL('../../../docs/reference/http.md', import.meta.url)
  // These parts are enough to make the table of routes, but not to answer a request.
  const table = FEATURES.table({ modules: {} } as Parameters<typeof FEATURES.table>[0])
  writeFileSync(file, await httpReferenceText(readFileSync(file, 'utf8'), table))
}
