import { describe, expect, test } from '@jest/globals'
import { dialectRules, LAYERS, parseScope } from '@toolrack/contract'
import type { Rule, RuleSet, Scope, ToolDefinition } from '@toolrack/contract'
import { O200K_TOKEN_SPLIT_REGEX } from 'gpt-tokenizer/encodingParams/constants'
import { checkNewest } from '../../functions/src/features/audit/check-newest.ts'
import { endedAmong } from '../../functions/src/features/audit/running-calls.ts'
import { ArtifactSchemas } from '../../functions/src/catalog/schemas/artifact-schemas.ts'
import { artifactArguments } from '../../functions/src/features/artifacts/artifact-arguments.ts'
import { checkedRules } from '../../functions/src/features/rules/check-rules.ts'
import { metTools, ReadSchemas } from '../../functions/src/features/rules/met-tools.ts'
import { operatorRulesReport } from '../../functions/src/features/rules/report-operator-rules.ts'
import { logOf } from '../../functions/src/log.ts'
import { targetsOf } from '../../functions/src/features/rules/rule-targets.ts'
import { writtenRule } from '../../functions/src/features/rules/written-rule.ts'
import { filteredList } from '../../functions/src/features/list/list-filter.ts'
import { unavailableTools } from '../../functions/src/features/list/unavailable-tools.ts'
import { CallCounts } from '../../functions/src/features/statistics/call-counts.ts'
import { ListTokens } from '../../functions/src/features/statistics/list-tokens.ts'
import { noCount } from '../../functions/src/features/statistics/tool-count.ts'
import { entriesIn, unmatchedIn } from '../../functions/src/features/scopes/scope-routes.ts'
import { Turns, type Pieces } from '../../functions/src/loop-turn.ts'
import { SqliteAuditStore } from '../../functions/src/stores/sqlite/sqlite-audit-store.ts'
import { layeredDigest, type CatalogEntry } from '../../functions/src/catalog/views/catalog-entry.ts'
import { countedAnswer } from '../../functions/src/catalog/views/counted-answer.ts'
import { DialectFragments } from '../../functions/src/catalog/views/dialect-fragments.ts'
import { explainDialects } from '../../functions/src/catalog/views/explain-dialects.ts'
import { explainName } from '../../functions/src/catalog/views/explain-name.ts'
import { modulesWithGrants } from '../../functions/src/catalog/views/module-grants.ts'
import { StoredSecrets } from '../../functions/src/redaction/stored-secrets.ts'
import { LayerSnapshot } from '../../functions/src/catalog/views/layer-snapshot.ts'
import { dialectAnswer, listAnswer } from '../../functions/src/catalog/views/list-answer.ts'
import { LevelFragments } from '../../functions/src/catalog/views/level-fragments.ts'
import { selectEntries } from '../../functions/src/catalog/views/select-entries.ts'
import { changesOf, compareAll } from '../../functions/src/features/changes/tool-changes.ts'
import { counting } from '../../functions/src/catalog/definitions/count-puts.ts'
import { readJsonInPieces } from '../../functions/src/json/read-json.ts'
import { scanJsonInPieces } from '../../functions/src/json/scan-json.ts'
import { leftIn, scopeFilter, unmatchedItems } from '../../functions/src/features/scopes/scope-filter.ts'
import { LayerIndex } from '../../functions/src/catalog/search/layer-index.ts'
import { rankedTools } from '../../functions/src/catalog/search/ranked-tools.ts'
import { storedTokens } from '../../functions/src/catalog/tokens/stored-tokens.ts'
import { counterOf, tokenCounter } from '../../functions/src/catalog/tokens/token-counter.ts'
import { Vocabulary } from '../../functions/src/catalog/tokens/vocabulary.ts'
import { NO_RANK } from '../../functions/src/catalog/views/usage-rank.ts'
import { catalogView } from '../support/catalog-view.ts'
import { put, tool } from '../support/definition-changes.ts'
import { ALL } from '../support/list-query.ts'
import { memoryAudit } from '../support/memory-audit.ts'
import { readSource } from '../support/source-tree.ts'
import { turnsDuring } from '../support/turns-during.ts'
import { IN_REQUESTS, SECRET } from '../support/requests-in-turns.ts'

