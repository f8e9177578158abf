import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of the tools that both Toolrack and its peers run. */
export const TOOLS = fileURLToPath(new URL('../python/tools', import.meta.url))

/** 1 kB of JSON, which the tool returns. */
export const ARGUMENTS = {
  items: Array.from({ length: 16 }, (_, id) => ({
    id,
    name: `item ${id}`,
    tags: ['red', 'round'],
    score: id / 8,
  })),
}

/** A body of `/invoke`. */
export type Invocation = {
  readonly module: string
  readonly sha256: string
  readonly tool: string
  readonly arguments: unknown
  readonly tenant: string
  readonly invocationId: string
  readonly deadlineMs: number
  readonly source?: string
}

/** A call of one of the tools. */
export function callOf(module: string, tool = 'echo'): Invocation & { readonly source: string } {
  return invocation(module, tool, readFileSync(join(TOOLS, `${module}.py`), 'utf8'))
}

/** A module like one of the tools, under the name `{module}_reused`: one process may serve several of its calls. */
export function reusedModule(module: string): { readonly name: string; readonly source: string } {
  const name = `${module}_reused`
  const source = callOf(module)
    .source.replaceAll(`"${module}:`, `"${name}:`)
    .replace('"handler": echo,', '"handler": echo,\n        "reuse": True,')
  return { name, source }
}

/** A call of a module, with the source of the module. */
export function invocation(
  module: string,
  tool: string,
  source: string,
): Invocation & { readonly source: string } {
  return {
    module,
    sha256: createHash('sha256').update(source).digest('hex'),
    tool: `${module}:${tool}`,
    arguments: ARGUMENTS,
    tenant: 'bench',
    invocationId: '0123456789abcdef',
    deadlineMs: 10_000,
    source,
  }
}
