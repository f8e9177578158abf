import { beforeEach, expect, test } from '@jest/globals'
import type { JsonObject, JsonValue, ToolDefinition } from '@toolrack/contract'
import type { RunnerCall } from '../../../../functions/src/catalog/definitions/runner.ts'
import type { RunnerOutcome } from '../../../../functions/src/catalog/definitions/runner.ts'
import type { CatalogEntry } from '../../../../functions/src/catalog/views/catalog-entry.ts'
import { secretsFor } from '../../../../functions/src/features/secrets/load-secrets.ts'
import { askingModule, askingRunner } from '../../../support/asking-runner.ts'
import { memoryAudit } from '../../../support/memory-audit.ts'
import { routeService } from '../../../support/route-service.ts'

const OWN = 'the secret of ann'
const GLOBAL = 'the secret of all'

function python(
  name: string,
  secrets: readonly string[],
  additionalProperties: JsonValue = true,
): ToolDefinition {
  return {
    type: 'function',
    function: {
      name,
      description: 'Uses secrets.',
      parameters: { type: 'object', properties: { text: {} }, additionalProperties },
    },
    runner: { kind: 'python', module: 'shop', sha256: 'a'.repeat(64), secrets },
  } as unknown as ToolDefinition
}

const TOOLS = [
  python('shop:global', ['GLOBAL_KEY'], false),
  python('shop:texts', ['GLOBAL_KEY'], { type: 'string' }),
  python('shop:caller', ['caller:OWN_KEY']),
  python('shop:both', ['GLOBAL_KEY', 'caller:OWN_KEY']),
  python('shop:plain', []),
]

const calls: RunnerCall[] = []
let outcome: object = { text: 'done' }
const usage = { cpuMs: 1, wallMs: 1, maxRssBytes: 1 }

const ask = await routeService(TOOLS, {
  audit: memoryAudit(),
  runner: {
    ...askingRunner(),
    invoke(call) {
      calls.push(call)
      const log = { text: '', truncated: false }
      return Promise.resolve({ isolation: 'L2', usage, log, ...outcome } as unknown as RunnerOutcome)
    },
  },
})

const invoke = (name: string, args: JsonObject = {}, query = '', headers = {}) =>
  ask('ann', `POST /tools/invoke${query}`, { body: { name, arguments: args }, headers })

beforeEach(async () => {
  calls.length = 0
  outcome = { text: 'done' }
  await ask('ann', 'PUT /secrets/OWN_KEY', { body: { value: OWN } })
  await ask('admin', 'PUT /secrets/GLOBAL_KEY?layer=global', { body: { value: GLOBAL } })
  await ask('ann', 'DELETE /secrets/consents/file/shop')
})

/** Consents as the message of the refused call says. */
async function consent(tool: string): Promise<void> {
  const { body } = await invoke(tool)
  const [, path = '', digest = ''] =
    /PUT \/workflows(\/secrets\/consents\/\S+) \{"digest": "(\S+)"\}/.exec(String(body['error'])) ?? []
  expect((await ask('ann', `PUT ${path}`, { body: { digest } })).status).toBe(204)
}

test('a call gets exactly the secrets that its spec names', async () => {
  await invoke('shop:global')
  await invoke('shop:plain')
  await consent('shop:both')
  await invoke('shop:both')
  expect(calls.map(({ context }) => context.secrets)).toEqual([
    { GLOBAL_KEY: GLOBAL },
    undefined,
    { GLOBAL_KEY: GLOBAL, OWN_KEY: OWN },
  ])
})

