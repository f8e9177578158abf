import { afterAll, expect, test } from '@jest/globals'
import { spawnSync } from 'node:child_process'
import { readFileSync, statSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { EXIT } from '../../functions/src/hosts/local/start-error.ts'
import { failedStart, Server } from '../support/server.ts'
import { ROOT } from '../support/source-tree.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { tool } from '../support/tool.ts'
import { until } from '../support/until.ts'

const CLI = fileURLToPath(new URL('functions/src/hosts/local/users-cli.ts', ROOT))

function users(data: string, ...args: readonly string[]) {
  const env = { PATH: process.env['PATH'], TOOLRACK_DATA: data }
  const { stdout, stderr, status } = spawnSync(process.execPath, [CLI, ...args], { env, encoding: 'utf8' })
  return { said: stdout + stderr, status }
}

function added(data: string, ...args: readonly string[]) {
  const { said, status } = users(data, ...args)
  const [, token = ''] = /^ {2}token +(\S+)$/m.exec(said) ?? []
  const [, approver = ''] = /^ {2}approver token +(\S+)$/m.exec(said) ?? []
  expect([status, token.length, approver.length]).toEqual([0, 43, 43])
  return { token, approver, said }
}

type Sent = { readonly method?: string; readonly body?: unknown; readonly family?: string }

function asking(server: Server) {
  return async (token: string, path: string, { method = 'GET', body, family = 'workflows' }: Sent = {}) => {
    const answer = await fetch(`${server.url}/${family}${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}` },
      body: body === undefined ? null : JSON.stringify(body),
    })
    return { status: answer.status, body: await answer.json().catch(() => null) }
  }
}

const server = await Server.start()
afterAll(() => server[Symbol.asyncDispose]())
const path = join(server.data, 'users.json')
const printed = server.token
// The server has these users from its second start on.
const ada = added(server.data, 'add', 'ada', '--admin')
const bob = added(server.data, 'add', 'bob')
await server.kill9()
await server.restart()
const ask = asking(server)
const status = (token: string) => async () => (await ask(token, '/tools/list')).status

test('the printed token of the single user ends with the first user', async () => {
  expect(printed).toMatch(/^[A-Za-z0-9_-]{43}$/)
  expect((await ask(printed, '/tools/list')).status).toBe(401)
  expect((await ask(ada.token, '/tools/list')).status).toBe(200)
  expect(server.token).toBe('')
  expect(server.said).toContain('Users have the tokens that npm run users has printed.')
})

test('each user has own definitions and two tokens, and only an admin of the file writes for everybody', async () => {
  expect(ada.said).toMatch(/first user/)
  expect(bob.said).not.toMatch(/first user/)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  for (const secret of [ada.token, ada.approver, bob.token, bob.approver])
    expect(readFileSync(path, 'utf8')).not.toContain(secret)

  const own = { method: 'PUT', body: tool('own') }
  expect((await ask(bob.token, '/tools/defs/own', own)).status).toBe(201)
  expect(await ask(bob.token, '/tools/list?names=own')).toMatchObject({ body: [{}] })
  expect(await ask(ada.token, '/tools/list?names=own')).toMatchObject({ body: [] })
  const shared = { method: 'PUT', body: tool('shared') }
  expect((await ask(bob.token, '/tools/defs/shared?layer=global', shared)).status).toBe(403)
  expect((await ask(ada.token, '/tools/defs/shared?layer=global', shared)).status).toBe(201)
  expect(await ask(bob.token, '/tools/list?names=shared')).toMatchObject({ body: [{}] })

  const rules = { method: 'PUT', body: { rules: [{ effect: 'ask', tool: 'ECHO' }] } }
  const denied = await ask(bob.token, '/rules/user/bob', rules)
  expect(denied).toMatchObject({
    status: 403,
    body: { error: { message: expect.stringMatching(/approver token/) } },
  })
  expect((await ask(bob.approver, '/rules/user/ada', rules)).status).toBe(403)
  expect((await ask(bob.approver, '/rules/user/bob', rules)).status).toBe(201)
  const call = { method: 'POST', body: { name: 'ECHO', arguments: { text: 'x' } } }
  expect((await ask(ada.token, '/tools/invoke', call)).status).toBe(200)
  const waiting = await ask(bob.token, '/tools/invoke', call)
  const { approval } = (waiting.body as { meta: { approval: { id: string } } }).meta
  const once = { method: 'POST', body: { decision: 'once' } }
  expect((await ask(ada.approver, `/approvals/${approval.id}`, once)).status).toBe(404)
  expect((await ask(bob.token, `/approvals/${approval.id}`, once)).status).toBe(403)
  expect((await ask(bob.approver, `/approvals/${approval.id}`, once)).status).toBe(200)

  for (const token of [ada.token, ada.approver, bob.token])
    expect((await ask(token, '/tools/list', { family: 'jobs' })).status).toBe(401)
})

