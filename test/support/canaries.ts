import { expect } from '@jest/globals'
import type { InvocationResult, JsonObject } from '@toolrack/contract'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { allEvents } from './call-events.ts'
import { upload } from './modules.ts'
import { until } from './until.ts'

/** Every canary has this word, and nothing else has it. */
const WORD = 'qzCnry'
/** Stands in the source of a module, which is kept, so a search that works finds it. */
export const FINDABLE = 'kiwi-must-be-found'

const JWT = `eyJhbGciOiJub25lIn0.${WORD}cGF5bG9hZA.${WORD}c2lnbmF0dXJl`
const PEM = `-----BEGIN PRIVATE KEY-----\n${WORD}MIIEvQIBADANBg\n${WORD}kqhkiG9w0BAQ\n-----END PRIVATE KEY-----`

/** Secrets by their name, by what the schema marks, by their shape, nested, and inside of texts. */
const ARGUMENTS = {
  password: `${WORD} plain words`,
  note: `the ${WORD} door`,
  more: {
    api_key: `${WORD}-named`,
    credentials: { user: `${WORD} user`, list: [`${WORD} in a list`, 471_100_815] },
    shapes: [
      `sk-${WORD}0123456789abcdef`,
      `ghp_${WORD}0123456789abcdef`,
      `AKIA${WORD.toUpperCase()}0123456789`,
      `xoxb-${WORD}-0123456789`,
      JWT,
      PEM,
    ],
    url: `https://me:${WORD}pw@h.example/a?token=${WORD}query&b=1`,
    headers: [['Authorization', `Bearer ${WORD}0123456789`]],
    cookies: { name: 'Cookie', value: `a=${WORD}` },
    said: `curl -H 'Authorization: Bearer ${WORD}abcdefgh' --password=${WORD}cli`,
    body: JSON.stringify({ a: [{ client_secret: `${WORD} in JSON` }] }),
    deep: JSON.stringify({ body: JSON.stringify({ token: `${WORD} in JSON in JSON` }) }),
    yaml: `db:\n  password: |\n    ${WORD} first line\n    ${WORD} second line\n  tokens:\n  - ${WORD} in YAML\n`,
    encoded: `https://h.example/?pass%77ord=${WORD}encoded&b=1`,
    command: `curl -u me:${WORD}option https://h.example`,
    quoted: `password="${WORD} begins\n${WORD} ends"`,
    [`ghp_${WORD}asakey0123456789`]: 'its value',
  },
} as const satisfies JsonObject

/** Tools that print what they get in several ways, and end in several ways. */
const VAULT = `
# ${FINDABLE}
import base64
import json
import os
import sys
import time
import urllib.parse

PARAMETERS = {
    "type": "object",
    "properties": {
        "password": {"type": "string"},
        "note": {"type": "string", "x-sensitive": True},
        "more": {"type": "object"},
    },
    "required": ["password"],
}


def tell(password, note, more):
    print("got", password, "and", note)
    print(json.dumps(more))
    print(json.dumps(more, indent=2), file=sys.stderr)
    print(more)
    for shape in more.get("shapes", []):
        print(shape)
    print("url", more.get("url"), "said", more.get("said"))
    print(base64.b64encode(password.encode()).decode(), urllib.parse.quote(note))
    for part in (password[:5], password[5:9], password[9:] + "\\n", "password:\\n", "  " + note + "\\n"):
        sys.stdout.write(part)
        sys.stdout.flush()
        time.sleep(0.03)


def show(password, note="", more=None, context=None):
    "Prints what it gets, and gives it back."
    tell(password, note, more or {})
    context.progress(0.5, "with " + password)
    yield {"password": password, "note": note}
    yield "token=" + password


def fail(password, note="", more=None):
    "Prints what it gets, and raises it."
    tell(password, note, more or {})
    raise ValueError("cannot log in with " + password)


def crash(password, note="", more=None):
    "Prints what it gets, and ends its process."
    tell(password, note, more or {})
    os.abort()


def late(password, note="", more=None):
    "Prints what it gets, and does not end."
    tell(password, note, more or {})
    time.sleep(1000)


def asked(password, note="", more=None):
    "Gives back what it gets, if somebody approves."
    return {"password": password, "note": note, "more": more}


TOOL_SPECS = [
    {"name": "vault:" + handler.__name__, "handler": handler, "parameters": PARAMETERS, "timeoutSeconds": 2}
    for handler in (show, fail, crash, late, asked)
]
`

/** The operator's rules for the scenario. */
export const CANARY_RULES = { rules: [{ effect: 'ask', tool: 'vault:asked' }] }

export type CanaryService = {
  /** As a user who may decide. */
  readonly fetch: (path: string, init?: RequestInit) => Promise<Response>
  /** True if the service has a key that seals what it keeps. */
  readonly isSealed: boolean
}

