import { afterAll, expect } from '@jest/globals'
import type { InvocationResult } from '@toolrack/contract'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { invoke, invoked } from '../support/invocation.ts'
import { sharedServerWithRunner, uploaded } from '../support/modules.ts'
import { withPython } from '../support/runner-environment.ts'
import type { Server } from '../support/server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'
import { WEATHER } from '../support/weather-module.ts'

/** A module with a handler for each type. A handler returns its argument as Python writes it. */
function kindsModule(name: string, types: Readonly<Record<string, string>>): string {
  const handlers = Object.entries(types).map(
    ([tool, type]) => `def ${tool}(value: ${type}):\n    """Says the value."""\n    return repr(value)\n`,
  )
  const specs = Object.keys(types).map((tool) => `{"name": "${name}:${tool}", "handler": ${tool}}`)
  return `${KINDS_HEAD}\n${handlers.join('\n')}\nTOOL_SPECS = [${specs.join(', ')}]\n`
}

const KINDS_HEAD = `
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Optional, Union
from uuid import UUID
from pydantic import AfterValidator, HttpUrl, RootModel, StringConstraints


class Where(RootModel[Path]):
    pass


class Mode(Enum):
    FAST = "fast"

    @classmethod
    def _missing_(cls, value):
        return cls.FAST


def trimmed(text: str) -> str:
    return text.strip()

`

const KINDS = {
  path: 'Optional[Path]',
  root: 'Where',
  url: 'HttpUrl',
  uuid: 'UUID',
  number: 'Decimal',
  day: 'date',
  moment: 'datetime',
  either: 'Union[Path, str]',
  cut: 'Annotated[str, StringConstraints(strip_whitespace=True, to_lower=True)]',
  at: 'time',
  own: 'Annotated[str, AfterValidator(trimmed)]',
  mode: 'Mode',
}

const WORK = `
import time
import uuid
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum


class Class(Enum):
    FIRST = "first"


@dataclass
class Trip:
    on: date
    travel_class: Class = Class.FIRST
    ticket: bytes = b""

    def __post_init__(self):
        if self.on.year < 2000:
            raise ValueError("that is too long ago")


def later(trip: Trip, days: Decimal, by: timedelta = timedelta(0)) -> dict:
    """Moves a trip."""
    moved = trip.on + timedelta(days=int(days)) + by
    return {"on": moved, "is": trip.travel_class is Class.FIRST, "ticket": trip.ticket, "days": {days}}


def figures() -> dict:
    "Gives numbers of every kind."
    return {"id": 2**53 + 1, "mean": 1.0, "10": "ten", "9": -0.0, "value": {"value": [1e-07]}}


def bare() -> int:
    "Gives a large number."
    return 123456789012345678901234567890


def beyond() -> int:
    "Gives a number that is infinite for JavaScript."
    return 10**400


def stamp(text: str = "", seconds: float = 0) -> str:
    """Gives a text that no other run gives."""
    time.sleep(seconds)
    return f"{text} {uuid.uuid4()}"


TOOL_SPECS = [
    {"name": f"work:{handler.__name__}", "handler": handler} for handler in (later, figures, bare, beyond, stamp)
]
`

const outer = temporaryFolder()
afterAll(() => outer[Symbol.dispose]())
const tools = join(outer.path, 'tools')
const rulesFile = join(outer.path, 'rules.json')
mkdirSync(tools)
writeFileSync(
  join(tools, 'folder.py'),
  kindsModule('folder', { own: 'Annotated[str, AfterValidator(trimmed)]', path: 'Path' }),
)
writeFileSync(
  rulesFile,
  JSON.stringify({ rules: [{ effect: 'deny', tool: 'folder:*', args: { value: '/etc/**' } }] }),
)

const start = sharedServerWithRunner({
  env: {
    TOOLRACK_TOOLS_DIR: tools,
    TOOLRACK_RULES_FILE: rulesFile,
    TOOLRACK_RUNNER_NETWORK_ALLOW: '127.0.0.0/8,::1/128',
    TOOLRACK_GRANTS: 'accept',
  },
})
const uploads = new Map<string, Promise<unknown>>()

/** The server with these modules in the user's layer. */
async function serving(...modules: readonly (keyof typeof MODULES)[]): Promise<Server> {
  const server = await start()
  for (const name of modules) {
    const uploading = uploads.get(name) ?? uploaded(server, name, MODULES[name])
    uploads.set(name, uploading)
    await uploading
  }
  return server
}

const MODULES = { weather: WEATHER, work: WORK, kinds: kindsModule('kinds', KINDS) }

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

