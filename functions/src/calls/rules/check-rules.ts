import {
  jsonPointer,
  matchesGlob,
  undeclaredArguments,
  valueAt,
  type Rule,
  type RuleSet,
} from '@toolrack/contract'
import { isJsonObject, parseRuleSet, ToolrackError, type JsonValue, type RuleFault } from '@toolrack/contract'
import type { CatalogEntry } from '../../tools/catalog/catalog-entry.ts'
import type { CatalogView } from '../../tools/catalog/catalog-view.ts'
import { LongWork } from '../../loop-turn.ts'
import { nearMiss } from '../../tools/schemas/near-miss.ts'
import { ruledTool } from './rules-in-force.ts'

/** The most tools whose schemas are read to find the arguments of one rule. With more tools the arguments are not checked. */
const SCHEMAS_READ_MAX = 500

/** The most rules for which a tool is suggested. A suggestion compares the names of all tools, which takes up to 0.1 s. */
const SUGGESTED_MAX = 3

/** The tools that are compared with a rule before other requests may get a turn. */
const TOOLS_AT_ONCE = 200

type Fault = RuleFault & { readonly suggestion?: string | undefined }

/** Parses a rule set. Throws RULE_INVALID with every fault. */
export function parsedRules(value: JsonValue): RuleSet {
  const parsed = parseRuleSet(value)
  if ('set' in parsed) return parsed.set
  throw invalid(parsed.faults)
}

/**
 * Throws RULE_INVALID for rules that apply to nothing in the view, unless they have `future: true`: a misspelt `deny` would
 * protect nobody. Throws LAYER_UNAVAILABLE if it cannot be known. Other requests get turns, because there can be many tools.
 */
export async function refuseIdleRules({ rules }: RuleSet, view: CatalogView): Promise<void> {
  const work = new LongWork()
  const faults: Fault[] = []
  for (const [index, rule] of rules.entries())
    if (rule.future !== true) faults.push(...(await idleFaults(rule, index, view, work)))
  if (faults.length === 0) return
  if (view.lostLayers.length === 0) throw invalid(await suggested(faults, rules, view, work))
  const lost = view.lostLayers.join(' and ')
  throw new ToolrackError(
    'LAYER_UNAVAILABLE',
    `The layer ${lost}, whose tools the rules may be about, could not be read; try again.`,
  )
}

async function idleFaults(rule: Rule, index: number, view: CatalogView, work: LongWork): Promise<Fault[]> {
  const tools = await toolsOf(rule, view, work)
  if (tools.length === 0) {
    const { class: toolClass, args: _args, ...anyClass } = rule
    const isKnown = toolClass !== undefined && (await toolsOf(anyClass, view, work)).length > 0
    return [
      isKnown
        ? { pointer: jsonPointer(['rules', index, 'class']), message: NO_TOOL_OF_CLASS }
        : { pointer: jsonPointer(['rules', index, 'tool']), message: NO_TOOL },
    ]
  }
  if (rule.args === undefined || tools.length > SCHEMAS_READ_MAX) return []
  const ruled = tools.map(ruledTool)
  const [first = [], ...others] = ruled.map((tool) => undeclaredArguments(rule, tool))
  // oxlint-disable-next-line toolrack/linear-texts -- It is a list of names.
  const nowhere = first.filter((name) => others.every((undeclared) => undeclared.includes(name)))
  const declared = new Set(ruled.flatMap(({ parameters }) => declaredIn(valueAt(parameters, ['properties']))))
  return nowhere.map((name) => ({
    pointer: jsonPointer(['rules', index, 'args', name]),
    message: NO_ARGUMENT,
    suggestion: nearMiss(name, declared),
  }))
}

const NO_TOOL = 'matches no tool that you can list; correct it, or say "future": true'
const NO_TOOL_OF_CLASS = 'is no class of the tools that the rule names; correct it, or say "future": true'
const NO_ARGUMENT = 'is an argument that none of these tools declares; correct it, or say "future": true'

/** The tools that a rule is about: all of them, or one more than SCHEMAS_READ_MAX. A rule without wildcards needs no search. */
async function toolsOf(rule: Rule, view: CatalogView, work: LongWork): Promise<readonly CatalogEntry[]> {
  const found: CatalogEntry[] = []
  const { tool, class: toolClass } = rule
  let looked = 0
  for (const entry of /[*?]/.test(tool) ? view.entries() : exactly(view, tool)) {
    looked += 1
    if (looked % TOOLS_AT_ONCE === 0 && work.isLong) await work.giveTurn()
    if (
      (toolClass === undefined || entry.classes.some((one) => one === toolClass)) &&
      matchesGlob(tool, entry.name, 'name')
    )
      found.push(entry)
    if (found.length > SCHEMAS_READ_MAX || (found.length > 0 && rule.args === undefined)) break
  }
  return found
}

function exactly(view: CatalogView, name: string): readonly CatalogEntry[] {
  const entry = view.winner(name)
  return entry ? [entry] : []
}

/** The faults, the first of those that name no tool with the tool that was probably meant. */
async function suggested(
  faults: readonly Fault[],
  rules: readonly Rule[],
  view: CatalogView,
  work: LongWork,
): Promise<readonly Fault[]> {
  const all = [...faults]
  let left = SUGGESTED_MAX
  for (const [at, fault] of faults.entries()) {
    const index = /^\/rules\/(\d+)\/tool$/.exec(fault.pointer)?.[1]
    if (index === undefined) continue
    if (left === 0) break
    left -= 1
    if (work.isLong) await work.giveTurn()
    all[at] = { ...fault, suggestion: nearMiss(rules[Number(index)]?.tool ?? '', namesIn(view)) }
  }
  return all
}

function* namesIn(view: CatalogView): Generator<string> {
  for (const { name } of view.entries()) yield name
}

function declaredIn(properties: JsonValue | undefined): readonly string[] {
  return isJsonObject(properties) ? Object.keys(properties) : []
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