/** A webhook that keeps what it is told. */
export async function canaryWebhook() {
  const told: string[] = []
  const server = createServer((req, res) => {
    void text(req).then((body) => told.push(JSON.stringify(req.headers) + body))
    res.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    told,
    env: {
      TOOLRACK_APPROVALS_WEBHOOK: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
      TOOLRACK_APPROVALS_WEBHOOK_SECRET: 'x'.repeat(16),
    },
    close: () => {
      server.close().closeAllConnections()
    },
  }
}

/** The code of an error, `success`, or the body. */
async function codeOf(answer: Response | Promise<Response>): Promise<string> {
  const body = await (await answer).text()
  return /"(?:reason|code)":"([A-Z_]+)"/.exec(body)?.[1] ?? (body.includes('"success"') ? 'success' : body)
}

/** Sends canaries in every way, and returns what the service says of it afterwards. */
export async function sendCanaries({ fetch: send, isSealed }: CanaryService): Promise<string> {
  const post = (path: string, body: unknown, headers: object = {}) =>
    send(`/workflows${path}`, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: { ...headers },
    })
  const call = (name: string, args: JsonObject = ARGUMENTS, headers: object = {}, more: object = {}) =>
    post('/tools/invoke', { name, arguments: args, context: { token: `${WORD}ctx` }, ...more }, headers)

  // The first transaction of an emulator takes seconds on a busy machine, more than the store waits.
  const uploaded = await until(
    () => upload({ fetch: send }, 'vault', VAULT),
    ({ status }) => status !== 503,
  )
  expect([200, 201]).toContain(uploaded.status)
  const key = {
    'Idempotency-Key': `token=${WORD}key`,
    traceparent: `junk-${WORD}`,
    'X-Api-Key': `${WORD}header`,
  }
  expect(await codeOf(call('vault:show', ARGUMENTS, key))).toBe('success')
  const again = await call('vault:show', ARGUMENTS, key)
  expect(await codeOf(again)).toBe(isSealed ? 'success' : 'UNKNOWN_OUTCOME')
  expect(await codeOf(call('vault:fail', ARGUMENTS, { 'Idempotency-Key': `${WORD}failed` }))).toBe(
    'TOOL_RAISED',
  )
  expect(await codeOf(call('vault:crash'))).toBe('TOOL_CRASHED')
  expect(await codeOf(call('vault:late'))).toBe('DEADLINE_EXCEEDED')
  await streamCanaries((name) => call(name, ARGUMENTS, { Accept: 'text/event-stream' }))

  // What is refused, before and after its body is read.
  const named = `ghp_${WORD}0123456789`
  expect(await codeOf(call(named))).toBe('TOOL_NOT_FOUND')
  expect(await codeOf(call('vault:show', { ...ARGUMENTS, password: { token: WORD } }))).toBe(
    'ARGUMENTS_INVALID',
  )
  expect(await codeOf(post('/tools/invoke', `{"name":"vault:show","arguments":{"password":"${WORD}"`))).toBe(
    'BODY_INVALID',
  )
  expect(await codeOf(post(`/tools/invoke?token=${WORD}`, {}))).toMatch(/PARAMETER_UNKNOWN/)
  expect(await codeOf(send(`/workflows/tools/list?api_key=${WORD}&token=${named}`))).toBe('PARAMETER_UNKNOWN')
  expect(await codeOf(send(`/workflows/${named}?password=${WORD}`))).toBe('ROUTE_NOT_FOUND')
  const stranger = { headers: { Authorization: `Bearer ${WORD}0123456789abcdefghijkl` } }
  expect(await codeOf(send('/workflows/tools/list', stranger))).toBe('TOKEN_INVALID')
  expect((await post('/tools/invoke?dryRun=1', { name: 'vault:show', arguments: ARGUMENTS })).status).toBe(
    200,
  )
  expect(
    (
      await post(
        '/tools/dispatch',
        [{ type: 'tool_use', id: `${WORD}id`, name: 'vault:fail', input: ARGUMENTS }],
        key,
      )
    ).status,
  ).toBe(200)
  const definition = { type: 'function', function: { name: named, password: WORD } }
  const put = { method: 'PUT', body: JSON.stringify(definition) }
  expect((await send(`/workflows/tools/defs/${named}`, put)).status).toBeGreaterThanOrEqual(400)
  const modules = [
    `KEY = "sk-${WORD}0123456789"\ndef broken(:\n`,
    `password = "${WORD} plain"\nraise RuntimeError(password)\n`,
  ]
  for (const source of modules) expect((await upload({ fetch: send }, 'refused', source)).status).toBe(422)
  await approveCanaries({ post, call, send, isSealed })
  return readBack(send)
}

/** What a caller hears while the call runs has none of the caller's secrets; what the tool gives has them. */
async function streamCanaries(call: (name: string) => Promise<Response>): Promise<void> {
  for (const name of ['vault:show', 'vault:fail', 'vault:late']) {
    const events = await allEvents(await call(name))
    const told = events.filter(({ type }) => type === 'log' || type === 'progress')
    expect(canariesIn(JSON.stringify(told))).toEqual([])
    expect(told.map(({ text: said }) => said).join('')).toContain('got [redacted] and [redacted]\n')
    if (name === 'vault:show') expect(canariesIn(JSON.stringify(events))).not.toEqual([])
  }
}

