import { afterEach, expect, test } from '@jest/globals'
import type { JsonObject, ToolDefinition } from '@toolrack/contract'
import { ruleSetDigest, ruleSetsText } from '../../../functions/src/features/rules/kept-rules.ts'
import { memoryAudit } from '../../support/memory-audit.ts'
import { featureStores } from '../../support/feature-stores.ts'
import { memoryGovernance } from '../../support/memory-governance.ts'
import { routeService } from '../../support/route-service.ts'
import { NOW } from '../../support/signed-tokens.ts'

const UUID = 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'

/** A tool that answers with its argument `text`. */
function echo(
  name: string,
  text: JsonObject,
  more: JsonObject = {},
  runner: JsonObject = {},
): ToolDefinition {
  const parameters = { type: 'object', properties: { text }, ...more }
  return {
    type: 'function',
    function: { name, description: 'Echoes.', parameters },
    runner: { kind: 'builtin', builtin: 'echo', ...runner },
    annotations: { classes: ['read'] },
  }
}

const format = (name: string): JsonObject => ({ type: 'string', format: name })
const PATH = format('path')
const LOCAL: ToolDefinition = {
  type: 'function',
  function: {
    name: 'at:client',
    description: 'Runs elsewhere.',
    parameters: { properties: { day: format('date') } },
  },
}
const TOOLS = [
  echo('echo:path', { anyOf: [PATH, { type: 'null' }] }),
  echo('echo:referenced', { $ref: '#/$defs/Where' }, { $defs: { Where: { allOf: [PATH] } } }),
  echo('echo:url', format('uri')),
  echo('echo:uuid', format('uuid')),
  echo('echo:decimal', format('decimal')),
  echo('echo:date', format('date')),
  echo('echo:time', format('date-time')),
  echo('echo:either', { anyOf: [PATH, format('uuid')] }),
  echo('echo:text', { type: 'string' }),
  echo('echo:number', { type: ['integer', 'string'] }),
  LOCAL,
]
const governance = memoryGovernance()
const audit = memoryAudit({ now: () => NOW })
const ask = await routeService(TOOLS, { governance, audit })

afterEach(async () => {
  await ask('ann', 'DELETE /rules/user/ann')
})

const put = (rules: readonly object[], more: object = {}) =>
  ask('ann', 'PUT /rules/user/ann', { body: { ...more, rules } })

const call = (name: string, text: unknown, more: object = {}, headers: Record<string, string> = {}) =>
  ask('ann', 'POST /tools/invoke', { body: { name, arguments: { text }, ...more }, headers })

test.each([
  ['echo:path', '/etc/**', ['//etc/x', '/a/../etc/x', '/./etc/x', '/etc//x', '/etc']],
  ['echo:referenced', '/etc/**', ['//etc/x', '/a/../etc/x', '/./etc/x']],
  ['echo:url', 'http://evil.com/*', ['HTTP://EVIL.com', 'http://evil.com:80/x', 'http://evil.com/a/..']],
  ['echo:uuid', UUID, [UUID.toUpperCase(), UUID.replaceAll('-', ''), `{${UUID}}`]],
  ['echo:decimal', '1000', ['1e3', ' 1000', '1000.0', '+1000', '1_000']],
  ['echo:date', '2026-01-02', ['1767312000', '1767312000000']],
  ['echo:time', '2026-01-02T03:04:05Z', ['2026-01-02T04:04:05+01:00', '1767323045', '2026-01-02 03:04:05z']],
  ['echo:either', UUID, [UUID.toUpperCase(), `./${UUID}`]],
  ['echo:either', '/etc/**', ['//etc/x']],
])('%s: a deny of %s holds for each spelling of the value', async (name, text, spellings) => {
  await put([{ effect: 'deny', tool: name, args: { text } }])
  for (const spelling of spellings)
    expect([spelling, (await call(name, spelling)).code]).toEqual([spelling, 'PERMISSION_DENIED'])
  await ask('ann', 'DELETE /rules/user/ann')
  for (const spelling of spellings) expect((await call(name, spelling)).status).toBe(200)
})

