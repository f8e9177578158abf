import { afterAll, expect, test } from '@jest/globals'
import { spawnSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { invoked } from '../support/invocation.ts'
import { serverWithRunner, upload } from '../support/modules.ts'
import { withPython } from '../support/runner-environment.ts'
import type { Server } from '../support/server.ts'
import { ROOT } from '../support/source-tree.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { listedNames } from '../support/tool.ts'
import { until } from '../support/until.ts'

const CLI = fileURLToPath(new URL('functions/src/hosts/local/grants-cli.ts', ROOT))

/** What `npm run grants` prints, and its exit code. */
function grants(data: string, ...args: readonly string[]): readonly [number | null, string] {
  return grantsWith({}, data, ...args)
}

/** The same with additional variables. */
function grantsWith(
  variables: NodeJS.ProcessEnv,
  data: string,
  ...args: readonly string[]
): readonly [number | null, string] {
  const env = { PATH: process.env['PATH'], TOOLRACK_DATA: data, ...variables }
  const { stdout, stderr, status } = spawnSync(process.execPath, [CLI, ...args], { env, encoding: 'utf8' })
  return [status, stdout + stderr]
}

/** A module with one tool that may connect to this host, and says that it ran. */
function asking(name: string, host: string, said = 'it ran'): string {
  return `def say() -> str:\n    """Says it."""\n    return "${said}"\n\nTOOL_SPECS = [{"name": "${name}:say", "handler": say, "network": ["${host}"]}]\n`
}

const code = async (server: Server, name: string): Promise<string> => {
  const [, result] = await invoked(server, `${name}:say`)
  return result.resultType === 'failure' ? result.code : result.textResultForLlm
}

const folder = temporaryFolder()
afterAll(() => folder[Symbol.dispose]())
const servers: Server[] = []
afterAll(() => Promise.all(servers.map((server) => server[Symbol.asyncDispose]())))
async function started(...options: Parameters<typeof serverWithRunner>): Promise<Server> {
  const server = await serverWithRunner(...options)
  servers.push(server)
  return server
}

let shared: Promise<Server> | undefined
const server = (): Promise<Server> => (shared ??= started({ env: { TOOLRACK_TOOLS_DIR: folder.path } }))

withPython(
  'the printed token uploads and cannot accept; the operator accepts with one line, and the tool runs',
  async () => {
    const own = await server()
    const answer = await upload(own, 'web', asking('web', 'example.com'))
    const body = (await answer.json()) as { grantsDigest: string; message: string; pending: boolean }
    expect([answer.status, body.pending]).toEqual([201, true])
    expect(body.message).toContain('npm run grants -- accept web')
    expect(own.log).toContain('waits for consent')
    const route = '/workflows/tools/modules/web/grants'
    const accept = (headers = {}) =>
      own.fetch(route, { method: 'POST', body: JSON.stringify({ digest: body.grantsDigest }), headers })
    const refused = await accept()
    expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining('approver-token')])
    const query = `?acceptGrants=${body.grantsDigest}`
    const withUpload = await own.fetch(`/workflows/tools/modules/web2${query}`, {
      method: 'PUT',
      body: asking('web2', 'example.com'),
    })
    expect(withUpload.status).toBe(403)
    expect((await own.fetch('/workflows/tools/modules/web2')).status).toBe(404)
    const asJob = await own.fetch(route.replace('/workflows', '/jobs'), { method: 'DELETE' })
    expect(asJob.status).toBe(403)
    expect(await code(own, 'web')).toBe('GRANTS_PENDING')
    expect(await listedNames(own, 'category=web')).toEqual([])
    expect(grants(own.data, 'list')).toEqual([
      0,
      expect.stringContaining('web  (layer user)  waits for consent\n  network  example.com\n'),
    ])
    const printed = { TOOLRACK_TOKEN: own.token }
    expect(grantsWith(printed, own.data, 'accept', 'web')).toEqual([
      1,
      expect.stringContaining('The token of the variable TOOLRACK_TOKEN was used, and it is not an approver'),
    ])
    const since = (await own.fetch('/workflows/tools/list')).headers.get('X-Tools-Revision') ?? ''
    expect(grants(own.data, 'accept', 'web')).toEqual([
      0,
      'web  (layer user)  waits for consent\n  network  example.com\nAccepted. The tools of web can be called now.\n',
    ])
    const changes = await own.fetch(`/workflows/tools/changes?since=${encodeURIComponent(since)}`)
    expect(await changes.json()).toMatchObject({ added: [{ name: 'web:say' }], changed: [], removed: [] })
    expect(await code(own, 'web')).toBe('it ran')
    expect(grants(own.data, 'show', 'web')[1]).toBe(
      'web  (layer user)  is accepted by local\n  network  example.com\n',
    )
    expect(grants(own.data, 'revoke', 'web')).toEqual([0, expect.stringContaining('Revoked.')])
    expect(await code(own, 'web')).toBe('GRANTS_PENDING')
  },
)

