import type { ToolDefinition } from '@toolrack/contract'
import { readFileSync } from 'node:fs'

/** The tool of a file of the service's own definitions that has only one. */
export function shippedTool(file: string): ToolDefinition {
  const url = new URL(`../../functions/workflows/tools/defs/${file}.json`, import.meta.url)
  const { tools } = JSON.parse(readFileSync(url, 'utf8')) as { readonly tools: readonly ToolDefinition[] }
  const [tool, ...more] = tools
  if (!tool || more.length > 0) throw new Error(`${file}.json has ${tools.length} tools`)
  return tool
}