test.each([
  ['echo:path', '//srv/./a/../x/', '/srv/x'],
  ['echo:url', 'HTTP://GOOD.com:80/a/../b', 'http://good.com/b'],
  ['echo:uuid', UUID.toUpperCase(), UUID],
  ['echo:decimal', ' 1_0e2', '1000'],
  ['echo:date', '1767312000', '2026-01-02'],
  ['echo:time', '2026-01-02T04:04:05.50+01:00', '2026-01-02T03:04:05.5Z'],
  ['echo:time', '2026-01-02 03:04', '2026-01-02T03:04:00'],
  ['echo:either', `./${UUID}`, UUID],
  ['echo:either', UUID.toUpperCase(), UUID.toUpperCase()],
  ['echo:text', ' A ', ' A '],
])('%s: the handler of %j gets %j', async (name, text, got) => {
  expect((await call(name, text)).body).toMatchObject({ resultType: 'success', textResultForLlm: got })
})

test.each([
  ['echo:url', 'good.com', 'https://example.com/'],
  ['echo:uuid', 'a0eebc99', '123e4567-e89b-42d3-a456-426614174000'],
  ['echo:decimal', 'ten', '12.5'],
  ['echo:decimal', '1e1000000', '12.5'],
  ['echo:date', 'tomorrow', '2026-01-02'],
  ['echo:date', '2026-02-30', '2026-01-02'],
  ['echo:time', 'now', '2026-01-02T03:04:05Z'],
])('%s: %s has no canonical form, and the refusal has an example', async (name, text, example) => {
  const { status, code, body } = await call(name, text)
  expect([status, code]).toEqual([400, 'ARGUMENTS_INVALID'])
  expect(body['textResultForLlm']).toMatch(new RegExp(`'text' must be .*such as ${example}\\.$`))
  expect(body['textResultForLlm']).not.toContain(text)
})

const dispatched = () =>
  ask('ann', 'POST /tools/dispatch', {
    body: [{ type: 'tool_use', id: 'a', name: 'at__client', input: { day: 'soon' } }],
  })

test('where the service does not run the tool, a text without a canonical form is left alone, and no rule allows it', async () => {
  expect((await dispatched()).body['pending']).toMatchObject([{ kind: 'client', arguments: { day: 'soon' } }])
  await put([{ effect: 'allow', tool: 'at:client', args: { day: '*' } }], { default: 'deny' })
  expect((await dispatched()).body['results']).toMatchObject([{ result: { code: 'PERMISSION_DENIED' } }])
})

test('one key and two spellings of the same value are one call', async () => {
  const key = { 'Idempotency-Key': 'two spellings' }
  expect((await call('echo:path', '//srv/x', {}, key)).headers.get('Idempotent-Replay')).toBeNull()
  const again = await call('echo:path', '/srv/./x', {}, key)
  expect([again.status, again.headers.get('Idempotent-Replay')]).toEqual([200, 'true'])
  expect((await call('echo:path', '/srv/y', {}, key)).code).toBe('IDEMPOTENCY_CONFLICT')
})

test('an approval is for the value, however the call and its repetition spell it', async () => {
  await put([{ effect: 'ask', tool: 'echo:*', args: { text: '/srv/**' } }])
  const asked = await call('echo:path', '//srv/a')
  const { approval } = asked.body['meta'] as { approval: { id: string } }
  expect((await call('echo:path', '/srv/./a')).body['meta']).toMatchObject({ approval })
  expect((await ask('ann', `GET /approvals/${approval.id}`)).body['arguments']).toEqual({ text: '/srv/a' })
  await ask('ann', `POST /approvals/${approval.id}`, { body: { decision: 'once' } })
  expect((await call('echo:path', '/srv/b', { approval: approval.id })).code).toBe('APPROVAL_CONFLICT')
  const ran = await call('echo:path', '/x/../srv/a', { approval: approval.id })
  expect(ran.body).toMatchObject({ textResultForLlm: '/srv/a' })
})

