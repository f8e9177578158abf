import { afterAll, expect, test } from '@jest/globals'
import type { JsonObject, ToolDefinition } from '@toolrack/contract'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { TrailVerifier } from '../../../../functions/src/features/audit/verify-trail.ts'
import { auditLogFile } from '../../../../functions/src/hosts/local/audit-log-file.ts'
import { logOf } from '../../../../functions/src/log.ts'
import { SqliteAuditStore } from '../../../../functions/src/stores/sqlite/sqlite-audit-store.ts'
import type { RunnerCall } from '../../../../functions/src/catalog/definitions/runner.ts'
import { inProcess } from '../../../support/in-process.ts'
import { memoryAudit } from '../../../support/memory-audit.ts'
import { memoryInvocationLogs } from '../../../support/memory-invocation-logs.ts'
import { readingRunner } from '../../../support/reading-runner.ts'
import { NOW, signed } from '../../../support/signed-tokens.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { deployedAccess, FIREBASE } from '../../../support/token-kinds.ts'

const CANARY = 'Zx9Canary7Qw'
const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const parameters: JsonObject = {
  type: 'object',
  properties: { text: { type: 'string' }, card: { type: 'string', 'x-sensitive': true } },
  required: [],
}
const RAISES: ToolDefinition = {
  type: 'function',
  function: { name: 'notes:raise', description: 'Raises.', parameters },
  runner: { kind: 'python', module: 'notes', sha256: 'a'.repeat(64) },
}
const AT_CLIENT: ToolDefinition = {
  type: 'function',
  function: { name: 'local', description: 'Here.', parameters },
}

const folder = temporaryFolder()
const path = join(folder.path, 'audit.sqlite')
const jsonLines = join(folder.path, 'audit.jsonl')
const logged: string[] = []
const log = logOf((...line) => logged.push(JSON.stringify(line)))
const copyFile = auditLogFile(jsonLines, log)
const audit = memoryAudit({
  store: new SqliteAuditStore(path),
  copy: (lines) => copyFile.copy(lines),
  now: () => NOW,
})
const toRunner: RunnerCall[] = []
const service = await inProcess(
  deployedAccess(() => NOW),
  [RAISES, AT_CLIENT],
  () => NOW,
  {
    audit,
    log,
    logs: {
      ...memoryInvocationLogs(() => NOW),
      keep: () => Promise.reject(new Error(`no room for token=${CANARY}`)),
    },
    runner: {
      ...readingRunner(),
      invoke(call) {
        toRunner.push(call)
        void call.listen?.({ type: 'log', text: `password: ${CANARY}` })
        const usage = { wallMs: 1, cpuMs: 1, maxRssBytes: 1 }
        const printed = { text: `password: ${CANARY}`, truncated: false }
        return Promise.resolve({
          code: 'TOOL_RAISED',
          error: `bad key sk-${CANARY}`,
          isolation: 'L2',
          usage,
          log: printed,
        })
      },
    },
  },
)
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  copyFile.close()
  folder[Symbol.dispose]()
})

const TOKENS = {
  ann: signed(FIREBASE, { sub: 'ann' }),
  bob: signed(FIREBASE, { sub: 'bob' }),
  admin: signed(FIREBASE, { sub: 'root', toolrackAdmin: true }),
}

async function ask(
  who: keyof typeof TOKENS,
  request: string,
  body?: unknown,
  headers: Record<string, string> = {},
) {
  const [method = '', address = ''] = request.split(' ')
  const answer = await fetch(`${service.url}/workflows${address}`, {
    method,
    body:
      body === undefined || (typeof body === 'string' && headers['Content-Type'])
        ? (body ?? null)
        : JSON.stringify(body),
    headers: { Authorization: `Bearer ${TOKENS[who]}`, ...headers },
  })
  return { status: answer.status, text: await answer.text(), headers: answer.headers }
}
type Page = { readonly records: readonly JsonObject[]; readonly cursor: string | null }
const recordsOf = async (who: keyof typeof TOKENS, query = ''): Promise<readonly JsonObject[]> =>
  (JSON.parse((await ask(who, `GET /audit${query}`)).text) as Page).records
const call = (args: JsonObject, name = 'notes:raise') => ({ name, arguments: args })

