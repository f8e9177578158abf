import { expect } from '@jest/globals'
import { chmodSync, lstatSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { freePorts } from '../../scripts/toolchain/ports.mjs'
import { Server } from '../support/server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testWhere } from '../support/test-where.ts'
import { put, tool } from '../support/tool.ts'
import { ORDINARY_USER } from '../support/unprivileged.ts'
import { until } from '../support/until.ts'

const withUsers = testWhere(
  ORDINARY_USER !== undefined,
  'setpriv is missing, or another user can not read the checkout: the suites for the modes of the data folder can not run.',
)
const withUmask = (umask: string): readonly string[] => ['sh', '-c', `umask ${umask}; exec "$@"`, 'sh']

/** The mode of the folder, and of everything in it by name. */
function modesIn(folder: string): Readonly<Record<string, string>> {
  const entries = readdirSync(folder).map((name) => [name, modeOf(join(folder, name))] as const)
  return { '.': modeOf(folder), ...Object.fromEntries(entries) }
}

function modeOf(path: string): string {
  return (lstatSync(path).mode & 0o777).toString(8)
}

const PRIVATE = {
  '.': '700',
  'audit-key.json': '600',
  'audit.sqlite': '600',
  'audit.sqlite-newest': '600',
  'audit.sqlite-shm': '600',
  'audit.sqlite-wal': '600',
  databases: '600',
  'definition-files.cache': '600',
  'in-use': '600',
  'invocations.db': '600',
  'invocations.db-journal': '600',
  'invocations.db-newest': '600',
  address: '600',
  'approver-token': '600',
  'job-keys.json': '600',
  'running-calls': '600',
  token: '600',
}
const PRIVATE_WITH_STORE = {
  ...PRIVATE,
  artifacts: '700',
  'sealing-key': '600',
  'secrets-keys.json': '600',
  'governance.sqlite': '600',
  'governance.sqlite-shm': '600',
  'governance.sqlite-wal': '600',
  'toolrack.db': '600',
  'toolrack.db-shm': '600',
  'toolrack.db-wal': '600',
}

/** A folder that an ordinary user may make things in. */
function sharedFolder(): ReturnType<typeof temporaryFolder> {
  const folder = temporaryFolder()
  chmodSync(folder.path, 0o777)
  return folder
}

for (const [who, user] of [
  ['this account', []],
  ['an ordinary user', ORDINARY_USER ?? []],
] as const)
  // With this umask, only a mode that the server itself has chosen is private.
  withUsers(
    `with umask 000, ${who} makes a data folder that nobody else can read, and a start makes an open one private again`,
    async () => {
      using folder = sharedFolder()
      const data = join(folder.path, 'above', 'data')
      await using server = await Server.start({ data, through: [...user, ...withUmask('000')] })
      expect((await put(server, 'private', tool('private'))).status).toBe(201)
      const expectPrivate = (): void => {
        const { 'in-use-journal': journal = '600', ...modes } = modesIn(data)
        expect([modes, journal]).toEqual([PRIVATE_WITH_STORE, '600'])
      }
      expectPrivate()
      expect(modeOf(join(folder.path, 'above'))).toBe('700')

      await server.kill9()
      chmodSync(data, 0o777)
      for (const name of readdirSync(data)) chmodSync(join(data, name), 0o644)
      await server.restart()
      expectPrivate()
      expect((await server.fetch('/workflows/tools/defs/private')).status).toBe(200)
      expect(server.log).toBe('')
    },
  )

withUsers('a server over Firestore keeps its data folder private too', async () => {
  using folder = sharedFolder()
  const data = join(folder.path, 'data')
  mkdirSync(data)
  chmodSync(data, 0o777)
  const [port] = await freePorts(1)
  const env = {
    TOOLRACK_STORE: 'firestore',
    GOOGLE_CLOUD_PROJECT: 'demo-private',
    FIRESTORE_EMULATOR_HOST: `127.0.0.1:${port}`,
  }
  await using server = await Server.start({ data, env, through: withUmask('000') })
  // What was found out about the definition files is written after the start.
  await until(
    () => Promise.resolve(modesIn(data)),
    (modes) => 'definition-files.cache' in modes,
  )
  const { 'in-use-journal': journal = '600', ...modes } = modesIn(data)
  expect([modes, journal, server.token.length]).toEqual([PRIVATE, '600', 43])
})