test('edited arguments are decided about, shown and run in their canonical form', async () => {
  await put([
    { effect: 'ask', tool: 'echo:path' },
    { effect: 'deny', tool: 'echo:path', args: { text: '/etc/**' } },
  ])
  const { approval } = (await call('echo:path', '/srv/a')).body['meta'] as { approval: { id: string } }
  const decide = (text: string) =>
    ask('ann', `POST /approvals/${approval.id}`, { body: { decision: 'once', arguments: { text } } })
  expect((await decide('//etc/x')).code).toBe('PERMISSION_DENIED')
  expect((await decide('//srv/./b')).status).toBe(200)
  expect((await ask('ann', `GET /approvals/${approval.id}`)).body['editedArguments']).toEqual({
    text: '/srv/b',
  })
  const ran = await call('echo:path', '/srv//a', { approval: approval.id })
  expect(ran.body).toMatchObject({ textResultForLlm: '/srv/b' })
})

test('a record has the value that was used', async () => {
  await call('echo:decimal', '4_2e0')
  const { body } = await ask('ann', 'GET /audit?tool=echo:decimal&limit=1')
  expect(JSON.stringify(body['records'])).toContain('"arguments":{"text":"42"}')
})

test('a dry run decides about the value that would be used', async () => {
  await put([{ effect: 'deny', tool: 'echo:path', args: { text: '/etc/**' } }])
  const body = { name: 'echo:path', arguments: { text: '//etc/x' } }
  expect((await ask('ann', 'POST /tools/invoke?dryRun=1', { body })).code).toBe('PERMISSION_DENIED')
  expect((await ask('ann', 'POST /permissions/simulate', { body })).body).toMatchObject({ effect: 'deny' })
})

test('a denial because an argument is missing says so', async () => {
  await put([{ effect: 'deny', tool: 'echo:path', args: { text: '/etc/**' } }])
  const { body } = await ask('ann', 'POST /tools/invoke', { body: { name: 'echo:path', arguments: {} } })
  expect(body['textResultForLlm']).toMatch(
    /'text', which it names, is missing, and a missing argument matches every deny\.$/,
  )
  expect((await call('echo:path', '/etc/x')).body['textResultForLlm']).toMatch(/says deny\.$/)
})

test('the answer to a write says how each argument of each tool is read that its rules meet', async () => {
  const { status, body } = await put([
    { effect: 'deny', tool: 'echo:*', args: { text: 'x' } },
    { effect: 'deny', tool: 'at:client' },
  ])
  expect(status).toBe(201)
  const kinds = ['path', 'path', 'url', 'uuid', 'decimal', 'date', 'date-time', 'path', 'text', 'text']
  expect(body['meets']).toEqual([
    { tool: 'at:client', args: { day: 'date' } },
    ...TOOLS.slice(0, -1)
      .map(({ function: { name } }, at) => ({
        tool: name,
        args: { text: kinds[at] },
        ...(name === 'echo:either' && { also: { text: ['uuid'] } }),
      }))
      .toSorted((a, b) => (a.tool < b.tool ? -1 : 1)),
  ])
  expect(body['more']).toBeUndefined()
})

test('globs are stored in normal form where all tools of the rule read the argument alike', async () => {
  const rules = [
    { effect: 'deny', tool: 'echo:path', args: { text: '/etc//./**' } },
    { effect: 'allow', tool: 'echo:url', args: { text: 'HTTP://GOOD.com' } },
    { effect: 'deny', tool: 'echo:uuid', args: { text: `${UUID.slice(0, 8).toUpperCase()}*` } },
    { effect: 'deny', tool: 'echo:decimal', args: { text: '1e3' } },
    { effect: 'deny', tool: 'echo:text', args: { text: '/etc//**' } },
    { effect: 'deny', tool: 'echo:*', args: { text: '/etc//**' } },
    { effect: 'deny', tool: 'later:*', args: { path: 'a//b', text: 'a//b' }, future: true },
  ]
  const { body } = await put(rules)
  const stored = [
    { text: '/etc/**' },
    { text: 'http://good.com/' },
    { text: 'a0eebc99*' },
    { text: '1000' },
    { text: '/etc//**' },
    { text: '/etc//**' },
    { path: 'a/b', text: 'a//b' },
  ].map((args, at) => ({ ...rules[at], args }))
  expect(body['rules']).toEqual(stored)
  expect((await ask('ann', 'GET /rules/user/ann')).body['rules']).toEqual(stored)
  expect(await put(stored)).toMatchObject({ status: 200, body: { outcome: 'unchanged' } })
})