withPython('a Python tool answers with its text, and with what the call was', async () => {
  const server = await serving('weather')
  const [status, result] = await invoked(server, 'weather:get', { location: 'Bern\ud83d\ude00', days: 2 })
  expect(status).toBe(200)
  expect(result).toEqual({
    resultType: 'success',
    textResultForLlm: 'Bern\u{1F600}: cloudy for 2 day(s)',
    meta: {
      invocationId: expect.stringMatching(UUID),
      tool: 'weather:get',
      digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      revision: expect.any(String),
      isolation: expect.stringMatching(/^L[234]$/),
      executionTimeMs: expect.any(Number),
      resourceUsage: {
        wallMs: expect.any(Number),
        cpuMs: expect.any(Number),
        maxRssBytes: expect.any(Number),
      },
      replayed: false,
      decision: {
        effect: 'allow',
        owner: { kind: 'everybody', id: 'file' },
        rule: null,
        reason: expect.stringMatching(/their default is allow\.$/),
      },
    },
  })
})

withPython(
  'what is not text is data, and its JSON is the text; the context reaches who names it',
  async () => {
    const server = await serving('weather')
    const [, numbers] = await invoked(server, 'weather__numbers', { values: [3, 1] })
    expect(numbers).toMatchObject({
      textResultForLlm: '{"min":1,"max":3,"values":[3,1]}',
      data: { min: 1, max: 3, values: [3, 1] },
    })
    const [, who] = await invoked(server, 'weather:who', {}, { context: { session: 's1' } })
    expect(who).toMatchObject({ data: { context: { user: 'local', caller: { session: 's1' } } } })
  },
)

withPython('numbers that JavaScript can not hold are in the text as the tool has them', async () => {
  const server = await serving('work')
  const [, result] = await invoked(server, 'work:figures')
  expect(result).toMatchObject({
    resultType: 'success',
    textResultForLlm: '{"id":9007199254740993,"mean":1.0,"10":"ten","9":-0.0,"value":{"value":[1e-07]}}',
    data: { id: 9_007_199_254_740_992, mean: 1, 9: -0, 10: 'ten', value: { value: [1e-7] } },
  })
  const [, bare] = await invoked(server, 'work:bare')
  expect(bare).toMatchObject({
    textResultForLlm: '123456789012345678901234567890',
    data: 1.2345678901234568e29,
  })
  const [, beyond] = await invoked(server, 'work:beyond')
  expect(beyond).toMatchObject({ resultType: 'failure', code: 'RESULT_INVALID' })
})

const ENDS: readonly (readonly [string, object, number, string, RegExp])[] = [
  ['weather:broken', { location: 'Bern' }, 200, 'TOOL_RAISED', /line \d+, in broken[\s\S]*no weather there/],
  ['weather:crash', {}, 200, 'TOOL_CRASHED', /signal 6/],
  ['weather:hungry', {}, 200, 'MEMORY_LIMIT', /memory/],
  ['weather:not_a_number', {}, 200, 'RESULT_INVALID', /nan/i],
  [
    'weather:large',
    { characters: 5_000_000 },
    200,
    'RESULT_TOO_LARGE',
    /5000000 bytes, and 4194304 are allowed/,
  ],
  ['weather:late', {}, 504, 'DEADLINE_EXCEEDED', /within 0\.25 s/],
]

withPython('each way in which a Python tool can fail has its status and its code', async () => {
  const server = await serving('weather')
  const calls = ENDS.map(([name, args]) => invoked(server, name, args))
  for (const [index, [name, , httpStatus, code, error]] of ENDS.entries()) {
    const [status, result] = (await calls[index]) ?? []
    expect([name, status, result]).toMatchObject([
      name,
      httpStatus,
      { resultType: 'failure', code, error: expect.stringMatching(error) },
    ])
    expect(result?.textResultForLlm).toBe(result?.resultType === 'failure' && result.error)
  }
})

withPython(
  'the calls of a dispatch are all run, by name or by alias, and answered in their order',
  async () => {
    const server = await serving('weather')
    const places = Array.from({ length: 20 }, (_, index) => `place${index}`)
    const calls = places.map((location, index) => ({
      id: `c${index}`,
      type: 'function',
      function: {
        name: index % 2 === 0 ? 'weather:get' : 'weather__get',
        arguments: JSON.stringify({ location }),
      },
    }))
    const body = JSON.stringify(calls)
    const answer = await server.fetch('/workflows/tools/dispatch', { method: 'POST', body })
    const { messages } = (await answer.json()) as { messages: unknown }
    expect(messages).toEqual(
      places.map((location, index) => ({
        role: 'tool',
        tool_call_id: `c${index}`,
        content: `${location}: cloudy for 1 day(s)`,
      })),
    )
  },
)

