import { expect, test } from '@jest/globals'
import {
  toolResult,
  TOOL_CLASSES,
  type JsonObject,
  type Rule,
  type RuleSet,
  type ToolDefinition,
} from '@toolrack/contract'
import type { Principal } from '../../../../functions/src/access/principal.ts'
import { resolveTool } from '../../../../functions/src/calls/pipeline/resolve-tool.ts'
import { outcomeOf, type Authorised, type Resolved } from '../../../../functions/src/calls/pipeline/call.ts'
import { authoriseCall } from '../../../../functions/src/calls/rules/authorise.ts'
import {
  ruleSetDigest,
  ruleSetsText,
  type KeptRules,
} from '../../../../functions/src/calls/rules/kept-rules.ts'
import { RuleBook } from '../../../../functions/src/calls/rules/rule-book.ts'
import { RuledCatalog } from '../../../../functions/src/calls/rules/ruled-catalog.ts'
import { selectEntries } from '../../../../functions/src/tools/catalog/select-entries.ts'
import { catalogView } from '../../../support/catalog-view.ts'
import { requestedCall } from '../../../support/call-stages.ts'
import { ALL } from '../../../support/list-query.ts'
import { memoryGovernance } from '../../../support/memory-governance.ts'

const ROUNDS = 10_000

/** A generator of equal numbers for an equal seed (mulberry32). */
function numbersFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const random = numbersFrom(18)
const oneOf = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T
const some = <T>(most: number, make: () => T): T[] =>
  Array.from({ length: Math.floor(random() * (most + 1)) }, make)

const NAMES = ['files:read', 'files__read', 'files:write', 'git:push', 'RUN']
const TOOLS = ['*', 'files:*', 'files:read', 'files__read', 'git:????', 'RUN', 'R?N', 'none']

/**
 * The globs of each argument: `allow` has one that some text matches, and no glob of `deny` covers it, except those that match
 * every text. Whether several rules cover it together is not computed, so such rules are not made here.
 */
const GLOBS = {
  path: { deny: ['**', '*', 'secret/**'], other: ['src/**'], values: ['src/x', 'zz', undefined] },
  command: { deny: ['*', 'rm *'], other: ['pytest *'], values: ['pytest x', 'zz', undefined] },
  text: { deny: ['*', '**', 'secret*'], other: ['a*'], values: ['ax', 'zz', undefined] },
} as const
type Argument = keyof typeof GLOBS
const ARGUMENTS = Object.keys(GLOBS) as Argument[]

function rule(): Rule {
  const effect = oneOf(['deny', 'ask', 'allow'] as const)
  const args = some(2, () => oneOf(ARGUMENTS)).map((name) => [
    name,
    oneOf<string>(effect === 'deny' ? GLOBS[name].deny : GLOBS[name].other),
  ])
  return {
    effect,
    tool: oneOf(TOOLS),
    ...(random() < 0.3 && { class: oneOf(TOOL_CLASSES) }),
    ...(args.length > 0 && { args: Object.fromEntries(args) as Record<string, string> }),
  }
}

function kept(): KeptRules {
  const set: RuleSet = { default: oneOf(['allow', 'allow', 'ask', 'deny']), rules: some(4, rule) }
  return { set, digest: ruleSetDigest(set), updatedAt: '', updatedBy: 'ann' }
}

function sets(...owners: readonly string[]): string | undefined {
  return ruleSetsText(new Map(owners.filter(() => random() < 0.6).map((owner) => [owner, kept()])))
}

function definition(): ToolDefinition {
  const properties = Object.fromEntries(ARGUMENTS.map((name) => [name, { type: 'string' }]))
  return {
    type: 'function',
    function: { name: oneOf(NAMES), description: '', parameters: { type: 'object', properties } },
    ...(random() < 0.2 && { sealed: true }),
    annotations: { classes: [oneOf(TOOL_CLASSES)] },
  }
}

/** Every combination of the values, those that `allow` matches first. */
const CALLS: readonly JsonObject[] = ARGUMENTS.reduce<JsonObject[]>(
  (calls, name) =>
    calls.flatMap((args) =>
      GLOBS[name].values.map((value) => (value === undefined ? args : { ...args, [name]: value })),
    ),
  [{}],
)

test(`under ${ROUNDS} random rules and layers, a tool is listed if and only if some call of it is not denied`, async () => {
  const governance = memoryGovernance()
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
  const ruleBook = new RuleBook({ store: governance.rules, log, now: () => 0 })
  const ann: Principal = { kind: 'user', uid: 'ann', isAdmin: false }
  const token: Principal = {
    kind: 'job',
    uid: 'ann',
    isAdmin: false,
    workflowId: 'nightly',
    grant: { id: 'none', tools: new Map() },
  }
  await ruleBook.of(ann)
  const wrong: object[] = []
  const seen = { listed: 0, hidden: 0 }
  for (let round = 0; round < ROUNDS; round += 1) {
    const [user, global, file] = [some(2, definition), some(2, definition), some(3, definition)]
    const whole = catalogView({ user, global, file })
    ruleBook.written({ kind: 'everybody' }, sets('everybody/all'))
    ruleBook.written({ kind: 'user', uid: 'ann' }, sets('user/ann', 'workflow/nightly'))
    const principal = random() < 0.5 ? ann : token
    const catalog = new RuledCatalog({ view: () => whole }, ruleBook)
    const view = await catalog.view(principal)
    const listed = new Set(
      selectEntries(
        view,
        ALL,
        () => false,
        (entry) => entry,
      ).listed,
    )
    for (const entry of whole.entries()) {
      const isListed = listed.has(entry)
      const isCallable = await someCallIsNotDenied(entry.name)
      const isResolved = view.resolve(entry.name) === entry
      if (isListed !== isCallable || isListed !== isResolved)
        wrong.push({ round, name: entry.name, isListed, isCallable, isResolved })
      seen[isListed ? 'listed' : 'hidden'] += 1
    }

    /** The steps of a real call, up to the decision. */
    async function someCallIsNotDenied(name: string): Promise<boolean> {
      for (const args of CALLS) {
        const call = { ...requestedCall({ name, arguments: args }), principal: ann }
        const outcome = await resolveTool({ catalog: { view: () => view } })(call, (resolved: Resolved) =>
          authoriseCall({ ruleBook: { of: () => ruleBook.of(principal) } })(
            resolved,
            (authorised: Authorised) => Promise.resolve(outcomeOf(authorised, toolResult('ran'))),
          ),
        )
        if (outcome.result.resultType === 'success') return true
        if (outcome.result.code !== 'PERMISSION_DENIED')
          wrong.push({ round, name, code: outcome.result.code })
      }
      return false
    }
  }
  expect(wrong).toEqual([])
  expect(seen.listed).toBeGreaterThan(ROUNDS / 2)
  expect(seen.hidden).toBeGreaterThan(ROUNDS / 2)
  await governance.close()
}, 120_000)