test.each([
  ['echo:path', './**', 'a path'],
  ['echo:path', 'a*/../b', 'a path'],
  ['echo:path', '/etc/*/', 'a path'],
  ['echo:referenced', '/**/./../x*/..', 'a path'],
  ['echo:url', 'evil.com', 'a URL'],
  ['echo:uuid', 'zz*', 'a UUID'],
  ['echo:decimal', '1e*', 'a decimal number'],
  ['echo:date', 'tomorrow', 'a date'],
  ['echo:date', '2026-13-*', 'a date'],
  ['echo:time', '2026-01-02 *', 'a date with a time'],
])(
  'a rule about %s with the glob %s can never match, and is refused with the reason',
  async (tool, text, kind) => {
    const refused = await put([{ effect: 'deny', tool, args: { text } }])
    expect([refused.status, refused.code]).toEqual([422, 'RULE_INVALID'])
    const { error } = refused.body as { error: { details: readonly object[] } }
    expect(error.details).toEqual([
      {
        reason: 'RULE_INVALID',
        pointer: '/rules/0/args/text',
        message: expect.stringMatching(new RegExp(`^can never match ${kind}: rules compare `)),
      },
    ])
  },
)

test('a glob that can match in one of the tools, or in one of the ways, is kept', async () => {
  for (const rule of [
    { effect: 'deny', tool: 'echo:*', args: { text: 'tomorrow' } },
    { effect: 'deny', tool: 'echo:either', args: { text: '/etc/**' } },
    { effect: 'allow', tool: 'echo:either', args: { text: '*' } },
  ])
    expect((await put([rule])).status).toBe(rule.effect === 'deny' && rule.tool === 'echo:*' ? 201 : 200)
})

test('a rule for the future whose argument is a path by its name is checked as one', async () => {
  const refused = await put([{ effect: 'deny', tool: 'later:*', args: { src: './**' }, future: true }])
  expect(refused.code).toBe('RULE_INVALID')
})

test('rules that were stored before their globs had a normal form are read, and a denial of them holds', async () => {
  const set = {
    default: 'allow' as const,
    rules: [
      { effect: 'deny' as const, tool: 'echo:path', args: { text: '/etc//**' } },
      { effect: 'deny' as const, tool: 'echo:url', args: { text: 'HTTP://EVIL.com/*' } },
      { effect: 'deny' as const, tool: 'echo:date', args: { text: 'never' } },
    ],
  }
  const kept = { set, digest: ruleSetDigest(set), updatedAt: '2026-01-01T00:00:00.000Z', updatedBy: 'bob' }
  const text = ruleSetsText(new Map([['user/bob', kept]]))
  await featureStores(governance, Date.now).rules.change({ kind: 'user', uid: 'bob' }, () => ({
    text,
    result: undefined,
  }))
  expect((await ask('bob', 'GET /rules/user/bob')).body['rules']).toEqual(set.rules)
  const bobs = (name: string, value: string) =>
    ask('bob', 'POST /tools/invoke', { body: { name, arguments: { text: value } } })
  expect((await bobs('echo:path', '/etc/x')).code).toBe('PERMISSION_DENIED')
  expect((await bobs('echo:url', 'http://evil.com/x')).code).toBe('PERMISSION_DENIED')
  expect((await bobs('echo:url', 'http://good.com/x')).status).toBe(200)
  expect((await bobs('echo:date', '2026-01-02')).status).toBe(200)
})