withPython(
  'the audit trail names the module, the layer, the grants and the digest of decisions, and refused ones',
  async () => {
    const own = await server()
    await upload(own, 'traced', asking('traced', 'example.com'), { layer: 'global' })
    grants(own.data, 'accept', 'traced')
    await own.fetch('/workflows/tools/modules/traced/grants?layer=global', { method: 'DELETE' })
    grants(own.data, 'revoke', 'traced')
    const { records } = (await (await own.fetch('/workflows/audit?limit=20')).json()) as {
      records: Record<string, unknown>[]
    }
    const found = records.filter((record) =>
      String((record['subject'] as { route?: string })?.route).endsWith('/grants'),
    )
    const subject = { module: 'traced', grants: ['network example.com'] }
    expect(found.slice(0, 3)).toMatchObject([
      {
        outcome: 'ok',
        layer: 'global',
        digest: expect.stringMatching(/^sha256:/),
        subject: { ...subject, state: 'pending' },
      },
      { outcome: 'PERMISSION_DENIED', layer: 'global', subject: { module: 'traced' } },
      {
        outcome: 'ok',
        layer: 'global',
        digest: expect.stringMatching(/^sha256:/),
        subject: { ...subject, state: 'accepted' },
      },
    ])
  },
)

withPython(
  'a module of a watched folder waits, the terminal says how to accept it, and it runs at once afterwards',
  async () => {
    const own = await server()
    writeFileSync(join(folder.path, 'waiting.py'), asking('waiting', 'example.com'))
    await until(
      () => code(own, 'waiting'),
      (text) => text === 'GRANTS_PENDING',
    )
    await until(
      () => Promise.resolve(own.log),
      (log) => log.includes('waiting.py') && log.includes('npm run grants -- accept waiting'),
    )
    expect(own.log).toContain('network example.com')
    expect(await listedNames(own, 'category=waiting')).toEqual([])
    expect(grants(own.data, 'accept', 'waiting')).toEqual([0, expect.stringContaining('Accepted.')])
    expect(await code(own, 'waiting')).toBe('it ran')
    // Another text with the same grants needs no consent, and another host does.
    writeFileSync(join(folder.path, 'waiting.py'), asking('waiting', 'example.com', 'again'))
    await until(
      () => code(own, 'waiting'),
      (text) => text === 'again',
    )
    writeFileSync(join(folder.path, 'waiting.py'), asking('waiting', 'other.example.com'))
    await until(
      () => code(own, 'waiting'),
      (text) => text === 'GRANTS_PENDING',
    )
    writeFileSync(join(folder.path, 'waiting.py'), asking('waiting', 'example.com'))
    await until(
      () => code(own, 'waiting'),
      (text) => text === 'it ran',
    )
    await own.kill9()
    await own.restart()
    await until(
      () => code(own, 'waiting'),
      (text) => text === 'it ran',
    )
    expect(grants(own.data, 'revoke', 'waiting')).toEqual([0, expect.stringContaining('Revoked.')])
    expect(await code(own, 'waiting')).toBe('GRANTS_PENDING')
  },
)

withPython('a folder of before the upgrade keeps its network, and what is added later waits', async () => {
  using tools = temporaryFolder()
  writeFileSync(join(tools.path, 'old.py'), asking('old', 'example.com'))
  const own = await started({ env: { TOOLRACK_TOOLS_DIR: tools.path } })
  // In a new data folder it waits.
  await until(
    () => code(own, 'old'),
    (text) => text === 'GRANTS_PENDING',
  )
  await own.stop()
  // The data folder of an earlier version has no record of grants.
  const database = new DatabaseSync(join(own.data, 'governance.sqlite'))
  database.exec("DELETE FROM documents WHERE collection LIKE 'file-grants%'")
  database.close()
  await own.restart()
  await until(
    () => code(own, 'old'),
    (text) => text === 'it ran',
  )
  writeFileSync(join(tools.path, 'added.py'), asking('added', 'example.com'))
  await until(
    () => code(own, 'added'),
    (text) => text === 'GRANTS_PENDING',
  )
  await own.kill9()
  await own.restart()
  await until(
    () => code(own, 'old'),
    (text) => text === 'it ran',
  )
  await until(
    () => code(own, 'added'),
    (text) => text === 'GRANTS_PENDING',
  )
  expect(grants(own.data, 'show', 'old')[1]).toContain('is accepted by an earlier version')
})

withPython('TOOLRACK_GRANTS=accept answers for uploads and for folders', async () => {
  using tools = temporaryFolder()
  writeFileSync(join(tools.path, 'open.py'), asking('open', 'example.com'))
  const own = await started({ env: { TOOLRACK_TOOLS_DIR: tools.path, TOOLRACK_GRANTS: 'accept' } })
  await until(
    () => code(own, 'open'),
    (text) => text === 'it ran',
  )
  await upload(own, 'up', asking('up', 'example.com'))
  expect(await code(own, 'up')).toBe('it ran')
  for (const listed of ['open  (layer file)', 'up  (layer user)'])
    expect(grants(own.data, 'list')[1]).toContain(`${listed}  is accepted by TOOLRACK_GRANTS\n`)
  expect(grants(own.data, 'revoke', 'open')[0]).toBe(0)
  expect(await code(own, 'open')).toBe('GRANTS_PENDING')
})

test('without a server, the command says so and sends its token nowhere', () => {
  using data = temporaryFolder()
  writeFileSync(join(data.path, 'address'), 'http://127.0.0.1:9\n')
  writeFileSync(join(data.path, 'approver-token'), `${'x'.repeat(43)}\n`)
  expect(grants(data.path, 'list')).toEqual([
    1,
    expect.stringContaining('No server runs with the data folder'),
  ])
  rmSync(join(data.path, 'address'))
})