test('a call that failed has a record with every fact, and without its secrets', async () => {
  await ask('ann', 'POST /tools/invoke', call({ text: 'hello', card: CANARY }), { traceparent: TRACE })
  const [record] = await recordsOf('ann')
  expect(record).toMatchObject({
    kind: 'call',
    phase: 'end',
    principal: { kind: 'user', uid: 'ann' },
    tool: 'notes:raise',
    layer: 'file',
    digest: expect.stringMatching(/^sha256:/),
    revision: expect.any(String),
    decision: 'allow',
    rule: null,
    arguments: { text: 'hello', card: '[redacted]' },
    argumentsHash: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
    durationMs: expect.any(Number),
    usage: { wallMs: 1, cpuMs: 1, maxRssBytes: 1 },
    isolation: 'L2',
    outcome: 'TOOL_RAISED',
    invocationId: toRunner.at(-1)?.invocationId,
    parentInvocationId: null,
    traceparent: TRACE,
    workflow: null,
    session: null,
    agent: null,
    seq: expect.any(Number),
    prev: expect.any(String),
    hash: expect.stringMatching(/^[0-9a-f]{64}$/),
  })
  expect(toRunner.at(-1)?.traceparent).toBe(TRACE)
  // The log line about the log that could not be kept.
  expect(logged.at(-1)).toContain(TRACE)
})

test('an invalid traceparent is ignored, and none is invented', async () => {
  for (const traceparent of [
    '00-1-2-01',
    `ff${TRACE.slice(2)}`,
    TRACE.replace('0af7651916cd43dd8448eb211c80319c', '0'.repeat(32)),
  ]) {
    await ask('bob', 'POST /tools/invoke', call({}), { traceparent })
    expect(toRunner.at(-1)?.traceparent).toBeUndefined()
    expect((await recordsOf('bob'))[0]).toMatchObject({ traceparent: null })
  }
})

test('refused calls, each call of a dispatch and every write have a record too', async () => {
  await ask('bob', 'POST /tools/invoke', '{')
  await ask('bob', 'POST /tools/invoke', call({ card: CANARY }, 'nothing_here'))
  await ask('bob', 'POST /tools/invoke', call({ text: 1 }))
  await ask('bob', 'POST /tools/invoke', call({}, 'local'))
  const uses = ['x', 'y'].map((id) => ({ type: 'tool_use', id, name: 'notes__raise', input: {} }))
  await ask('bob', 'POST /tools/dispatch', uses)
  const definition = { ...AT_CLIENT, function: { ...AT_CLIENT.function, name: 'mine' } }
  await ask('bob', 'PUT /tools/defs/mine', definition)
  await ask('bob', 'PUT /tools/defs/mine', { function: 1 })
  await ask('bob', 'DELETE /tools/defs/mine?layer=global')
  await ask('bob', 'PUT /tools/modules/notes', '"notes:it"')
  const records = (await recordsOf('bob', '?limit=10')).toReversed()
  expect(
    records.map(({ kind, tool, outcome, subject }) => [
      kind,
      tool,
      outcome,
      (subject as JsonObject)?.['route'],
    ]),
  ).toEqual([
    ['call', null, 'BODY_INVALID', undefined],
    ['call', 'nothing_here', 'TOOL_NOT_FOUND', undefined],
    ['call', 'notes:raise', 'ARGUMENTS_INVALID', undefined],
    ['call', 'local', 'RUNS_AT_CLIENT', undefined],
    ['call', 'notes:raise', 'TOOL_RAISED', undefined],
    ['call', 'notes:raise', 'TOOL_RAISED', undefined],
    ['write', 'mine', 'ok', 'PUT /tools/defs/:name'],
    ['write', 'mine', 'DEFINITION_INVALID', 'PUT /tools/defs/:name'],
    ['write', 'mine', 'PERMISSION_DENIED', 'DELETE /tools/defs/:name'],
    ['write', null, 'MODULE_INVALID', 'PUT /tools/modules/:name'],
  ])
  // Which arguments of an unknown tool are sensitive is not known.
  expect(records[1]).toMatchObject({ arguments: null })
  expect(records[6]).toMatchObject({ digest: expect.stringMatching(/^sha256:/) })
})

