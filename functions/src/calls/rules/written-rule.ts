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

/** The tools of a rule, and their schemas if they have been read. */
type Read = { readonly targets: RuleTargets; readonly tools: readonly RuledTool[] }

/** A rule with its globs in their normal form, and a fault for each glob that can never match. */
export async function writtenRule(
  rule: Rule,
  index: number,
  read: Read,
  turns: Turns,
): Promise<{ readonly rule: Rule; readonly faults: readonly RuleFault[] }> {
  const { effect, args } = rule
  if (args === undefined) return { rule, faults: [] }
  const globs: [name: string, glob: string][] = []
  const faults: RuleFault[] = []
  for (const [name, glob] of Object.entries(args)) {
    if (turns.isDue) await turns.give()
    const written = writtenGlob(glob, effect, readingsFor(name, read))
    if ('never' in written)
      faults.push({ pointer: jsonPointer(['rules', index, 'args', name]), message: written.never })
    globs.push([name, 'glob' in written ? written.glob : glob])
  }
  return { rule: { ...rule, args: Object.fromEntries(globs) }, faults }
}

/** The ways in which the tools of a rule read an argument. Of tools that are not known yet, and of too many, only its name is known. */
function readingsFor(name: string, { targets, tools }: Read): readonly Reading[] {
  const known = new Map<string, Reading>()
  const isUnknown = targets.tools.length === 0 || targets.tools.length > SCHEMAS_READ_MAX
  for (const readings of isUnknown
    ? [readingsOfName(name)]
    : tools.map((tool) => readingsOfTool(tool).of(name)))
    for (const reading of readings) known.set(`${reading.kind}:${reading.edit ?? ''}`, reading)
  return [...known.values()]
}
