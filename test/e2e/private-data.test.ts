import { expect } from '@jest/globals'
import { chmodSync, chownSync, lstatSync, mkdirSync, readdirSync, statSync, symlinkSync } from 'node:fs'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { EXIT } from '../../functions/src/hosts/local/start-error.ts'
import { freePorts } from '../../scripts/toolchain/ports.mjs'
import { failedStart, Server } from '../support/server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testWhere } from '../support/test-where.ts'
import { put, tool } from '../support/tool.ts'
import { isRoot, NOT_OWNER, ORDINARY_USER } from '../support/unprivileged.ts'
import { until } from '../support/until.ts'

const NOBODY = 65_534
const withUsers = testWhere(
  ORDINARY_USER !== undefined && NOT_OWNER !== undefined,
  'setpriv is missing, or another user can not read the checkout: the suites for the modes of the data folder can not run.',
)
const asRoot = testWhere(
  isRoot && NOT_OWNER !== undefined,
  'The tests are not run as root with setpriv: data folders of other accounts can not be made.',
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
  'audit.sqlite-shm': '600',
  'audit.sqlite-wal': '600',
  databases: '600',
  'definition-files.cache': '600',
  'in-use': '600',
  'invocations.db': '600',
  'invocations.db-journal': '600',
  'approver-token': '600',
  'job-keys.json': '600',
  'running-calls': '600',
  token: '600',
}
const PRIVATE_WITH_STORE = {
  ...PRIVATE,
  'sealing-key': '600',
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
  for (const umask of ['000', '022'])
    withUsers(`with umask ${umask}, ${who} makes a data folder that nobody else can read`, async () => {
      using folder = sharedFolder()
      const data = join(folder.path, 'above', 'data')
      await using server = await Server.start({ data, through: [...user, ...withUmask(umask)] })
      expect((await put(server, 'private', tool('private'))).status).toBe(201)
      const { 'in-use-journal': journal = '600', ...modes } = modesIn(data)
      expect([modes, journal]).toEqual([PRIVATE_WITH_STORE, '600'])
      expect(modeOf(join(folder.path, 'above'))).toBe('700')
    })

withUsers('a folder and its files that were open to all are tightened at the start', async () => {
  for (const user of [[], ORDINARY_USER ?? []]) {
    using folder = sharedFolder()
    const data = join(folder.path, 'data')
    const options = { data, through: [...user, ...withUmask('000')] }
    await using server = await Server.start(options)
    expect((await put(server, 'kept', tool('kept'))).status).toBe(201)
    await server.kill9()
    chmodSync(data, 0o777)
    for (const name of readdirSync(data)) chmodSync(join(data, name), 0o644)
    await server.restart()
    const { 'in-use-journal': journal = '600', ...modes } = modesIn(data)
    expect([modes, journal]).toEqual([PRIVATE_WITH_STORE, '600'])
    expect((await server.fetch('/workflows/tools/defs/kept')).status).toBe(200)
    expect(server.log).toBe('')
  }
})

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

withUsers('a symbolic link is not followed: what it leads to keeps its mode', async () => {
  using folder = temporaryFolder()
  const outside = join(folder.path, 'outside')
  const data = join(folder.path, 'data')
  mkdirSync(data)
  writeFileSync(outside, `${'t'.repeat(43)}\n`)
  symlinkSync(outside, join(data, 'token'))
  chmodSync(outside, 0o644)
  const ended = await failedStart({ data })
  expect([ended.code, modeOf(outside)]).toEqual([EXIT.unwritableData, '644'])
  expect(ended.stderr).toMatch(/^Other accounts can read .*\/token, .*symbolic link.*\.\n$/)
  chmodSync(outside, 0o600)
  await using server = await Server.start({ data })
  expect([server.token, modeOf(outside)]).toEqual(['t'.repeat(43), '600'])
})

withUsers('a symbolic link to nothing is refused, and nothing is made where it leads', async () => {
  using folder = temporaryFolder()
  const data = join(folder.path, 'data')
  mkdirSync(data)
  symlinkSync(join(folder.path, 'made'), join(data, 'toolrack.db'))
  const ended = await failedStart({ data })
  expect(ended.code).toBe(EXIT.unwritableData)
  expect(readdirSync(folder.path)).toEqual(['data'])
})

asRoot('a folder of another account that the group may write is used with a warning', async () => {
  using folder = temporaryFolder()
  chownSync(folder.path, NOBODY, 0)
  chmodSync(folder.path, 0o775)
  await using server = await Server.start({ data: folder.path, through: NOT_OWNER ?? [] })
  expect(server.log).toMatch(/^warn {2}the data folder is open to other accounts.*"mode":"775".*"EPERM"\}\n$/)
  expect(modeOf(join(folder.path, 'token'))).toBe('600')
})

asRoot('a folder of another account that everybody may write is refused', async () => {
  using folder = temporaryFolder()
  chownSync(folder.path, NOBODY, 0)
  chmodSync(folder.path, 0o777)
  const ended = await failedStart({ data: folder.path, through: NOT_OWNER ?? [] })
  expect(ended.code).toBe(EXIT.unwritableData)
  expect(ended.stderr).toMatch(/^Every account may write to the data folder .*EPERM.*TOOLRACK_DATA.*\.\n$/)
  expect(readdirSync(folder.path)).toEqual([])
})

asRoot('a token of another account that others can read is refused', async () => {
  using folder = temporaryFolder()
  writeFileSync(join(folder.path, 'token'), `${'t'.repeat(43)}\n`)
  chmodSync(join(folder.path, 'token'), 0o644)
  chownSync(join(folder.path, 'token'), NOBODY, NOBODY)
  const ended = await failedStart({ data: folder.path, through: NOT_OWNER ?? [] })
  expect(ended.code).toBe(EXIT.unwritableData)
  expect(ended.stderr).toMatch(/^Other accounts can read .*\/token, .*EPERM.*\.\n$/)
})

withUsers(
  'a folder that holds other things keeps its mode, and is refused where everybody may write',
  async () => {
    using folder = temporaryFolder()
    writeFileSync(join(folder.path, 'notes.txt'), '')
    chmodSync(folder.path, 0o755)
    {
      await using server = await Server.start({ data: folder.path })
      expect(server.log).toMatch(/^warn {2}the data folder is open to other accounts.*other things/)
      expect(statSync(folder.path).mode & 0o777).toBe(0o755)
      expect(modeOf(join(folder.path, 'toolrack.db'))).toBe('600')
    }
    chmodSync(folder.path, 0o1777)
    const ended = await failedStart({ data: folder.path })
    expect(ended.code).toBe(EXIT.unwritableData)
    expect(ended.stderr).toMatch(/^Every account may write to the data folder .*other things.*\.\n$/)
    expect(statSync(folder.path).mode & 0o7777).toBe(0o1777)
  },
)