async function listedParts(): Promise<readonly string[]> {
  const { headers } = await ask('admin', 'GET /tools/list')
  return headers.get('X-Tools-Revision')?.split('.') ?? []
}

/** The record of a write of the admin. */
async function written(
  request: string,
  body?: unknown,
  headers?: Record<string, string>,
): Promise<JsonObject> {
  await ask('admin', request, body, headers)
  const [record = {}] = await recordsOf('admin', '?limit=1')
  return record
}

test('a write has the digest of what was written, and the new revision of its layer, which lists have too', async () => {
  const source = '"notes:it"'
  const content = { 'Content-Type': 'text/x-python' }
  const digest = `sha256:${createHash('sha256').update(source).digest('hex')}`
  const upload = await written('PUT /tools/modules/notes', source, content)
  const tools = { added: ['notes:it'], changed: [], removed: [] }
  expect(upload).toMatchObject({
    kind: 'write',
    digest,
    layer: 'user',
    subject: { outcome: 'created', ...tools },
  })
  expect(upload['invocationId']).toEqual(expect.any(String))
  expect((await listedParts())[0]).toBe(upload['revision'])
  expect(await written('PUT /tools/modules/notes', 'nothing', content)).toMatchObject({
    outcome: 'MODULE_INVALID',
    digest: `sha256:${createHash('sha256').update('nothing').digest('hex')}`,
  })
  const gone = await written('DELETE /tools/modules/notes')
  expect(gone).toMatchObject({ digest, subject: { outcome: 'deleted', removed: ['notes:it'] } })
  expect((await listedParts())[0]).toBe(gone['revision'])
  const many = ['one', 'two'].map((name) => ({ ...AT_CLIENT, function: { ...AT_CLIENT.function, name } }))
  const bulk = await written('POST /tools/defs?layer=global', many)
  expect(bulk).toMatchObject({
    layer: 'global',
    subject: { written: [/^one@sha256:/, /^two@sha256:/].map((one) => expect.stringMatching(one)) },
  })
  expect((await listedParts())[1]).toBe(bulk['revision'])
  const removed = await written('DELETE /tools/defs/one?layer=global')
  expect(removed).toMatchObject({
    tool: 'one',
    digest: expect.stringMatching(/^sha256:/),
    subject: { outcome: 'deleted' },
  })
  const rules = await written('PUT /rules/everybody/all', { rules: [{ effect: 'deny', tool: 'two' }] })
  expect(rules).toMatchObject({
    digest: expect.stringMatching(/^sha256:/),
    subject: { names: ['everybody', 'all'], outcome: 'created' },
  })
  expect((await listedParts())[3]).toBe(rules['revision'])
  const lifted = await written('DELETE /rules/everybody/all')
  expect(lifted).toMatchObject({ digest: rules['digest'], subject: { outcome: 'deleted' } })
})

test('calls whose results the caller reports are recorded as reported', async () => {
  const calls = [
    { type: 'tool_use', id: 'a', name: 'local', input: { text: 'here', card: CANARY } },
    { type: 'tool_use', id: 'b', name: 'elsewhere', input: { card: CANARY } },
    { type: 'tool_use', id: 'c', name: 'local', input: {} },
  ]
  const failure = { resultType: 'failure', code: 'DEADLINE_EXCEEDED', textResultForLlm: CANARY }
  const results = [
    { index: 0, result: 'done' },
    { index: 1, result: failure },
    { index: 2, result: { ...failure, code: CANARY } },
  ]
  const body = { format: 'anthropic', calls, results }
  expect((await ask('ann', 'POST /tools/dispatch/complete', body, { traceparent: TRACE })).status).toBe(200)
  const [third, second, first] = await recordsOf('ann', '?limit=3')
  expect(third).toMatchObject({ tool: 'local', outcome: 'TOOL_RAISED' })
  const common = {
    kind: 'call',
    phase: 'end',
    reported: true,
    revision: expect.any(String),
    traceparent: TRACE,
  }
  expect(first).toMatchObject({
    ...common,
    tool: 'local',
    layer: 'file',
    digest: expect.stringMatching(/^sha256:/),
    outcome: 'ok',
    arguments: { text: 'here', card: '[redacted]' },
    subject: { call: 'a' },
  })
  expect(second).toMatchObject({
    ...common,
    tool: 'elsewhere',
    outcome: 'DEADLINE_EXCEEDED',
    arguments: null,
    subject: { call: 'b' },
  })
  expect(JSON.stringify([first, second, third])).not.toContain(CANARY)
})

