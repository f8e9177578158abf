import { expect, test } from '@jest/globals'
import {
  GRANT_KINDS,
  toolResult,
  TOOL_CLASSES,
  type Digest,
  type JsonObject,
  type Rule,
  type RuleSet,
  type ToolDefinition,
} from '@toolrack/contract'
import { atOnce } from '../../../../functions/src/loop-turn.ts'
import type { Principal } from '../../../../functions/src/access/principal.ts'
import { resolveTool } from '../../../../functions/src/calls/pipeline/resolve-tool.ts'
import { makeArgumentsCanonical } from '../../../../functions/src/calls/canonical-arguments.ts'
import { outcomeOf, type Authorised, type Resolved } from '../../../../functions/src/calls/call.ts'
import { authoriseCall } from '../../../../functions/src/features/rules/authorise.ts'
import {
  ruleSetDigest,
  ruleSetsText,
  type KeptRules,
} from '../../../../functions/src/features/rules/kept-rules.ts'
import { RuleBook } from '../../../../functions/src/features/rules/rule-book.ts'
import { RuledCatalog } from '../../../../functions/src/features/rules/ruled-catalog.ts'
import type { StoredToolDefinition } from '../../../../functions/src/catalog/views/catalog-entry.ts'
import { selectEntries } from '../../../../functions/src/catalog/views/select-entries.ts'
import { catalogView } from '../../../support/catalog-view.ts'
import { requestedCall } from '../../../support/call-stages.ts'
import { ALL } from '../../../support/list-query.ts'
import { memoryStores } from '../../../support/memory-governance.ts'

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
const waiting = numbersFrom(29)
const oneOf = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T
const some = <T>(most: number, make: () => T): T[] =>
  Array.from({ length: Math.floor(random() * (most + 1)) }, make)

const NAMES = ['files:read', 'files__read', 'files:write', 'git:push', 'RUN']
const TOOLS = ['*', 'files:*', 'files:read', 'files__read', 'git:????', 'RUN', 'R?N', 'none']

/**
 * The schema of each argument, the globs of rules about it, and values that match every combination of them that some text
 * matches. Several globs may cover an argument only together: `*` and `*` + `/**` every path, `fast` and `s*` the mode.
 */
const ARGUMENTS = {
  path: {
    schema: { type: 'string' },
    globs: ['**', '*', '*/**', 'secret/**', 'src/**', 'src/*'],
    values: ['zz', 'zz/zz', 'src/x', 'src/x/y', 'src', 'secret', 'secret/x', '/'],
  },
  command: {
    schema: { type: 'string' },
    globs: ['*', 'rm *', 'pytest *', 'pytest -q *'],
    values: ['zz', 'rm x', 'pytest x', 'pytest -q x', 'pytest -q x; rm x'],
  },
  text: {
    schema: { type: 'string' },
    globs: ['*', '**', 'secret*', 'a*', 'ab*'],
    values: ['zz', 'secret', 'a', 'ab'],
  },
  mode: {
    schema: { enum: ['fast', 'slow'] },
    globs: ['fast', 'slow', 's*', 'x', '*'],
    values: ['fast', 'slow'],
  },
  id: {
    schema: { type: 'string', format: 'uuid' },
    globs: ['*', 'A*', 'a*', '*1', 'z*'],
    values: [
      'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',
      'A0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12',
      'b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',
      'B0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12',
    ],
  },
  day: {
    schema: { $ref: '#/$defs/Day' },
    globs: ['*', '2026-*', '1767312000', '*-02', '20??-*'],
    values: [
      '2026-01-02',
      '1767398400',
      '2025-01-02',
      '1999-01-01',
      '1999-01-02',
      '2025-01-01',
      '2026-01-01',
    ],
  },
  amount: {
    schema: { anyOf: [{ type: 'string', format: 'decimal' }, { type: 'null' }] },
    globs: ['*', '-*', '1e3', '1*', '0*'],
    values: ['-1', '1_000', '10', '0.5', '2', null],
  },
  link: {
    schema: { type: 'string', format: 'uri' },
    globs: ['*', 'HTTP://EVIL.com/*', 'http*', 'http://evil.com'],
    values: ['HTTP://EVIL.com:80/', 'http://evil.com/a', 'http://good.com', 'foo:x'],
  },
  where: {
    schema: { type: 'string' },
    globs: ['*', '**', '/etc/**', '/etc//*', '/*'],
    values: ['//etc/x', '/etc', 'zz', 'zz/zz', '/zz', '/etc/x/y', '/'],
  },
  flag: { schema: { type: 'boolean' }, globs: ['true', '*'], values: [true] },
} as const
type Argument = keyof typeof ARGUMENTS
const ALL_ARGUMENTS = Object.keys(ARGUMENTS) as Argument[]