test('a change of the users is known while the server runs, and the tokens of before end', async () => {
  const before = added(server.data, 'add', 'cyd')
  await until(status(before.token), (answer) => answer === 200)
  const after = added(server.data, 'renew', 'cyd')
  await until(status(after.token), (answer) => answer === 200)
  expect([await status(before.token)(), await status(before.approver)()]).toEqual([401, 401])
  const dan = added(server.data, 'add', 'dan')
  await until(status(dan.token), (answer) => answer === 200)

  const whole = readFileSync(path, 'utf8')
  writeFileSync(path, '{')
  // The file is looked at when somebody asks.
  const logAfterAsking = async () => {
    await status(after.token)()
    return server.log
  }
  await until(logAfterAsking, (log) => log.includes('the users cannot be read'))
  expect(users(server.data, 'add', 'eve')).toMatchObject({
    status: 1,
    said: expect.stringMatching(/users\.json must be/),
  })
  expect(readFileSync(path, 'utf8')).toBe('{')
  rmSync(path)
  await until(logAfterAsking, (log) => log.includes('users.json is gone. Put it back.'))
  expect([await status(after.token)(), await status(dan.token)()]).toEqual([200, 200])
  writeFileSync(path, whole, { mode: 0o600 })
})

test('a server does not start over a users file that is broken, and does not repeat what is in it', async () => {
  using data = temporaryFolder()
  const user = { name: 'a', isAdmin: true, token: 'secret', approverToken: 'b'.repeat(64) }
  writeFileSync(join(data.path, 'users.json'), JSON.stringify({ users: [user] }))
  const { code, stderr } = await failedStart({ data: data.path })
  expect(code).toBe(EXIT.damagedData)
  expect(stderr).toMatch(/users\.json must be \{"users": .* move it away/)
  expect(stderr).not.toContain('secret')
})

test('the command refuses what it cannot do, and changes nothing', () => {
  using data = temporaryFolder()
  expect(users(data.path, 'list')).toMatchObject({ status: 0, said: expect.stringMatching(/one user/) })
  expect(users(data.path, 'remove', 'ada')).toMatchObject({
    status: 1,
    said: expect.stringMatching(/no user ada/),
  })
  added(data.path, 'add', 'ada', '--admin')
  const text = readFileSync(join(data.path, 'users.json'), 'utf8')
  expect(users(data.path, 'add', 'ada')).toMatchObject({
    status: 1,
    said: expect.stringMatching(/renew ada/),
  })
  expect(users(data.path, 'add', 'a b')).toMatchObject({
    status: 1,
    said: expect.stringMatching(/a user id is/),
  })
  expect(readFileSync(join(data.path, 'users.json'), 'utf8')).toBe(text)
  expect(users(data.path, 'list').said).toBe('ada  admin\n')
  expect(users(data.path, 'remove', 'ada').said).toMatch(/nobody has access/)
  expect(users(data.path, 'list').said).toBe('')
})