withPython(
  'arguments reach a handler with its types, which say what the schema cannot, and its result comes back as JSON',
  async () => {
    const server = await serving('work')
    const given = { trip: { on: '2026-01-02', ticket: '+/8=' }, days: '1', by: 'P1D' }
    expect(await invoked(server, 'work:later', given)).toMatchObject([
      200,
      { resultType: 'success', data: { on: '2026-01-04', is: true, ticket: '+/8=', days: ['1'] } },
    ])
    const [, early] = await invoked(server, 'work:later', { trip: { on: '1999-01-02' }, days: 1 })
    expect(early).toMatchObject({
      code: 'ARGUMENTS_INVALID',
      error: "later() can't use its argument 'trip': that is too long ago.",
    })
    const [, misspelled] = await invoked(server, 'work:later', { trip: { on: '2026-01-02', at: 1 }, days: 1 })
    expect(misspelled).toMatchObject({ code: 'ARGUMENTS_INVALID' })
  },
)

const OWN_RULES = '/workflows/rules/user/local'

/** Runs the test with these rules of the user, and removes them. */
async function withRules(
  server: Server,
  body: object,
  act: (meets: readonly { readonly tool: string; readonly args: object }[]) => Promise<void>,
): Promise<void> {
  const headers = server.approver
  const put = { method: 'PUT', body: JSON.stringify(body), headers }
  const answer = await server.fetch(OWN_RULES, put)
  expect(answer.status).toBe(201)
  try {
    await act(((await answer.json()) as { meets: [] }).meets)
  } finally {
    await server.fetch(OWN_RULES, { method: 'DELETE', headers })
  }
}

const DENIED = [403, { code: 'PERMISSION_DENIED' }]

withPython('the value that a handler gets is the one that a rule decides about, for each type', async () => {
  const server = await serving('kinds')
  const rows = [
    ['path', '/etc/**', ['//etc/x', '/a/../etc/x', '/./etc/x'], '//srv//x', "PosixPath('/srv/x')"],
    ['root', '/etc/**', ['//etc/x'], '/srv/./x', "Where(root=PosixPath('/srv/x'))"],
    ['url', 'http://evil.com/*', ['HTTP://EVIL.com'], 'HTTP://GOOD.com', "HttpUrl('http://good.com/')"],
    [
      'uuid',
      'a0eebc99*',
      ['A0EEBC999C0B4EF8BB6D6BB9BD380A11'],
      `B${'0'.repeat(31)}`,
      `UUID('b0000000-0000-0000-0000-000000000000')`,
    ],
    ['number', '1000', ['1e3', ' 1000', '1_000.0'], '1e1', "Decimal('10')"],
    ['day', '2026-01-02', ['1767312000'], '1767398400', 'datetime.date(2026, 1, 3)'],
    [
      'moment',
      '2026-01-02T03*',
      ['2026-01-02T04:04:05+01:00'],
      '2026-01-02 05:00',
      'datetime.datetime(2026, 1, 2, 5, 0)',
    ],
    ['either', '/etc/**', ['//etc/x', '/etc/./x'], '//srv/x', "PosixPath('//srv/x')"],
    ['cut', 'secret', [' SECRET\n'], ' Open ', "'open'"],
    ['at', '03:04:05', ['03:04', '15:00'], undefined, ''],
  ] as const
  const rules = rows.map(([tool, value]) => ({ effect: 'deny', tool: `kinds:${tool}`, args: { value } }))
  await withRules(server, { rules }, async () => {
    for (const [tool, , denied, sent, got] of rows) {
      for (const spelling of denied)
        expect([spelling, await invoked(server, `kinds:${tool}`, { value: spelling })]).toMatchObject([
          spelling,
          DENIED,
        ])
      if (sent !== undefined)
        expect(await invoked(server, `kinds:${tool}`, { value: sent })).toMatchObject([
          200,
          { textResultForLlm: got },
        ])
    }
  })
})