/** Globs of rules about grants, and what tools ask for. */
const GRANT_GLOBS = {
  network: ['a.com', '*.a.com', 'API.A.com', '*:443', '*:8443', '*'],
  packages: ['pandas', 'Google_Cloud*', 'pandas>=2', '*'],
  secrets: ['KEY', 'caller:*', 'K??', '*'],
} as const
const GRANTS = {
  network: ['a.com', 'api.a.com:8443', 'Api.a.com', 'b.com:443'],
  packages: ['pandas>=2', 'google-cloud-storage', 'polars[x]'],
  secrets: ['KEY', 'caller:KEY', 'OTHER'],
} as const

function rule(about: readonly Argument[]): Rule {
  const effect = oneOf(['deny', 'deny', 'ask', 'allow'] as const)
  if (random() < 0.25) {
    const grant = oneOf(GRANT_KINDS)
    return { effect, grant, value: oneOf<string>(GRANT_GLOBS[grant]) }
  }
  const args = some(2, () => oneOf(about)).map((name) => [name, oneOf<string>(ARGUMENTS[name].globs)])
  return {
    effect,
    tool: oneOf(TOOLS),
    ...(random() < 0.3 && { class: oneOf(TOOL_CLASSES) }),
    ...(args.length > 0 && { args: Object.fromEntries(args) as Record<string, string> }),
  }
}

function kept(about: readonly Argument[]): KeptRules {
  const set: RuleSet = {
    default: oneOf(['allow', 'allow', 'ask', 'deny']),
    rules: some(5, () => rule(about)),
  }
  return { set, digest: ruleSetDigest(set), updatedAt: '', updatedBy: 'ann' }
}

function sets(about: readonly Argument[], ...owners: readonly string[]): string | undefined {
  return ruleSetsText(new Map(owners.filter(() => random() < 0.6).map((owner) => [owner, kept(about)])))
}

const PENDING: Digest = `sha256:${'0'.repeat(64)}`

function definition(required: readonly Argument[]): StoredToolDefinition {
  const properties = Object.fromEntries(ALL_ARGUMENTS.map((name) => [name, ARGUMENTS[name].schema]))
  const grants = Object.fromEntries(
    GRANT_KINDS.map((kind) => [kind, some(2, () => oneOf<string>(GRANTS[kind]))] as const),
  )
  const $defs = { Day: { type: 'string', format: 'date' } }
  const parameters = { type: 'object', properties, required, $defs }
  return {
    type: 'function',
    function: { name: oneOf(NAMES), description: '', parameters },
    runner: { kind: 'python', module: 'm', sha256: '0'.repeat(64), kinds: { where: ['path'] }, ...grants },
    ...(random() < 0.2 && { sealed: true }),
    // The module of the tool waits for consent.
    ...(waiting() < 0.1 && { pendingGrants: PENDING }),
    annotations: { classes: [oneOf(TOOL_CLASSES)] },
  }
}

