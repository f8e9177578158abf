import {
  jsonPointer,
  parseRuleSet,
  readingsOfTool,
  ToolrackError,
  undeclaredArguments,
} from '@toolrack/contract'
import type { JsonValue, Rule, RuledTool, RuleFault, RuleSet } from '@toolrack/contract'
import type { CatalogView } from '../../catalog/views/catalog-view.ts'
import type { Turns } from '../../loop-turn.ts'
import { nearMiss } from '../../catalog/schemas/near-miss.ts'
import { metTools, ReadSchemas, type MetTool } from './met-tools.ts'
import { SCHEMAS_READ_MAX, targetsOf, type RuleTargets } from './rule-targets.ts'
import { writtenRule } from './written-rule.ts'

/**
 * The most rules with an unknown tool for which a similar name is suggested. Each suggestion compares the names of all tools,
 * which takes up to 0.1 s.
 */
const SUGGESTED_MAX = 3

type Fault = RuleFault & { readonly suggestion?: string | undefined }

/** Parses a rule set. Throws RULE_INVALID with every fault. */
export function parsedRules(value: JsonValue): RuleSet {
  const parsed = parseRuleSet(value)
  if ('set' in parsed) return parsed.set
  throw invalid(parsed.faults)
}

/**
 * A checked rule set, as it is stored, and the tools to which its rules apply, with the kinds by which they read the arguments.
 * `more` counts the tools that are not listed.
 */
export type CheckedRules = {
  readonly set: RuleSet
  readonly meets: readonly MetTool[]
  readonly more: number
}

/**
 * Writes the globs of rules in their normal form. Throws RULE_INVALID for a glob that can never match. Throws it also for a rule
 * that applies to nothing in the view, because a misspelled `deny` would protect nobody. A rule with `future: true` may apply to
 * nothing. Throws LAYER_UNAVAILABLE if a missing layer may have the tools. Other requests get turns, because there can be many
 * tools.
 */
export async function checkedRules(set: RuleSet, view: CatalogView, turns: Turns): Promise<CheckedRules> {
  const { byRule, shown, more } = await targetsOf(set, view, turns)
  const schemas = new ReadSchemas()
  const rules: Rule[] = []
  const faults: Fault[] = []
  const idle: Fault[] = []
  for (const [index, rule] of set.rules.entries()) {
    const targets = byRule[index] ?? { tools: [], isNamed: false }
    const tools: RuledTool[] = []
    if (targets.tools.length <= SCHEMAS_READ_MAX && rule.args !== undefined)
      for (const entry of targets.tools) {
        if (turns.isDue) await turns.give()
        tools.push(schemas.of(entry))
      }
    if (rule.future !== true) idle.push(...idleFaults(rule, index, targets, tools))
    const written = await writtenRule(rule, index, { targets, tools }, turns)
    rules.push(written.rule)
    faults.push(...written.faults)
  }
  if (idle.length > 0 && view.lostLayers.length > 0) {
    const lost = view.lostLayers.join(' and ')
    const message = `The layer ${lost}, whose tools the rules may be about, could not be read; try again.`
    throw new ToolrackError('LAYER_UNAVAILABLE', message)
  }
  if (idle.length > 0 || faults.length > 0)
    throw invalid([...(await suggested(idle, set.rules, view, turns)), ...faults])
  return { set: { ...set, rules }, meets: await metTools(shown, set, schemas, turns), more }
}

function idleFaults(rule: Rule, index: number, targets: RuleTargets, tools: readonly RuledTool[]): Fault[] {
  if (targets.tools.length === 0) {
    if (rule.grant !== undefined)
      return [{ pointer: jsonPointer(['rules', index, 'value']), message: NO_GRANT }]
    return [
      targets.isNamed
        ? { pointer: jsonPointer(['rules', index, 'class']), message: NO_TOOL_OF_CLASS }
        : { pointer: jsonPointer(['rules', index, 'tool']), message: NO_TOOL },
    ]
  }
  if (rule.grant !== undefined) return []
  const [first = [], ...others] = tools.map((tool) => undeclaredArguments(rule, tool))
  // oxlint-disable-next-line toolrack/linear-texts -- It is a list of names.
  const nowhere = first.filter((name) => others.every((undeclared) => undeclared.includes(name)))
  if (nowhere.length === 0) return []
  const declared = new Set(tools.flatMap((tool) => [...readingsOfTool(tool).names]))
  return nowhere.map((name) => ({
    pointer: jsonPointer(['rules', index, 'args', name]),
    message: NO_ARGUMENT,
    suggestion: nearMiss(name, declared),
  }))
}

const NO_TOOL = 'matches no tool that you can list; correct it, or say "future": true'
const NO_TOOL_OF_CLASS = 'is no class of the tools that the rule names; correct it, or say "future": true'
const NO_GRANT = 'matches no grant of a tool that you can list; correct it, or say "future": true'
const NO_ARGUMENT = 'is an argument that none of these tools declares; correct it, or say "future": true'

/** The faults, with suggestions. For the first rules that name no known tool, suggests the tool that was probably meant. */
async function suggested(
  faults: readonly Fault[],
  rules: readonly Rule[],
  view: CatalogView,
  turns: Turns,
): Promise<readonly Fault[]> {
  const all = [...faults]
  let left = SUGGESTED_MAX
  for (const [at, fault] of faults.entries()) {
    const index = /^\/rules\/(\d+)\/tool$/.exec(fault.pointer)?.[1]
    if (index === undefined) continue
    if (left === 0) break
    left -= 1
    if (turns.isDue) await turns.give()
    all[at] = { ...fault, suggestion: nearMiss(rules[Number(index)]?.tool ?? '', namesIn(view)) }
  }
  return all
}

function* namesIn(view: CatalogView): Generator<string> {
  for (const { name } of view.entries()) yield name
}

function invalid(faults: readonly Fault[]): ToolrackError {
  const [first] = faults
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more, see details)` : ''
  const hint = first?.suggestion === undefined ? '' : ` Did you mean '${first.suggestion}'?`
  const place = first?.pointer === '' ? 'The rule set' : first?.pointer
  return new ToolrackError('RULE_INVALID', `${place} ${first?.message}${more}.${hint}`, {
    details: faults.map(({ pointer, message, suggestion }) => ({
      reason: 'RULE_INVALID',
      pointer,
      message,
      ...(suggestion !== undefined && { suggestion }),
    })),
  })
}