withPython(
  'an argument that code of the module reads is other: never allowed, and denied by what arrives',
  async () => {
    const server = await serving('kinds')
    const rules = [{ effect: 'allow', tool: 'kinds:*', args: { value: '*' } }]
    await withRules(server, { default: 'deny', rules }, async (meets) => {
      const kinds = Object.fromEntries(meets.map(({ tool, args }) => [tool, Object.values(args)]))
      expect([kinds['kinds:own'], kinds['kinds:mode'], kinds['kinds:at'], kinds['kinds:cut']]).toEqual([
        ['other'],
        ['other'],
        ['other'],
        ['text'],
      ])
      expect(await invoked(server, 'kinds:cut', { value: 'x' })).toMatchObject([200, {}])
      for (const tool of ['kinds:own', 'kinds:mode', 'kinds:at'])
        expect(await invoked(server, tool, { value: 'fast' })).toMatchObject(DENIED)
    })
    const denied = { effect: 'deny', tool: 'kinds:own', args: { value: 'secret' } }
    await withRules(server, { rules: [denied] }, async () => {
      expect(await invoked(server, 'kinds:own', { value: 'secret' })).toMatchObject([403, {}])
      expect(await invoked(server, 'kinds:own', { value: ' secret ' })).toMatchObject([
        200,
        { textResultForLlm: "'secret'" },
      ])
    })
  },
)

withPython(
  "the log names the arguments of the kind other in the operator's rules, also of modules in the folder",
  async () => {
    const server = await start()
    const said = await until(
      () => Promise.resolve(server.log),
      (text) => text.includes('arguments of the kind other'),
    )
    expect(said).toMatch(/rules of TOOLRACK_RULES_FILE name arguments of the kind other.*"folder:own value"/)
    expect(said).not.toContain('folder:path value')
    expect(await invoked(server, 'folder:path', { value: '//etc/x' })).toMatchObject([403, {}])
  },
)

function fetches(network: readonly string[]): string {
  return `
import urllib.request

def fetch(url: str) -> str:
    """Fetches a page."""
    with urllib.request.urlopen(url, timeout=5) as answer:
        return answer.read().decode()

TOOL_SPECS = [{"name": "fetches:fetch", "handler": fetch, "network": ${JSON.stringify(network)}}]
`
}

withPython('a tool reaches the host that its spec names and no rule denies, and no other', async () => {
  const pages = createServer((_, res) => res.end('a page')).listen(0, '127.0.0.1')
  await new Promise((resolve) => pages.once('listening', resolve))
  const { port } = pages.address() as AddressInfo
  const url = `http://localhost:${port}/`
  const server = await start()
  try {
    await uploaded(server, 'fetches', fetches([`localhost:${port}`]))
    const grants = [{ kind: 'network', value: `localhost:${port}` }]
    expect((await invoked(server, 'fetches:fetch', { url }))[1]).toMatchObject({
      textResultForLlm: 'a page',
      meta: { grants },
    })
    const records = await server.fetch('/workflows/audit?tool=fetches:fetch&limit=1')
    expect(await records.json()).toMatchObject({ records: [{ outcome: 'ok', grants }] })
    await withRules(
      server,
      { rules: [{ effect: 'deny', grant: 'network', value: 'LOCALHOST' }] },
      async (meets) => {
        expect(meets.map(({ tool }) => tool)).toContain('fetches:fetch')
        expect(await invoked(server, 'fetches:fetch', { url })).toMatchObject([
          403,
          {
            code: 'PERMISSION_DENIED',
            error: expect.stringContaining(`asks for network localhost:${port}.`),
          },
        ])
      },
    )
    await uploaded(server, 'fetches', fetches(['example.com']))
    const [status, refused] = await invoked(server, 'fetches:fetch', { url })
    expect([status, refused]).toMatchObject([200, { resultType: 'failure', code: 'TOOL_RAISED' }])
    await uploaded(server, 'fetches', fetches([]))
    expect((await invoked(server, 'fetches:fetch', { url }))[1]).toMatchObject({ code: 'TOOL_RAISED' })
  } finally {
    pages.close()
  }
})

withPython(
  'a stored spec with a numeric address, which is refused now, is no failure to try again after',
  async () => {
    const server = await start()
    const source = fetches(['example.com']).replaceAll('fetches:', 'stored:')
    await uploaded(server, 'stored', source)
    using database = new DatabaseSync(join(server.data, 'toolrack.db'))
    const stored = database
      .prepare(`UPDATE definitions SET text = replace(text, '"example.com"', '"10.0.0.1"') WHERE name = ?`)
      .run('stored:fetch')
    expect(stored.changes).toBe(1)
    const [status, answer] = await invoked(server, 'stored:fetch', { url: 'http://10.0.0.1/' })
    expect([status, answer]).toMatchObject([200, { resultType: 'failure', code: 'MODULE_BROKEN' }])
    expect(answer).toMatchObject({
      error: expect.stringMatching(
        /nothing was run: network\[0\] is a numeric address.*upload the module again/,
      ),
    })
  },
)