/** Every combination of the values of these arguments. An argument may be missing unless it is required. */
function callsOf(about: readonly Argument[], required: readonly Argument[]): readonly JsonObject[] {
  return about.reduce<readonly JsonObject[]>(
    (calls, name) =>
      calls.flatMap((args) => [
        ...ARGUMENTS[name].values.map((value) => ({ ...args, [name]: value })),
        ...(required.includes(name) ? [] : [args]),
      ]),
    [{}],
  )
}

test(`under ${ROUNDS} random rules and layers, a tool is listed if and only if some call of it is neither denied nor waits for consent`, async () => {
  const { rules: store } = memoryStores()
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
  const ruleBook = new RuleBook({ store, log, now: () => 0 })
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
  const seen = { listed: 0, hidden: 0, hiddenForGrants: 0, pending: 0 }
  for (let round = 0; round < ROUNDS; round += 1) {
    const about = [oneOf(ALL_ARGUMENTS), oneOf(ALL_ARGUMENTS)].filter(
      (one, at, all) => all.indexOf(one) === at,
    )
    const required = about.filter(() => random() < 0.5)
    const calls = callsOf(about, required)
    const made = (): ToolDefinition => definition(required)
    const [user, global, file] = [some(2, made), some(2, made), some(3, made)]
    const whole = catalogView({ user, global, file })
    ruleBook.written({ kind: 'everybody' }, sets(about, 'everybody/all'))
    ruleBook.written({ kind: 'user', uid: 'ann' }, sets(about, 'user/ann', 'workflow/nightly'))
    const principal = random() < 0.5 ? ann : token
    const catalog = new RuledCatalog({ view: () => whole }, ruleBook)
    const view = await catalog.view(principal)
    const listed = new Set(
      atOnce(
        selectEntries(
          view,
          ALL,
          () => false,
          (entry) => entry,
        ),
      ).listed,
    )
    for (const entry of whole.candidates()) {
      if (whole.winner(entry.name) !== entry) continue
      const isListed = listed.has(entry)
      const isCallable = await someCallIsNotDenied(entry.name)
      const isResolved = view.resolve(entry.name) === entry
      if (isListed !== isCallable || isListed !== isResolved)
        wrong.push({ round, name: entry.name, isListed, isCallable, isResolved })
      seen[entry.pendingGrants === undefined ? (isListed ? 'listed' : 'hidden') : 'pending'] += 1
      if (/asks for/.test((await ruleBook.of(principal)).hides(entry)?.reason ?? ''))
        seen.hiddenForGrants += 1
    }

    /** The steps of a real call, up to the decision. */
    async function someCallIsNotDenied(name: string): Promise<boolean> {
      for (const args of calls) {
        const call = { ...requestedCall({ name, arguments: args }), principal: ann }
        const authorise = authoriseCall({ ruleBook: { of: () => ruleBook.of(principal) } })
        const outcome = await resolveTool({ catalog: { view: () => view } })(call, (resolved: Resolved) =>
          makeArgumentsCanonical(resolved, (canonical: Resolved) =>
            authorise(canonical, (authorised: Authorised) =>
              Promise.resolve(outcomeOf(authorised, toolResult('ran'))),
            ),
          ),
        )
        if (outcome.result.resultType === 'success') return true
        const isPending = view.meaning(name)?.pendingGrants !== undefined
        if (outcome.result.code !== (isPending ? 'GRANTS_PENDING' : 'PERMISSION_DENIED'))
          wrong.push({ round, name, code: outcome.result.code })
      }
      return false
    }
  }
  expect(wrong).toEqual([])
  expect(seen.listed).toBeGreaterThan(ROUNDS / 2)
  expect(seen.hidden).toBeGreaterThan(ROUNDS / 2)
  expect(seen.hiddenForGrants).toBeGreaterThan(ROUNDS / 10)
  expect(seen.pending).toBeGreaterThan(ROUNDS / 10)
}, 120_000)