test("the caller's own secret needs the caller's consent to exactly these grants, which can be taken back", async () => {
  const refused = await invoke('shop:caller')
  expect(refused).toMatchObject({ status: 403, code: 'GRANTS_PENDING' })
  expect(refused.body['error']).toMatch(
    /^shop:caller of the file module shop asks for your own secret OWN_KEY, and you have not consented; nothing was run\. To consent: npm run secrets -- consent file shop sha256:[0-9a-f]{64}, or PUT \/workflows\/secrets\/consents\/file\/shop /,
  )
  expect(refused.body).toMatchObject({
    textResultForLlm: expect.stringMatching(/nothing was run\. Only a person can accept this\. /),
    meta: {
      consent: {
        of: 'caller',
        module: 'shop',
        layer: 'file',
        grantsDigest: expect.stringMatching(/^sha256:/),
      },
    },
  })
  await consent('shop:both')
  expect((await invoke('shop:caller')).code).toBe('GRANTS_PENDING')
  await consent('shop:caller')
  expect((await invoke('shop:caller')).status).toBe(200)
  expect((await invoke('shop:both')).status).toBe(200)
  await ask('ann', 'DELETE /secrets/consents/file/shop')
  expect((await invoke('shop:caller')).code).toBe('GRANTS_PENDING')
  expect(calls).toHaveLength(2)
})

test("a consent ends with the module: another one of the same name and grants does not get the caller's secret", async () => {
  const module = '/tools/modules/quotes'
  const upload = async (more: string): Promise<void> => {
    const body = askingModule('quotes', ['secrets caller:OWN_KEY']) + more
    const { grantsDigest } = (await ask('admin', `PUT ${module}?layer=global`, { body })).body
    await ask('admin', `POST ${module}/grants?layer=global`, { body: { digest: grantsDigest } })
  }
  await upload('')
  await consent('quotes:it')
  for (const change of [() => upload(''), () => upload('# another version')]) {
    await change()
    expect((await invoke('quotes:it')).status).toBe(200)
  }
  await ask('admin', `DELETE ${module}?layer=global`)
  await upload('')
  expect(await invoke('quotes:it')).toMatchObject({
    code: 'GRANTS_PENDING',
    body: { meta: { consent: { of: 'caller' } } },
  })
  expect(calls).toHaveLength(2)
  await consent('quotes:it')
  expect((await invoke('quotes:it')).status).toBe(200)
})

test('a missing secret is named with its owner, also in a dry run, and nothing is run', async () => {
  await ask('admin', 'DELETE /secrets/GLOBAL_KEY?layer=global')
  for (const query of ['', '?dryRun=1']) {
    const { status, code, body } = await invoke('shop:global', {}, query)
    expect([status, code]).toEqual([422, 'SECRET_MISSING'])
    expect(body['error']).toBe(
      'shop:global needs the global secret GLOBAL_KEY, which no admin has stored; nothing was run. An admin stores it: npm run secrets -- set GLOBAL_KEY --layer global, or PUT /workflows/secrets/GLOBAL_KEY?layer=global {"value": "…"} with a token that may approve.',
    )
  }
  expect(calls).toEqual([])
})

test('secrets of one call are together at most as long as a call may get', async () => {
  await consent('shop:both')
  await ask('ann', 'PUT /secrets/OWN_KEY', { body: { value: 'x'.repeat(64 * 1024) } })
  expect(await invoke('shop:both')).toMatchObject({ code: 'SECRET_MISSING' })
  const { body } = await invoke('shop:both', { text: `about ${GLOBAL}` })
  expect(body['error']).toMatch(/have 65553 bytes together/)
  // The secrets were not read, so the record shows no argument.
  const audit = JSON.stringify((await ask('admin', 'GET /audit')).body)
  expect(audit).toContain('"arguments":{"[redacted]":"[redacted]"}')
  expect(audit).not.toContain(`about ${GLOBAL}`)
})

test('secrets that are too long together are not opened', async () => {
  const opened: string[] = []
  const load = secretsFor({
    store: {
      sealed: (_owner, names) => {
        const secrets = names.map((name) => ({
          bytes: 40_000,
          open() {
            opened.push(name)
            return { value: 'x'.repeat(40_000) }
          },
        }))
        return Promise.resolve({ secrets, hasConsent: true })
      },
    },
  })
  const howRun = { by: 'python', module: 'shop', secrets: ['ONE', 'TWO'] }
  const entry = { name: 'shop:two', layer: 'user', grants: [], howRun } as unknown as CatalogEntry
  const { refusal } = (await load({ uid: 'ann' }, entry)) ?? {}
  expect(refusal?.message).toMatch(/have 80000 bytes together/)
  expect(opened).toEqual([])
})

