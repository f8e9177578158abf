import {
  jsonPointer,
  readingsOfName,
  readingsOfTool,
  writtenGlob,
  type Reading,
  type Rule,
  type RuledTool,
  type RuleFault,
} from '@toolrack/contract'
import type { Turns } from '../../loop-turn.ts'
import { SCHEMAS_READ_MAX, type RuleTargets } from './rule-targets.ts'

/** The tools to which a rule applies, and their schemas if these have been read. */
type Read = { readonly targets: RuleTargets; readonly tools: readonly RuledTool[] }

/** The rule with its globs in their normal form, and a fault for each glob that can never match. */
export async function writtenRule(
  rule: Rule,
  index: number,
  read: Read,
  turns: Turns,
): Promise<{ readonly rule: Rule; readonly faults: readonly RuleFault[] }> {
  const { effect, args } = rule
  if (args === undefined) return { rule, faults: [] }
  const readings = await readingsFor(Object.keys(args), read, turns)
  const globs: [name: string, glob: string][] = []
  const faults: RuleFault[] = []
  for (const [name, glob] of Object.entries(args)) {
    if (turns.isDue) await turns.give()
    const written = writtenGlob(glob, effect, [...(readings.get(name)?.values() ?? [])])
    if ('never' in written)
      faults.push({ pointer: jsonPointer(['rules', index, 'args', name]), message: written.never })
    globs.push([name, 'glob' in written ? written.glob : glob])
  }
  return { rule: { ...rule, args: Object.fromEntries(globs) }, faults }
}

type Readings = ReadonlyMap<string, ReadonlyMap<string, Reading>>

/**
 * How the tools of a rule read the arguments with these names. If the rule has no tools yet, or too many, this is decided only by
 * the names of the arguments.
 */
async function readingsFor(
  names: readonly string[],
  { targets, tools }: Read,
  turns: Turns,
): Promise<Readings> {
  const found = new Map(names.map((name) => [name, new Map<string, Reading>()]))
  const add = (read: (name: string) => readonly Reading[]): void => {
    for (const [name, known] of found)
      for (const reading of read(name)) known.set(`${reading.kind}:${reading.edit ?? ''}`, reading)
  }
  if (targets.tools.length === 0 || targets.tools.length > SCHEMAS_READ_MAX) add(readingsOfName)
  for (const tool of tools) {
    if (turns.isDue) await turns.give()
    const readings = readingsOfTool(tool)
    add((name) => readings.of(name))
  }
  return found
}