/** Names that need a hash for their alias, with descriptions of which the search finds some. */
const TOOLS = Array.from({ length: 40 }, (_, at): ToolDefinition => {
  const words = ['weather', 'mail', 'files', 'calendar'][at % 4] ?? ''
  return tool(`tool:${at}:${'n'.repeat(110)}`, `Works with ${words}. It says 日本語 ${at} times.`)
})
const view = catalogView({ user: TOOLS, file: [tool('short'), tool('also_short')] })
const fewer = catalogView({ user: TOOLS.slice(0, 30), file: [tool('short', 'Changed.')] })
const entries: readonly CatalogEntry[] = [...view.entries()]
const [first] = entries
if (!first) throw new Error('there is no tool')
const entry: CatalogEntry = first
const count = await tokenCounter()
const scope = parseScope('tool:*,!*7*,nothing') as Scope
const listFilter = { revision: 'r', scopes: [{ from: 'x', scope }], pinned: new Set<string>() }
const ANN = { kind: 'user', uid: 'ann', isAdmin: false } as const
const WORKFLOWS = { defaultWorkflow: 'flow' }
const anthropic = dialectRules('anthropic')
const rules: RuleSet = {
  default: 'allow',
  rules: Array.from({ length: 20 }, (_, at) => ({
    effect: 'deny',
    tool: `tool:${at}?*:n`,
    args: { a: 'b' },
    future: true,
  })),
}
const longRule: Rule = {
  effect: 'deny',
  tool: '*',
  args: Object.fromEntries(Array.from({ length: 16 }, (_, at) => [`path${at}`, `/a/../${at}/**`])),
}
const vocabulary = ['a', 'b', 'ab', '日', ' ab']
const snapshot = () => snapshotOf(view)
const indexed = () => LayerIndex.after(undefined, snapshot())

function snapshotOf({ layers }: typeof view): LayerSnapshot {
  const { snapshot: found } = layers.user
  if (!found) throw new Error('there is no user layer')
  // A snapshot keeps the aliases that were read, so each work gets a new one.
  return new LayerSnapshot('user', found.byName, found)
}

function counted(budget: number | undefined) {
  const counting = {
    levelFragments: new LevelFragments(new DialectFragments()),
    count,
    pinned: new Set<string>(),
    rank: NO_RANK,
  }
  return countedAnswer(view, { ...ALL, countsTokens: true, budget }, anthropic, WORKFLOWS, counting)
}

const auditStore = new SqliteAuditStore(':memory:')
const audit = await trail()

async function trail() {
  const audit = memoryAudit({ store: auditStore })
  for (let at = 0; at < 30; at += 1) {
    const invocationId = `i${at}`
    const principal = { kind: 'user', uid: 'ann' } as const
    await audit.record(() => ({ kind: 'write', phase: 'end', invocationId, principal, outcome: 'ok' }))
  }
  return audit
}

type Work = (turns: Turns) => Promise<unknown>
type Row = { readonly file: string; readonly what: string; readonly work: Work }

function row(file: string, what: string, pieces: () => Pieces<unknown>): Row {
  return { file, what, work: (turns) => turns.run(pieces()) }
}

