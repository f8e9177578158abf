import { expect, test } from '@jest/globals'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseConfig } from '../../../../functions/src/hosts/config.ts'
import { openRunner, pythonChoice, runnerCommand } from '../../../../functions/src/hosts/local/open-runner.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { until } from '../../../support/until.ts'

const log = { info: () => undefined, warn: () => undefined, error: () => undefined }

test('the runner sees nothing of our environment but where programs, words, times and the index of packages are', () => {
  const ours = {
    PATH: '/bin',
    LANG: 'de_DE.UTF-8',
    TZ: 'UTC',
    HOME: '/root',
    TOOLRACK_JOB_KEYS: 'secret',
    SECRET: 'x',
  }
  const { env } = runnerCommand('/python', { TOOLRACK_RUNNER_SLOTS: '3' }, ours)
  expect(env).toEqual({
    PATH: '/bin',
    LANG: 'de_DE.UTF-8',
    TZ: 'UTC',
    HOST: '127.0.0.1',
    PORT: '0',
    TOOLRACK_RUNNER_SLOTS: '3',
  })
})

test.each([
  ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY', 'ALL_PROXY'],
  ['https_proxy', 'http_proxy', 'no_proxy', 'all_proxy'],
  ['SSL_CERT_FILE', 'SSL_CERT_DIR'],
])('the runner gets %s, because it asks the index of packages', (...names) => {
  const ours = Object.fromEntries(names.map((name) => [name, `of ${name}`]))
  expect(runnerCommand('/python', {}, { ...ours, CURL_CA_BUNDLE: 'x' }).env).toEqual({
    PATH: expect.anything(),
    LANG: 'C.UTF-8',
    HOST: '127.0.0.1',
    PORT: '0',
    ...ours,
  })
})

test('it is started isolated from what the user has of Python, from its own folder', () => {
  const { command, args } = runnerCommand('/python', {}, {})
  const [isolated, folder = '', ...rest] = args
  expect([command, isolated, rest]).toEqual(['/python', '-I', ['--parent=stdin']])
  expect(existsSync(join(folder, 'pyproject.toml'))).toBe(true)
})

test('of our variables only those of the runner reach it', () => {
  const { runner } = parseConfig({
    TOOLRACK_RUNNER_SLOTS: '2',
    TOOLRACK_RUNNER_POOL_MB: '',
    TOOLRACK_DATA: '/tmp',
  })
  expect(runner.environment).toEqual({ TOOLRACK_RUNNER_SLOTS: '2' })
})

test.each([
  ['local', {}, 'all'],
  ['local', { TOOLRACK_RUNNER_USER_SLOTS: '2' }, '2'],
  ['firebase', { GOOGLE_CLOUD_PROJECT: 'demo' }, 'unset'],
])('with TOOLRACK_AUTH=%s and %j one user may have of its slots: %s', async (auth, more, told) => {
  using folder = temporaryFolder()
  const said = join(folder.path, 'said')
  const python = join(folder.path, 'python')
  const script = `#!/bin/sh\necho "\${TOOLRACK_RUNNER_USER_SLOTS:-unset}" > ${said}.new; mv ${said}.new ${said}; exit 78\n`
  writeFileSync(python, script, { mode: 0o700 })
  const runner = openRunner(parseConfig({ TOOLRACK_AUTH: auth, ...more }), { python }, log)
  await until(
    () => Promise.resolve(existsSync(said)),
    (isThere) => isThere,
  )
  expect(readFileSync(said, 'utf8')).toBe(`${told}\n`)
  await runner.close()
})

test.each([
  [{}, '/data/packages'],
  [{ TOOLRACK_PACKAGES_DIR: '/elsewhere' }, '/elsewhere'],
  [{ TOOLRACK_PACKAGES_DIR: 'here' }, join(process.cwd(), 'here')],
  [{ TOOLRACK_STORE: 'firestore', TOOLRACK_AUTH: 'firebase', GOOGLE_CLOUD_PROJECT: 'demo' }, 'unset'],
])('with %j the packages of modules lie in %s', async (env, expected) => {
  using folder = temporaryFolder()
  const told = join(folder.path, 'told')
  const python = join(folder.path, 'python')
  const script = `#!/bin/sh\necho "\${TOOLRACK_PACKAGES_DIR:-unset}" > ${told}.new; mv ${told}.new ${told}; exit 78\n`
  writeFileSync(python, script, { mode: 0o700 })
  const runner = openRunner(parseConfig({ TOOLRACK_DATA: '/data', ...env }), { python }, log)
  await until(
    () => Promise.resolve(existsSync(told)),
    (isThere) => isThere,
  )
  expect(readFileSync(told, 'utf8')).toBe(`${expected}\n`)
  await runner.close()
})

test('without a Python the reason is that of who looked for one, else that nobody did', async () => {
  const config = parseConfig({})
  const told = openRunner(config, pythonChoice(['--no-python=There is none: install one.']), log)
  expect(await told.health()).toEqual({ status: 'absent', reason: 'There is none: install one.' })
  expect(await openRunner(config, pythonChoice([]), log).health()).toMatchObject({
    status: 'absent',
    reason: expect.stringMatching(/npm start brings one, and RUNNER_URL/),
  })
})

test('where RUNNER_URL names one, none is started', async () => {
  const config = parseConfig({
    RUNNER_URL: 'http://127.0.0.1:1',
    RUNNER_SECRET: 'sixteen characters'.replaceAll(' ', '-'),
  })
  const runner = openRunner(config, { python: '/nowhere/python' }, log)
  try {
    const health = await runner.health()
    expect(health).toEqual({ status: 'unreachable', reason: expect.stringMatching(/does not answer/) })
  } finally {
    await runner.close()
  }
})

test.each([
  'http://runner.example:8080',
  'https://runner.example/path',
  'https://user@runner.example',
  'ftp://127.0.0.1',
  '127.0.0.1:8080',
  'http://127.0.0.1.example',
])('RUNNER_URL %s is refused: the secret would be lost or in the open', (RUNNER_URL) => {
  expect(() => parseConfig({ RUNNER_URL })).toThrow(
    'RUNNER_URL must be https://host, or http:// and an address',
  )
})

test.each([
  'https://runner-abc.a.run.app',
  'http://localhost:8080',
  'http://[::1]:9/',
  'http://127.0.0.1:8080',
])('RUNNER_URL %s is taken', (RUNNER_URL) => {
  expect(parseConfig({ RUNNER_URL }).runner.address).toEqual({ url: RUNNER_URL, secret: undefined })
})