test('no secret of a caller or a tool is in the records, their copy, or the log', async () => {
  const secrets: readonly JsonObject[] = [
    { card: CANARY },
    { text: `sk-${CANARY}` },
    { text: JSON.stringify({ a: JSON.stringify({ password: CANARY }) }) },
    { text: `https://ann:${CANARY}@example.com/?x=1&token=${CANARY}` },
    { text: `Authorization: Bearer ${CANARY}${CANARY}` },
    { text: 'x', deep: { list: [{ api_key: CANARY }] } },
    { [`sk-${CANARY}`]: 1 },
  ]
  for (const args of secrets) {
    const headers = {
      Cookie: `s=${CANARY}`,
      'Idempotency-Key': CANARY,
      traceparent: CANARY,
      'X-Api-Key': CANARY,
    }
    await ask('ann', 'POST /tools/invoke', call(args), { ...headers, Accept: 'text/event-stream' })
    await ask('ann', `POST /tools/invoke?token=${CANARY}`, call(args), headers)
    await ask('ann', 'POST /tools/invoke', call(args, `sk-${CANARY}`), headers)
    await ask('ann', 'POST /tools/invoke', { ...call(args), context: { password: CANARY } }, headers)
    await ask('ann', `DELETE /tools/defs/sk-${CANARY}?token=${CANARY}`)
  }
  await audit.written()
  const kept = [path, `${path}-wal`, jsonLines].map((file) => readFileSync(file, 'latin1'))
  expect(kept[2]?.split('\n').length).toBeGreaterThan(30)
  expect(logged.length).toBeGreaterThan(0)
  expect([...kept, ...logged].filter((text) => text.includes('Canary'))).toEqual([])
})

test('a user reads their own records only, and an admin those of all', async () => {
  const uids = async (who: keyof typeof TOKENS, query = ''): Promise<unknown[]> => [
    ...new Set((await recordsOf(who, query)).map(({ principal }) => (principal as JsonObject)['uid'])),
  ]
  expect(await uids('ann')).toEqual(['ann'])
  expect(await uids('ann', '?uid=ann')).toEqual(['ann'])
  expect((await ask('ann', 'GET /audit?uid=bob')).status).toBe(403)
  expect((await uids('admin', '?limit=1000')).toSorted()).toEqual(['ann', 'bob', 'root'])
  expect(await uids('admin', '?uid=bob')).toEqual(['bob'])
  const byTool = await recordsOf('admin', '?tool=notes:raise&outcome=ARGUMENTS_INVALID&uid=bob')
  expect(byTool.map(({ outcome }) => outcome)).toEqual(['ARGUMENTS_INVALID'])
})

test('pages follow each other without a gap', async () => {
  const all = (await recordsOf('bob', '?limit=1000')).map(({ seq }) => seq)
  const paged: unknown[] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const answer = await ask('bob', `GET /audit?limit=4${cursor && `&cursor=${cursor}`}`)
    const page = JSON.parse(answer.text) as Page
    paged.push(...page.records.map(({ seq }) => seq))
    expect(answer.headers.get('link') !== null).toBe(page.cursor !== null)
    cursor = page.cursor
  }
  expect(paged).toEqual(all)
})

test('an export is JSON lines that can be verified, and so is the copy', async () => {
  const { text, headers } = await ask('admin', 'GET /audit', undefined, { Accept: 'application/x-ndjson' })
  expect(headers.get('content-type')).toContain('application/x-ndjson')
  for (const lines of [text, readFileSync(jsonLines, 'utf8')]) {
    const verifier = new TrailVerifier()
    for (const line of lines.split('\n')) verifier.take(line)
    expect(verifier.end()).toMatchObject({ fault: null })
    expect(verifier.end().records).toBeGreaterThan(30)
  }
  const own = await ask('ann', 'GET /audit', undefined, { Accept: 'application/x-ndjson' })
  expect(own.text).not.toContain('"uid":"bob"')
  const verified = JSON.parse((await ask('admin', 'GET /audit/verify')).text) as JsonObject
  expect(verified).toMatchObject({ ok: true, fault: null })
})