/** Every work in turns that takes its turns from outside. `test/support/requests-in-turns.ts` has those that make their own. */
const IN_PIECES: readonly Row[] = [
  {
    file: 'features/audit/audit-trail.ts',
    what: 'the verification of the audit trail',
    work: (turns) => audit.verify(undefined, turns),
  },
  {
    file: 'features/audit/check-newest.ts',
    what: 'the check of the newest records',
    work: (turns) => checkNewest(auditStore, { publicKey: undefined, turns }),
  },
  {
    file: 'features/audit/running-calls.ts',
    what: 'the records of calls that a killed service has left',
    work: (turns) => endedAmong(auditStore, [{ id: 'i3', text: '' }], turns),
  },
  {
    file: 'catalog/views/module-grants.ts',
    what: 'the modules that ask for grants',
    work: (turns) => turns.run(modulesWithGrants(view, LAYERS)),
  },
  {
    file: 'redaction/stored-secrets.ts',
    what: 'the removal of stored secrets from JSON',
    work: (turns) =>
      turns.run(new StoredSecrets([SECRET]).withoutInJson(JSON.stringify(['x'.repeat(90_000), SECRET]))),
  },
  row('redaction/stored-secrets.ts', 'the search for stored secrets in bytes', () =>
    new StoredSecrets([SECRET]).isInBytes(Buffer.alloc(90_000, 'x')),
  ),
  row('redaction/stored-secrets.ts', 'the search for parts of secrets in a name', () =>
    new StoredSecrets([SECRET]).isPartlyIn('a name of a file'),
  ),
  {
    file: 'features/rules/check-rules.ts',
    what: 'the check of new rules',
    work: (turns) => checkedRules(rules, view, turns),
  },
  {
    file: 'features/rules/report-operator-rules.ts',
    what: 'the report about the rules of the operator',
    work: async (turns) => {
      const told: unknown[] = []
      const log = logOf((...line) => told.push(line))
      await operatorRulesReport({ owner: { kind: 'everybody', id: 'file' }, set: rules }, log)(view, turns)
      return told
    },
  },
  {
    file: 'features/rules/rule-targets.ts',
    what: 'the tools of rules',
    work: (turns) => targetsOf(rules, view, turns),
  },
  {
    file: 'features/rules/written-rule.ts',
    what: 'a rule in its normal form',
    work: (turns) => writtenRule(longRule, 0, { targets: { tools: [], isNamed: true }, tools: [] }, turns),
  },
  {
    file: 'features/rules/met-tools.ts',
    what: 'how the tools of rules read their arguments',
    work: (turns) => metTools(entries, rules, new ReadSchemas(), turns),
  },
  {
    file: 'features/statistics/list-tokens.ts',
    what: 'the tokens of the tools of a list that was sent',
    work(turns) {
      const texts = entries.map(({ fragment }) => fragment.toString())
      const body = Buffer.from(texts.join(''))
      let end = 0
      const tools = entries.map(({ name, fragment }) => {
        const start = end
        end += fragment.length
        return { name, isOwn: false, start, end, tokens: undefined }
      })
      return new ListTokens().of({ body, tools, bytes: body.length }, turns)
    },
  },
  {
    file: 'features/statistics/call-counts.ts',
    what: 'the counts of a day',
    work(turns) {
      const tools = new Map([['a', { ...noCount(), calls: 1 }]])
      const hours = Array.from({ length: 25 }, () => ({ hourMs: 0, tools, parts: new Map() }))
      const store = { add: () => Promise.resolve(), read: () => Promise.resolve(hours) }
      const parts = { listTokens: new ListTokens(), now: Date.now, log: { warn: () => undefined } }
      return new CallCounts({ ...parts, store }).read('ann', 0, 1, turns)
    },
  },
  row('features/artifacts/artifact-arguments.ts', 'the artifacts that arguments name', () =>
    artifactArguments(
      new ArtifactSchemas({ properties: { paths: { items: { type: 'string', format: 'artifact' } } } }),
      { paths: Array.from({ length: 50 }, () => 'not an id') },
    ),
  ),
  row('features/list/list-filter.ts', 'a scope of a list', () => filteredList(view, listFilter, ANN)),
  row('features/list/unavailable-tools.ts', 'the tools that a list leaves out', () =>
    unavailableTools(view, { ...ALL, unavailable: new Set(entries.map(layeredDigest)) }),
  ),
  row('features/scopes/scope-routes.ts', 'a command that shows a scope', () =>
    entriesIn(view, { scope: 'tool:*', pinned: [] }),
  ),
  row('features/scopes/scope-routes.ts', 'the items of a scope without a tool', () =>
    unmatchedIn(view, scope),
  ),
  row('catalog/views/catalog-view.ts', 'the tools that a view shows', () => view.shown()),
  row('catalog/views/counted-answer.ts', 'a list whose tokens are counted', () => counted(undefined)),
  row('catalog/views/counted-answer.ts', 'a list with a budget', () => counted(1_000)),
  row('catalog/views/explain-dialects.ts', 'a tool in all dialects', () => explainDialects(view, entry)),
  row('catalog/views/explain-name.ts', 'the explanation of a name', () => explainName(view, entry.name)),
  row('catalog/views/layer-snapshot.ts', 'a layer that was read', function* () {
    const definitions = TOOLS.map((one) => ({ ...put(one), revision: '1' }))
    const read = { revision: '1', whole: true, definitions, deleted: [], skipped: [] }
    return [...(yield* LayerSnapshot.after('user', undefined, read)).byName.keys()]
  }),
  row('catalog/views/layer-snapshot.ts', 'the aliases of a layer', function* () {
    const read = snapshot()
    yield* read.readAliases()
    return [...read.byAlias].map(([alias, { name }]) => [alias, name])
  }),
  row('catalog/views/list-answer.ts', 'a list', () => listAnswer(view, ALL, WORKFLOWS)),
  row('catalog/views/list-answer.ts', 'a list in a dialect', () =>
    dialectAnswer(view, ALL, anthropic, WORKFLOWS, new DialectFragments(1)),
  ),
  row('catalog/views/level-fragments.ts', 'the tokens of a tool', () =>
    new LevelFragments(new DialectFragments()).measured(entry, anthropic, count),
  ),
  row('catalog/views/select-entries.ts', 'the tools of a query', () =>
    selectEntries(
      view,
      { ...ALL, loaded: ['short'] },
      () => false,
      (one) => one,
    ),
  ),
  row('features/changes/tool-changes.ts', 'the names that two views show differently', () =>
    compareAll(fewer, view),
  ),
  row('features/changes/tool-changes.ts', 'the changes between two views', () =>
    changesOf(
      fewer,
      view,
      { ...ALL },
      TOOLS.map((one) => one.function.name),
    ),
  ),
  row('catalog/definitions/count-puts.ts', 'the tokens of written definitions', () =>
    counting(
      TOOLS.map((one) => put(one)),
      count,
    ),
  ),
  row('json/read-json.ts', 'a large body', () =>
    readJsonInPieces(Buffer.from(JSON.stringify('x'.repeat(400_000).split(''))), undefined),
  ),
  row('json/scan-json.ts', 'the faults of a large body', () =>
    scanJsonInPieces(`${'['.repeat(300_000)}${']'.repeat(300_000)}`, 500_000),
  ),
  row('features/scopes/scope-filter.ts', 'the tools in a scope', () =>
    leftIn(entries, scopeFilter(listFilter.scopes, new Set())),
  ),
  row('features/scopes/scope-filter.ts', 'the items without a tool', () => unmatchedItems(entries, [scope])),
  row('catalog/search/layer-index.ts', 'the index of a layer', function* () {
    const index = yield* indexed()
    return [index.bytes, index.of('mail')]
  }),
  row('catalog/search/layer-index.ts', 'the index of a changed layer', function* () {
    const index = yield* LayerIndex.after(yield* LayerIndex.after(undefined, snapshotOf(fewer)), snapshot())
    return [index.bytes, index.of('mail')]
  }),
  row('catalog/search/ranked-tools.ts', 'a search', function* () {
    const index = yield* indexed()
    const shown = { flags: new Uint8Array(TOOLS.length).fill(1), count: TOOLS.length }
    return yield* rankedTools(view, [{ index, shown }], 'send a mail about the weather')
  }),
  row('catalog/tokens/stored-tokens.ts', 'the tokens that are stored', () =>
    storedTokens(tool('a', 'x '.repeat(3_000)), count),
  ),
  row('catalog/tokens/token-counter.ts', 'the tokens of one long word', () =>
    count.steps('日'.repeat(20_000)),
  ),
  row('catalog/tokens/vocabulary.ts', 'the vocabulary', function* () {
    const lines = vocabulary.map((token, rank) => `${Buffer.from(token).toString('base64')} ${rank}\n`)
    const read = yield* Vocabulary.read(Buffer.from(lines.join('')))
    const counter = counterOf(read, O200K_TOKEN_SPLIT_REGEX)
    return [yield* counter.steps('ab ab'), yield* counter.steps('日ab')]
  }),
]

