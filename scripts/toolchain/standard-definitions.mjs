import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './checkout.mjs'

/** The files of definitions that the client contains, so that it can list them without the service. */
const families = ['cli', 'tasks']

export const standardDefinitionsPath = join(root, 'packages/client/src/standard-definitions.json')

/** The text for `standardDefinitionsPath`: the definitions of these files as the file layer serves them, sorted by name. */
export function standardDefinitionsText() {
  const definitions = families.flatMap((family) => {
    const path = join(root, `functions/workflows/tools/defs/${family}.json`)
    const { tools } = JSON.parse(readFileSync(path, 'utf8'))
    return tools.map((tool) => ({ ...tool, category: tool.category ?? family }))
  })
  definitions.sort((a, b) => (a.function.name < b.function.name ? -1 : 1))
  return `${JSON.stringify(definitions, null, 2)}\n`
}