test('an admin erases what the records of a user say, and the trail still verifies', async () => {
  expect((await ask('ann', 'DELETE /audit?uid=ann')).status).toBe(403)
  const erased = JSON.parse((await ask('admin', 'DELETE /audit?uid=ann')).text) as { erased: number }
  expect(erased.erased).toBeGreaterThan(10)
  expect(await recordsOf('admin', '?uid=ann&limit=1000')).toEqual([])
  const verified = JSON.parse((await ask('admin', 'GET /audit/verify')).text) as JsonObject
  expect(verified).toMatchObject({ ok: true, erased: erased.erased })
  const byAdmin = await recordsOf('admin', '?uid=root')
  expect(byAdmin.map(({ kind }) => kind)).toContain('erasure')
  const asked = { kind: 'write', outcome: 'ok', subject: expect.objectContaining({ route: 'DELETE /audit' }) }
  expect(byAdmin).toContainEqual(expect.objectContaining(asked))
})

test('an erasure that is refused is recorded', async () => {
  expect((await ask('bob', 'DELETE /audit?uid=bob')).status).toBe(403)
  const [newest] = await recordsOf('bob', '?limit=1')
  expect(newest).toMatchObject({ outcome: 'PERMISSION_DENIED', subject: { route: 'DELETE /audit' } })
})

test.each([
  ['limit=0', 'PARAMETER_INVALID'],
  ['limit=1001', 'PARAMETER_INVALID'],
  ['cursor=abc', 'PARAMETER_INVALID'],
  ['since=yesterday', 'PARAMETER_INVALID'],
  ['until=2026-13-01', 'PARAMETER_INVALID'],
  ['until=2026-02-31', 'PARAMETER_INVALID'],
  ['since=2026-02-31T10:00:00Z', 'PARAMETER_INVALID'],
  ['uid=a/b', 'PARAMETER_INVALID'],
  ['who=ann', 'PARAMETER_UNKNOWN'],
])('the query %s is refused with %s', async (query, code) => {
  const { status, text } = await ask('admin', `GET /audit?${query}`)
  expect([status, text.includes(code)]).toEqual([400, true])
})

test.each(['2026-02-31', '2026-13-01', 'today', '2026-01-01T00:00:00Z'])(
  'no day can be verified whose name is %s',
  async (day) => {
    const { status, text } = await ask('admin', `GET /audit/verify?day=${day}`)
    expect([status, text]).toEqual([400, expect.stringContaining('PARAMETER_INVALID')])
  },
)

async function healthOf(who: keyof typeof TOKENS) {
  const headers = { Authorization: `Bearer ${TOKENS[who]}` }
  const { audit: shown } = (await (await fetch(`${service.url}/health`, { headers })).json()) as JsonObject
  return shown
}

test('/health shows the mode and the losses to a caller with a token, and to an admin what does not verify', async () => {
  const state = { mode: 'on', signed: expect.any(Boolean), lost: 0, waiting: expect.any(Number) }
  expect(await healthOf('ann')).toEqual(state)
  expect(await healthOf('admin')).toEqual({ ...state, fault: null })
  const database = new DatabaseSync(path)
  const change = (from: string, to: string): void =>
    database.exec(
      `BEGIN; INSERT INTO opened VALUES (1); UPDATE records SET text = replace(text, '"seq":${from},', '"seq":${to},') WHERE seq = 3; DELETE FROM opened; COMMIT`,
    )
  change('3', '9')
  expect((await ask('admin', 'GET /audit/verify')).text).toContain('"ok":false')
  expect(await healthOf('ann')).toEqual(state)
  const fault = {
    day: expect.stringMatching(/^\d{4}-/),
    place: expect.any(String),
    reason: expect.any(String),
  }
  expect(await healthOf('admin')).toEqual({ ...state, fault })
  change('9', '3')
  database.close()
  expect((await ask('admin', 'GET /audit/verify')).text).toContain('"ok":true')
  expect(await healthOf('admin')).toEqual({ ...state, fault: null })
})
