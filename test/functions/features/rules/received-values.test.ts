import { expect } from '@jest/globals'
import {
  canonicalArguments,
  decideCall,
  isToolClass,
  matchesGlob,
  readText,
  ToolReadings,
  type JsonObject,
  type OwnedRules,
  type Rule,
  type RuledTool,
} from '@toolrack/contract'
import { posix } from 'node:path'
import { choicesFrom } from '../../../support/kinds/random-choices.ts'
import { moduleSource, randomHandler, type RandomHandler } from '../../../support/kinds/random-handlers.ts'
import { receivingPython, type Received } from '../../../support/kinds/receiving-python.ts'
import { SORTS, spelt } from '../../../support/kinds/spellings.ts'
import { withPython } from '../../../support/runner-environment.ts'

/** The calls that reach a handler. More by hand, with `--testTimeout=600000`: `TOOLRACK_RECEIVED_CALLS=100000`. */
const CALLS = Number(process.env['TOOLRACK_RECEIVED_CALLS'] ?? 3_000)
const SEED = Number(process.env['TOOLRACK_RECEIVED_SEED'] ?? 25)
const HANDLERS = 40
const CALLS_OF_EACH = 25

const choices = choicesFrom(SEED)

type Case = {
  readonly handler: RandomHandler
  readonly tool: RuledTool
  readonly rule: Rule
  readonly sent: string
  /** The text that the handler is called with, and what it may be read as. */
  readonly canonical: string
  readonly texts: ReadonlySet<string>
  readonly effect: string
}

withPython(
  `no handler receives a value that its rule would have denied, in ${CALLS} random calls that reach one`,
  async () => {
    await using python = receivingPython()
    const wrong: object[] = []
    const seen = { called: 0, denied: 0, refused: 0, unread: 0, other: 0, changed: 0, faulty: 0 }
    for (let turn = 0; seen.called < CALLS; turn += 1) {
      const module = `m${turn}`
      const handlers = Array.from({ length: HANDLERS }, (_, at) => randomHandler(`h${turn}_${at}`, choices))
      const reports = await python.load(module, moduleSource(module, handlers))
      const cases: Case[] = []
      for (const handler of handlers) {
        const name = `${module}:${handler.name}`
        const report = reports[name]
        if (!report?.parameters || report.faults.length > 0) {
          seen.faulty += 1
          continue
        }
        const { parameters, kinds = {} } = report
        const tool: RuledTool = {
          name,
          classes: choices.chance(0.1) ? ['code_execution'].filter(isToolClass) : ['read'],
          parameters,
          runner: { kind: 'python', kinds },
        }
        const readings = new ToolReadings(tool)
        for (let call = 0; call < CALLS_OF_EACH; call += 1) {
          const made = caseOf(handler, tool, readings)
          if (made === undefined) seen.unread += 1
          else if (made.effect === 'deny') seen.denied += 1
          else cases.push(made)
        }
        if (handler.hasOwnCode && readings.of(handler.argument).every(({ kind }) => kind !== 'other'))
          if (readings.of(handler.argument).length > 0)
            wrong.push({ handler, kinds, why: 'own code is not reported' })
      }
      const outcomes = await python.call(
        cases.map(({ tool, handler, canonical }) => [tool.name, { [handler.argument]: canonical }]),
      )
      for (const [at, one] of cases.entries()) judge(one, outcomes[at])
    }

    function judge(one: Case, outcome: Received | undefined): void {
      const { handler, tool, rule, sent, canonical, texts } = one
      if (!outcome || 'refused' in outcome) {
        seen.refused += 1
        return
      }
      seen.called += 1
      if (sent !== canonical) seen.changed += 1
      if (handler.hasOwnCode) {
        seen.other += 1
        return
      }
      const [kind, text] = outcome.received[handler.argument] ?? ['value', null]
      const known = {
        source: handler.source,
        spec: handler.spec,
        kinds: tool.runner?.['kinds'],
        rule,
        sent,
        canonical,
        kind,
        text,
      }
      if (isRefusedBy(rule, handler, kind, text)) wrong.push({ ...known, why: 'the rule denies this value' })
      if (text !== null && !texts.has(text) && !(handler.isPath && texts.has(normal(text))))
        wrong.push({ ...known, texts: [...texts], why: 'the rule decided about another text' })
    }

    expect(wrong.slice(0, 5)).toEqual([])
    expect(wrong).toHaveLength(0)
    if (CALLS > 3_000) console.log(JSON.stringify(seen))
    expect(seen.faulty).toBeLessThan(CALLS / 100)
    expect(Math.min(seen.denied, seen.unread, seen.changed)).toBeGreaterThan(CALLS / 20)
  },
)

/** A call of the handler, as the service sends it. Undefined if its text has no canonical form, so that it is refused. */
function caseOf(handler: RandomHandler, tool: RuledTool, readings: ToolReadings): Case | undefined {
  const { argument } = handler
  const sort = choices.oneOf(choices.chance(0.85) ? handler.sorts : SORTS)
  const value = spelt(sort, choices)
  const sent: JsonObject = { [argument]: value.spelt }
  const { args, unread } = canonicalArguments(readings, sent)
  if (unread.length > 0) return undefined
  const canonical = args[argument] as string
  // Half of the rules are about another value, so that many calls are not denied.
  const about = choices.chance(0.5) ? value : spelt(sort, choices)
  const rule = ruleAbout(argument, about === value && choices.chance(0.5) ? canonical : about.plain)
  const owned: OwnedRules = {
    owner: { kind: 'everybody', id: 'all' },
    set: { default: rule.effect === 'allow' ? 'deny' : 'allow', rules: [rule] },
  }
  const read = readings.of(argument).map((reading) => readText(reading, canonical))
  const texts = new Set(read.flatMap((one) => (typeof one === 'string' ? [] : [one.text])))
  // Ways that disagree leave the text as it is, and the rule decides about it too.
  if (texts.size > 1) texts.add(canonical)
  const { effect } = decideCall([owned], tool, args)
  const again = canonicalArguments(readings, args)
  if (again.args !== args || again.unread.length > 0)
    throw new Error(`not canonical: ${JSON.stringify([tool, sent, args])}`)
  return { handler, tool, rule, sent: value.spelt, canonical, texts, effect }
}

function ruleAbout(argument: string, text: string): Rule {
  const at = choices.below(text.length + 1)
  const glob = choices.oneOf([
    text,
    text,
    `${text.slice(0, at)}*`,
    `*${text.slice(at)}`,
    `${text.slice(0, at)}?${text.slice(at + 1)}`,
    `${text.slice(0, at)}**`,
    '/etc/**',
    `${text.slice(0, at)}*${text.slice(at + 2)}`,
  ])
  return {
    effect: choices.chance(0.75) ? 'deny' : 'allow',
    tool: '*',
    args: { [argument]: glob === '' ? '*' : glob.slice(0, 256) },
  }
}

/** Whether a rule refuses a call with this value. It is written down a second time, about what the handler has received. */
function isRefusedBy(
  { effect, args }: Rule,
  { argument, isPath }: RandomHandler,
  kind: string,
  text: string | null,
): boolean {
  const glob = args?.[argument] ?? ''
  if (text === null) return true
  const path = kind === 'path' ? text : isPath ? normal(text) : undefined
  const isMatch = path === undefined ? matchesGlob(glob, text, 'text') : matchesGlob(glob, path, 'path')
  return effect === 'deny' ? isMatch : !isMatch
}

function normal(path: string): string {
  const found = posix.normalize(path)
  return found.length > 1 ? found.replace(/\/$/, '') : found
}