type Approving = {
  readonly post: (path: string, body: unknown) => Promise<Response>
  readonly call: (name: string, args?: JsonObject, headers?: object, more?: object) => Promise<Response>
  readonly send: CanaryService['fetch']
  readonly isSealed: boolean
}

/** An approval that is edited, one that is used as it is, one that is denied, and one that stays pending. */
async function approveCanaries({ post, call, send, isSealed }: Approving): Promise<void> {
  const ask = async (said: string): Promise<{ id: string; args: JsonObject }> => {
    const args = { ...ARGUMENTS, password: `${WORD} ${said}` }
    const result = (await (await call('vault:asked', args)).json()) as InvocationResult
    return { id: result.meta.approval?.id ?? '', args }
  }
  const ran = async ({ id, args }: { id: string; args: JsonObject }): Promise<unknown> => {
    const answer = await call('vault:asked', args, {}, { approval: id })
    return ((await answer.json()) as { data?: unknown }).data
  }
  const edited = await ask('edited')
  const read = (await (await send(`/workflows/approvals/${edited.id}`)).json()) as { arguments: JsonObject }
  expect(canariesIn(JSON.stringify(read))).toEqual([])
  const withNote = { ...read.arguments, note: `another ${WORD} note` }
  const decided = await post(`/approvals/${edited.id}`, { decision: 'once', arguments: withNote })
  expect(decided.status).toBe(isSealed ? 200 : 422)
  if (isSealed) expect(await ran(edited)).toEqual({ ...edited.args, note: withNote.note })
  else await send(`/workflows/approvals/${edited.id}`, { method: 'DELETE' })
  const asItIs = await ask('as it is')
  expect((await post(`/approvals/${asItIs.id}`, { decision: 'once' })).status).toBe(200)
  expect(await ran(asItIs)).toEqual(asItIs.args)
  const denied = await ask('denied')
  expect((await post(`/approvals/${denied.id}`, { decision: 'deny' })).status).toBe(200)
  await ask('pending')
  const removed = { ...read.arguments, more: { shapes: ['[redacted]'] } }
  const refused = await post(`/approvals/${(await ask('refused')).id}`, {
    decision: 'once',
    arguments: removed,
  })
  expect(refused.status).toBe(422)
}

/** The approvals, the records and the logs of the user, as one text. */
async function readBack(send: CanaryService['fetch']): Promise<string> {
  const read = async (path: string, headers: object = {}): Promise<string> =>
    (await send(`/workflows${path}`, { headers: { ...headers } })).text()
  const invocations = await until(
    () => read('/tools/invocations?limit=100'),
    (body) => body.includes('"TOOL_CRASHED"') && body.includes('"DEADLINE_EXCEEDED"'),
  )
  const ids = [...invocations.matchAll(/"invocationId":"([0-9a-f-]{36})"/g)].map(([, id]) => id)
  const logs = await Promise.all(
    ids.flatMap((id) => ['', '/log'].map((end) => read(`/tools/invocations/${id}${end}`))),
  )
  const approvals = await read('/approvals')
  const approvalIds = [...approvals.matchAll(/"id":"([0-9a-f-]{36})"/g)].map(([, id]) => id)
  const each = await Promise.all(approvalIds.map((id) => read(`/approvals/${id}`)))
  const audit = await until(
    () => read('/audit?limit=1000'),
    (body) => body.includes('vault:crash'),
  )
  const parts = [invocations, ...logs, approvals, ...each, audit]
  // The search is proven by texts that must be there.
  expect(parts.join('\n')).toMatch(/got \[redacted\] and \[redacted\]/)
  expect(audit).toContain('"password":"[redacted]"')
  return [...parts, await read('/audit', { Accept: 'application/x-ndjson' })].join('\n')
}

/** The word as it is, in any case, in base64 at any place, and in hexadecimal digits. */
const SPELLINGS = [
  new RegExp(WORD, 'gi'),
  ...[0, 1, 2].map((offset) => {
    const whole = Buffer.from('x'.repeat(offset) + WORD).toString('base64')
    return new RegExp(
      whole.slice(offset === 0 ? 0 : offset + 1, Math.floor(((offset + WORD.length) * 4) / 3)),
      'g',
    )
  }),
  new RegExp(Buffer.from(WORD).toString('hex'), 'gi'),
]

/** What is found of canaries, with the text around it. */
export function canariesIn(haystack: string): readonly string[] {
  return SPELLINGS.flatMap((pattern) =>
    [...haystack.matchAll(pattern)].map(({ index }) => haystack.slice(Math.max(0, index - 60), index + 60)),
  )
}

/** The bytes of all files below a folder as text, each with its path. */
export function filesBelow(folder: string): string {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => `\n== ${path}\n${readFileSync(path, 'latin1')}`)
    .join('')
}
