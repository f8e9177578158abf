import { afterAll, expect } from '@jest/globals'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { invoked } from '../support/invocation.ts'
import { sharedServerWithRunner, uploaded } from '../support/modules.ts'
import { withPython } from '../support/runner-environment.ts'
import type { Server } from '../support/server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

const outer = temporaryFolder()
afterAll(() => outer[Symbol.dispose]())
const tools = join(outer.path, 'tools')
const rulesFile = join(outer.path, 'rules.json')
mkdirSync(tools)

/** A module with a handler for each type. A handler returns its argument as Python writes it. */
function moduleSource(name: string, types: Readonly<Record<string, string>>): string {
  const handlers = Object.entries(types).map(
    ([tool, type]) => `def ${tool}(value: ${type}):\n    """Says the value."""\n    return repr(value)\n`,
  )
  const specs = Object.keys(types).map((tool) => `{"name": "${name}:${tool}", "handler": ${tool}}`)
  return `${HEAD}\n${handlers.join('\n')}\nTOOL_SPECS = [${specs.join(', ')}]\n`
}

const HEAD = `
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

const TYPES = {
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

writeFileSync(
  join(tools, 'folder.py'),
  moduleSource('folder', { own: 'Annotated[str, AfterValidator(trimmed)]', path: 'Path' }),
)
writeFileSync(
  rulesFile,
  JSON.stringify({ rules: [{ effect: 'deny', tool: 'folder:*', args: { value: '/etc/**' } }] }),
)
const start = sharedServerWithRunner({ env: { TOOLRACK_TOOLS_DIR: tools, TOOLRACK_RULES_FILE: rulesFile } })
let uploading: Promise<unknown> | undefined

async function started(): Promise<Server> {
  const server = await start()
  await (uploading ??= uploaded(server, 'kinds', moduleSource('kinds', TYPES)))
  return server
}

async function putRules(server: Server, rules: readonly object[], more: object = {}) {
  const body = JSON.stringify({ ...more, rules })
  const answer = await server.fetch('/workflows/rules/user/local', {
    method: 'PUT',
    body,
    headers: server.approver,
  })
  return (await answer.json()) as {
    readonly meets: readonly { readonly tool: string; readonly args: object }[]
  }
}

withPython('the value that a handler gets is the one that a rule decides about, for each type', async () => {
  const server = await started()
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
  for (const [tool, value, denied, sent, got] of rows) {
    await putRules(server, [{ effect: 'deny', tool: `kinds:${tool}`, args: { value } }])
    for (const spelling of denied)
      expect([spelling, await invoked(server, `kinds:${tool}`, { value: spelling })]).toMatchObject([
        spelling,
        [403, { code: 'PERMISSION_DENIED' }],
      ])
    if (sent !== undefined)
      expect(await invoked(server, `kinds:${tool}`, { value: sent })).toMatchObject([
        200,
        { textResultForLlm: got },
      ])
  }
})

withPython(
  'an argument that code of the module reads is other: never allowed, and denied by what arrives',
  async () => {
    const server = await started()
    const { meets } = await putRules(server, [{ effect: 'allow', tool: 'kinds:*', args: { value: '*' } }], {
      default: 'deny',
    })
    const kinds = Object.fromEntries(meets.map(({ tool, args }) => [tool, Object.values(args)]))
    expect([kinds['kinds:own'], kinds['kinds:mode'], kinds['kinds:at'], kinds['kinds:cut']]).toEqual([
      ['other'],
      ['other'],
      ['other'],
      ['text'],
    ])
    expect(await invoked(server, 'kinds:cut', { value: 'x' })).toMatchObject([200, {}])
    for (const tool of ['kinds:own', 'kinds:mode', 'kinds:at'])
      expect(await invoked(server, tool, { value: 'fast' })).toMatchObject([
        403,
        { code: 'PERMISSION_DENIED' },
      ])
    await putRules(server, [{ effect: 'deny', tool: 'kinds:own', args: { value: 'secret' } }])
    expect(await invoked(server, 'kinds:own', { value: 'secret' })).toMatchObject([403, {}])
    expect(await invoked(server, 'kinds:own', { value: ' secret ' })).toMatchObject([
      200,
      { textResultForLlm: "'secret'" },
    ])
  },
)

withPython(
  "the log names the arguments of the kind other in the operator's rules, also of modules in the folder",
  async () => {
    const server = await started()
    const said = await until(
      () => Promise.resolve(server.log),
      (text) => text.includes('arguments of the kind other'),
    )
    expect(said).toMatch(/rules of TOOLRACK_RULES_FILE name arguments of the kind other.*"folder:own value"/)
    expect(said).not.toContain('folder:path value')
    expect(await invoked(server, 'folder:path', { value: '//etc/x' })).toMatchObject([403, {}])
  },
)
