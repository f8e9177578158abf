import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The families that a client can list without the service. */
const FAMILIES = ['cli', 'tasks']

export function standardDefinitionsPath(root) {
  return join(root, 'packages/client/src/standard-definitions.ts')
}

/** The generated file of the client: the definitions of these families as the file layer serves them, in the order of the list. */
export function standardDefinitionsText(root) {
  const definitions = FAMILIES.flatMap((family) => {
    const path = join(root, `functions/workflows/tools/defs/${family}.json`)
    const { tools } = JSON.parse(readFileSync(path, 'utf8'))
    return tools.map((tool) => ({ ...tool, category: tool.category ?? family }))
  })
  definitions.sort((a, b) => (a.function.name < b.function.name ? -1 : 1))
  return `// Written by \`npm run client-definitions\` from functions/workflows/tools/defs; a test compares the two.
import type { ToolDefinition } from '@toolrack/contract'

/** The families ${FAMILIES.join(' and ')} of the file layer, for a client that has nothing else. */
export const STANDARD_DEFINITIONS: readonly ToolDefinition[] = ${JSON.stringify(definitions, null, 2)}
`
}
