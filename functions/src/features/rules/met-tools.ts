import {
  readingsOfTool,
  shownKinds,
  type ArgumentKind,
  type RuledTool,
  type RuleSet,
} from '@toolrack/contract'
import type { Turns } from '../../loop-turn.ts'
import type { CatalogEntry } from '../../catalog/views/catalog-entry.ts'
import { ruledTool } from '../../catalog/views/ruled-tool.ts'

/**
 * A tool to which rules apply, and for each of its arguments the kind by which rules read it. An argument that can be read in
 * several ways has its other kinds in `also`. `more` counts the arguments that are not listed.
 */
export type MetTool = {
  readonly tool: string
  readonly args: Readonly<Record<string, ArgumentKind>>
  readonly also?: Readonly<Record<string, readonly ArgumentKind[]>>
  readonly more?: number
}

/** The most arguments of one tool that are listed. Those that the rules name come first. */
export const ARGUMENTS_SHOWN_MAX = 100

/** Keeps the schema of each tool while rules are checked, so that each schema is read only once. */
export class ReadSchemas {
  readonly #known = new Map<CatalogEntry, RuledTool>()

  of(entry: CatalogEntry): RuledTool {
    const known = this.#known.get(entry)
    if (known) return known
    const tool = ruledTool(entry)
    // The whole schema is read here, between two turns of other requests.
    readingsOfTool(tool).whole()
    this.#known.set(entry, tool)
    return tool
  }
}

/** Says for each tool by which kinds rules read the arguments of the tool. */
export async function metTools(
  entries: readonly CatalogEntry[],
  { rules }: RuleSet,
  schemas: ReadSchemas,
  turns: Turns,
): Promise<readonly MetTool[]> {
  const named = new Set(rules.flatMap(({ args }) => Object.keys(args ?? {})))
  const met: MetTool[] = []
  for (const entry of entries) {
    if (turns.isDue) await turns.give()
    met.push(metTool(schemas.of(entry), named))
  }
  return met
}

function metTool(tool: RuledTool, named: ReadonlySet<string>): MetTool {
  const readings = readingsOfTool(tool)
  const names = [...readings.names].toSorted((a, b) => Number(named.has(b)) - Number(named.has(a)))
  const listed = names
    .slice(0, ARGUMENTS_SHOWN_MAX)
    .map((name) => [name, shownKinds(readings.of(name))] as const)
  const also = listed.flatMap(([name, [, ...others]]) => (others.length > 0 ? [[name, others] as const] : []))
  const more = names.length - listed.length
  return {
    tool: tool.name,
    args: Object.fromEntries(listed.map(([name, [kind = 'other']]) => [name, kind])),
    ...(also.length > 0 && { also: Object.fromEntries(also) }),
    ...(more > 0 && { more }),
  }
}
