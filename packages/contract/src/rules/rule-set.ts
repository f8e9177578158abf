import { GLOB_LENGTH_MAX } from './glob.ts'
import { GRANT_KINDS, type GrantKind } from '../grants.ts'
import { isJsonArray, isJsonObject, jsonPointer, type JsonObject, type JsonValue } from '../json.ts'
import { isToolClass, TOOL_CLASSES, type ToolClass } from './tool-classes.ts'

/** The effects of rules, the strictest first. */
export const RULE_EFFECTS = ['deny', 'ask', 'allow'] as const
export type RuleEffect = (typeof RULE_EFFECTS)[number]

/** A rule about tools. It applies to a call if the tool's name, its class, and all arguments that the rule names match. */
export type ToolRule = {
  readonly effect: RuleEffect
  /** A glob over names of tools. */
  readonly tool: string
  readonly class?: ToolClass
  /** A glob for each argument. */
  readonly args?: Readonly<Record<string, string>>
  /** True if the rule may be stored although there is no tool yet to which it applies. */
  readonly future?: boolean
  readonly grant?: never
}

/**
 * A rule about a kind of grants. `deny` denies tools that have a matching grant, and `ask` asks about their calls. `allow` denies
 * tools with a grant of this kind that no `allow` of the same owner matches. No rule about grants makes a call allowed.
 */
export type GrantRule = {
  readonly effect: RuleEffect
  readonly grant: GrantKind
  /** A glob over hosts, packages or names of secrets. */
  readonly value: string
  readonly future?: boolean
  readonly tool?: never
  readonly class?: never
  readonly args?: never
}

export type Rule = ToolRule | GrantRule

/** The rules of one owner. `default` is the decision for a call to which no rule applies. */
export type RuleSet = { readonly default: RuleEffect; readonly rules: readonly Rule[] }

/**
 * Who can own rules. The rules for everybody have the id `all`. Other rules have the id of a user, workflow, session or agent.
 */
export const OWNER_KINDS = ['everybody', 'user', 'workflow', 'session', 'agent'] as const
export type RuleOwner = { readonly kind: (typeof OWNER_KINDS)[number]; readonly id: string }

export type OwnedRules = { readonly owner: RuleOwner; readonly set: RuleSet }

/** A fault of a rule set. `pointer` is the JSON Pointer to it. The message can follow the pointer, and never repeats a value. */
export type RuleFault = { readonly pointer: string; readonly message: string }

/** The most rules of one owner. Each call is compared with every rule about its tool. */
export const RULES_MAX = 200
/** The most arguments that one rule may name. Each of them costs a comparison in each call. */
export const RULE_ARGUMENTS_MAX = 16
/** The most characters of an argument's name. A longer text is not a name. */
const ARGUMENT_NAME_LENGTH_MAX = 128

/** Parses a rule set. A missing `default` is `allow`. Returns every fault. */
export function parseRuleSet(
  value: JsonValue,
): { readonly set: RuleSet } | { readonly faults: readonly RuleFault[] } {
  if (!isJsonObject(value))
    return { faults: [{ pointer: '', message: 'must be an object: {"rules": [ … ]}' }] }
  const faults = unknownKeys(value, ['default', 'rules'], [])
  const { default: effect = 'allow', rules = [] } = value
  if (!isEffect(effect)) faults.push({ pointer: '/default', message: EFFECT_RULE })
  if (!isJsonArray(rules) || rules.length > RULES_MAX) {
    faults.push({ pointer: '/rules', message: `must be a list of at most ${RULES_MAX} rules` })
    return { faults }
  }
  for (const [index, rule] of rules.entries()) faults.push(...ruleFaults(rule, ['rules', index]))
  if (faults.length > 0) return { faults }
  return { set: { default: effect as RuleEffect, rules: rules as unknown as readonly Rule[] } }
}

const EFFECT_RULE = 'must be "allow", "ask" or "deny"'
const TOOL_RULE_KEYS = ['effect', 'tool', 'class', 'args', 'future'] as const

const GRANT_RULE_KEYS = ['effect', 'grant', 'value', 'future'] as const

type Path = readonly (string | number)[]