/** A turn after each piece. */
const afterEachPiece = (signal?: AbortSignal): Turns => new Turns(signal, -1)

const outcomeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    (result) => ({ result }),
    (error: unknown) => ({ error }),
  )

describe.each(IN_PIECES)('$file: $what', ({ work }) => {
  test('has the same answer with a turn after each piece, and others have turns', async () => {
    const expected = await outcomeOf(work(new Turns(undefined, Infinity)))
    const { result, turns } = await turnsDuring(() => outcomeOf(work(afterEachPiece())))
    expect(result).toEqual(expected)
    expect(turns).toBeGreaterThan(1)
  })

  test('ends when its caller leaves', async () => {
    const caller = new AbortController()
    const left = new Error('left')
    const ended = expect(work(afterEachPiece(caller.signal))).rejects.toBe(left)
    setImmediate(() => caller.abort(left))
    await ended
  })
})

const source = readSource('functions/src')
const usesTurns = /from '[./]*\/loop-turn\.ts'/

test('every file that uses turns is in this table or in that of the requests', () => {
  const uses = [...source].filter(([, text]) => usesTurns.test(text)).map(([path]) => path)
  const tried = [...IN_PIECES.map(({ file }) => file), ...IN_REQUESTS.flatMap(({ files }) => files)]
  const files = [...new Set(tried)].map((file) => `functions/src/${file}`)
  expect(uses.toSorted()).toEqual(files.toSorted())
})

test('no other file gives turns in its own way', () => {
  const others = [...source].filter(([, text]) => /\bsetImmediate\b|scheduler\.yield/.test(text))
  expect(others.map(([path]) => path).toSorted()).toEqual([
    // Waits for events of a child process.
    'functions/src/catalog/schemas/worker-process.ts',
    // Waits once, to see whether a call ends at once.
    'functions/src/features/audit/audit-trail.ts',
    'functions/src/hosts/local/parent-pipe.ts',
    'functions/src/loop-turn.ts',
  ])
})