test('the message about wrong arguments has no secret', async () => {
  const { code, body } = await invoke('shop:global', { [GLOBAL]: 1 })
  expect([code, body['error']]).toEqual(['ARGUMENTS_INVALID', expect.stringContaining('[redacted]')])
  expect(body['error']).not.toContain(GLOBAL)
})

test('the message about wrong edited arguments has no secret, and an edit is refused if a secret is missing', async () => {
  await ask('bob', 'PUT /rules/user/bob', { body: { rules: [{ effect: 'ask', tool: 'shop:texts' }] } })
  const body = { name: 'shop:texts', arguments: { [GLOBAL]: 'a' } }
  const waiting = await ask('bob', 'POST /tools/invoke', { body })
  const { approval } = waiting.body['meta'] as { readonly approval: { readonly id: string } }
  const path = `/approvals/${approval.id}`
  expect((await ask('bob', `GET ${path}`)).body['arguments']).toEqual({ '[redacted]': 'a' })
  const edit = (args: JsonObject) =>
    ask('bob', `POST ${path}`, { body: { decision: 'once', arguments: args } })
  const refused = await edit({ '[redacted]': 1 })
  expect(refused).toMatchObject({ status: 400, code: 'ARGUMENTS_INVALID' })
  expect(JSON.stringify(refused.body)).toContain('[redacted]')
  expect(JSON.stringify(refused.body)).not.toContain(GLOBAL)
  await ask('admin', 'DELETE /secrets/GLOBAL_KEY?layer=global')
  expect((await edit({ text: 'b' })).code).toBe('SECRET_MISSING')
  expect((await ask('bob', `GET ${path}`)).body).toMatchObject({ status: 'pending' })
})

test.each<[string, object]>([
  ['where the runner has shortened it', { code: 'TOOL_RAISED', error: `E: ${GLOBAL.slice(0, 9)}…` }],
  [
    'where a killed tool has stopped',
    { code: 'TOOL_CRASHED', error: 'late', log: { text: `so ${GLOBAL.slice(0, 9)}`, truncated: false } },
  ],
  ['where a log was cut', { text: 'done', log: { text: `so ${GLOBAL.slice(0, 9)}`, truncated: true } }],
])('the beginning of a secret is not shown %s', async (_what, given) => {
  outcome = given
  const { body } = await invoke('shop:global')
  const { invocationId } = body['meta'] as { readonly invocationId: string }
  const log = await ask('ann', `GET /tools/invocations/${invocationId}/log`)
  const said = JSON.stringify([body, log.body])
  expect(said).toContain('[redacted]')
  expect(said).not.toContain(GLOBAL.slice(0, 9))
})

test.each<[string, object]>([
  ['a text', { text: `it is ${GLOBAL}` }],
  ['JSON', { json: JSON.stringify({ a: [GLOBAL], [GLOBAL]: 1 }) }],
  ['an error', { code: 'TOOL_RAISED', error: `ValueError: ${GLOBAL}` }],
  ['a log', { text: 'done', log: { text: `said ${GLOBAL}\n`, truncated: false } }],
])(
  'a secret is removed from %s, from the records, and from the result of an Idempotency-Key',
  async (what, given) => {
    outcome = given
    const headers = { 'Idempotency-Key': `key of ${what}` }
    const answers = [
      await invoke('shop:global', { text: GLOBAL }, '', headers),
      await invoke('shop:global', { text: GLOBAL }, '', headers),
    ]
    expect(calls).toHaveLength(1)
    const meta = answers[0]?.body['meta'] as { readonly invocationId: string }
    const records = [
      await ask('ann', `GET /tools/invocations/${meta.invocationId}`),
      await ask('ann', `GET /tools/invocations/${meta.invocationId}/log`),
      await ask('admin', 'GET /audit'),
    ]
    const said = JSON.stringify([...answers, ...records].map(({ body }) => body))
    expect(said).toContain('[redacted]')
    expect(said).not.toContain(GLOBAL)
  },
)