function ruleFaults(rule: JsonValue, path: Path): RuleFault[] {
  if (!isJsonObject(rule)) return [fault(path, 'must be an object: {"effect": "deny", "tool": "git_*"}')]
  const { effect, tool, class: toolClass, args, future, grant, value } = rule
  const isAboutGrants = grant !== undefined
  const faults = unknownKeys(rule, isAboutGrants ? GRANT_RULE_KEYS : TOOL_RULE_KEYS, path)
  if (!isEffect(effect)) faults.push(fault([...path, 'effect'], EFFECT_RULE))
  if (future !== undefined && typeof future !== 'boolean')
    faults.push(fault([...path, 'future'], 'must be true or false'))
  if (isAboutGrants) return [...faults, ...grantFaults(grant, value, path)]
  if (!isToolGlob(tool)) faults.push(fault([...path, 'tool'], TOOL_RULE))
  if (toolClass !== undefined && !isToolClass(toolClass))
    faults.push(fault([...path, 'class'], `must be one of ${TOOL_CLASSES.join(', ')}`))
  return args === undefined ? faults : [...faults, ...argumentFaults(args, [...path, 'args'])]
}

function grantFaults(grant: JsonValue, value: JsonValue | undefined, path: Path): RuleFault[] {
  const kind = GRANT_KINDS.find((one) => one === grant)
  if (!kind) return [fault([...path, 'grant'], `must be one of ${GRANT_KINDS.join(', ')}`)]
  const { pattern, rule } = GRANT_VALUES[kind]
  return isGlob(value) && pattern.test(value as string) ? [] : [fault([...path, 'value'], rule)]
}

const WILDCARDS = `of at most ${GLOB_LENGTH_MAX} characters, in which * stands for any characters and ? for one`

/** The globs for each kind of grants. A glob with another character could match no grant. */
const GRANT_VALUES: Readonly<Record<GrantKind, { readonly pattern: RegExp; readonly rule: string }>> = {
  network: {
    pattern: /^[A-Za-z0-9.*?-]+(?::[0-9*?]{1,5})?$/,
    rule: `must be a host ${WILDCARDS}, such as *.example.com or api.example.com:8443`,
  },
  packages: {
    pattern: /^[A-Za-z0-9*?][\x20-\x7e]*$/,
    rule: `must be the name of a package or a requirement ${WILDCARDS}, such as pandas or pandas>=2`,
  },
  secrets: {
    pattern: /^(?:caller:)?[A-Z0-9_*?]+$/,
    rule: `must be the name of a secret ${WILDCARDS}, such as API_KEY or caller:API_KEY`,
  },
}

function argumentFaults(args: JsonValue, path: Path): RuleFault[] {
  const names = isJsonObject(args) ? Object.keys(args) : []
  if (!isJsonObject(args) || names.length === 0 || names.length > RULE_ARGUMENTS_MAX) {
    const rule = `must be an object with 1 to ${RULE_ARGUMENTS_MAX} arguments: {"path": "src/**"}`
    return [fault(path, rule)]
  }
  return names.flatMap((name) => {
    if (name === '' || name.length > ARGUMENT_NAME_LENGTH_MAX || name === '__proto__')
      return [
        fault(path, `has a name that no argument can have (1 to ${ARGUMENT_NAME_LENGTH_MAX} characters)`),
      ]
    return isGlob(args[name]) ? [] : [fault([...path, name], GLOB_RULE)]
  })
}

const GLOB_RULE = `must be a text of 1 to ${GLOB_LENGTH_MAX} characters, in which * stands for any characters`
const TOOL_RULE = `must be a name of at most ${GLOB_LENGTH_MAX} characters, in which * stands for any characters and ? for one`

/** True for a glob with only wildcards and the characters of tool names. */
function isToolGlob(value: JsonValue | undefined): boolean {
  return isGlob(value) && /^[A-Za-z0-9_.:*?-]+$/.test(value as string)
}

function isGlob(value: JsonValue | undefined): boolean {
  return typeof value === 'string' && value.length > 0 && value.length <= GLOB_LENGTH_MAX
}

function isEffect(value: JsonValue | undefined): value is RuleEffect {
  return RULE_EFFECTS.some((effect) => effect === value)
}

function unknownKeys(value: JsonObject, known: readonly string[], path: Path): RuleFault[] {
  // oxlint-disable-next-line toolrack/linear-texts -- It is a list, and it is ours.
  const unknown = Object.keys(value).filter((key) => !known.includes(key))
  if (unknown.length === 0) return []
  return [fault(path, `has a key that is not known here; it takes ${known.join(', ')}`)]
}

function fault(path: Path, message: string): RuleFault {
  return { pointer: jsonPointer(path), message }
}