withPython('what a call has printed is there for its caller, up to a bound', async () => {
  const server = await serving('weather')
  const [, { meta }] = await invoked(server, 'weather:loud', { lines: 2 })
  const answer = await server.fetch(`/workflows/tools/invocations/${meta.invocationId}/log`)
  expect([answer.status, await answer.json()]).toEqual([
    200,
    {
      invocationId: meta.invocationId,
      tool: 'weather:loud',
      at: expect.stringMatching(/^\d{4}-.*Z$/),
      text: 'line 0\nline 1\na complaint\n',
      truncated: false,
    },
  ])
  const [, long] = await invoked(server, 'weather:loud', { lines: 20_000 })
  const cut = await server.fetch(`/workflows/tools/invocations/${long.meta.invocationId}/log`)
  expect(await cut.json()).toMatchObject({ truncated: true })
})

withPython(
  'a dry run never runs the tool of a module, and is found as a dry run beside the call itself',
  async () => {
    const server = await serving('weather')
    const body = JSON.stringify({ name: 'weather:loud', arguments: { lines: 2 } })
    const dry = await server.fetch('/workflows/tools/invoke?dryRun=1', { method: 'POST', body })
    expect([dry.status, await dry.json()]).toMatchObject([200, { decision: 'allow', effects: ['opaque'] }])
    const [, { meta }] = await invoked(server, 'weather:loud', { lines: 2 })
    const page = await server.fetch('/workflows/tools/invocations?tool=weather:loud&limit=2')
    expect(await page.json()).toMatchObject({
      items: [
        {
          invocationId: meta.invocationId,
          dryRun: false,
          hasLog: true,
          usage: { cpuMs: expect.any(Number) },
        },
        { dryRun: true, hasLog: false, outcome: 'success', isolation: null, usage: null },
      ],
    })
  },
)

const LOST_KEY = 'e2e ~ the key of a lost call'

/** Calls `work:stamp` with a key. */
async function keyed(server: Server, key: string, args: object) {
  const headers = { 'Idempotency-Key': key }
  const answer = await invoke(server, { name: 'work:stamp', arguments: args }, { headers })
  return { answer, result: (await answer.json()) as InvocationResult }
}

withPython(
  'the same call with its key gets the first answer, with a header; another call is a 409',
  async () => {
    const server = await serving('work')
    const first = await keyed(server, 'same', { text: 'a' })
    const again = await keyed(server, 'same', { text: 'a' })
    const replays = [first, again].map(({ answer }) => answer.headers.get('Idempotent-Replay'))
    expect([first.answer.status, again.answer.status, ...replays]).toEqual([200, 200, null, 'true'])
    expect(again.result.textResultForLlm).toBe(first.result.textResultForLlm)
    expect(again.result.meta).toMatchObject({ replayed: true, tool: 'work:stamp' })
    const other = await keyed(server, 'same', { text: 'b' })
    expect([other.answer.status, other.result]).toMatchObject([409, { code: 'IDEMPOTENCY_CONFLICT' }])
  },
)

withPython(
  'kill -9 of the service during a call: its key is UNKNOWN_OUTCOME after the restart, and stays so; earlier calls keep their results and their logs',
  async () => {
    const server = await serving('work', 'weather')
    const kept = await keyed(server, 'kept', {})
    const [, { meta }] = await invoked(server, 'weather:loud', { lines: 1 })
    const path = `/workflows/tools/invocations/${meta.invocationId}`
    expect((await server.fetch(`${path}/log`)).status).toBe(200)
    const calling = keyed(server, LOST_KEY, { seconds: 20 })
    await until(
      async () =>
        (await (await server.fetch('/health')).json()) as { runner: { calls?: { running: number } } },
      ({ runner }) => runner.calls?.running === 1,
    )
    await Promise.all([expect(calling).rejects.toThrow(), server.kill9()])
    await server.restart()
    for (let times = 0; times < 2; times += 1) {
      const { answer, result } = await keyed(server, LOST_KEY, { seconds: 20 })
      expect([answer.status, result]).toMatchObject([503, { code: 'UNKNOWN_OUTCOME' }])
      expect(answer.headers.get('Retry-After')).toBeNull()
    }
    const replayed = await keyed(server, 'kept', {})
    expect(replayed.result.textResultForLlm).toBe(kept.result.textResultForLlm)
    const stored = readFileSync(join(server.data, 'governance.sqlite-wal')).toString('latin1')
    expect(stored).not.toContain(LOST_KEY)
    const log = await server.fetch(`${path}/log`)
    expect(await log.json()).toMatchObject({ text: 'line 0\na complaint\n' })
    const call = await server.fetch(path)
    expect(await call.json()).toMatchObject({ tool: 'weather:loud', digest: meta.digest, hasLog: true })
  },
)
