import { describe, expect, test } from '@jest/globals'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseConfig, readConfig, TABLE, VARIABLES } from '../../../../functions/src/hosts/config.ts'
import { fileKey } from '../../../../functions/src/hosts/settings/config-file.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { ecKey, jobKeysText } from '../../../support/signed-tokens.ts'

/** Reads the settings with a configuration file of this content, and with these variables. */
function withFile(content: unknown, env: NodeJS.ProcessEnv = {}, mode = 0o600) {
  using folder = temporaryFolder()
  const path = join(folder.path, 'toolrack.json')
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  chmodSync(path, mode)
  const report = readConfig({ ...env, TOOLRACK_CONFIG: path })
  const without = (text: string): string => text.replaceAll(`${folder.path}/`, '')
  return {
    report,
    folder: folder.path,
    faults: report.faults.map(without),
    notices: report.notices.map(({ message, fields }) => [message, { ...fields, file: undefined }]),
    from: (name: string) => without(report.inForce.get(name)?.from ?? 'nowhere'),
  }
}

test('each variable has a key of its own', () => {
  expect(new Set(VARIABLES.map(fileKey)).size).toBe(VARIABLES.length)
  expect(['PORT', 'TOOLRACK_STORE_MB', 'RUNNER_URL'].map(fileKey)).toEqual(['port', 'storeMb', 'runnerUrl'])
})

test('every type of value is read as the environment would give it, and null is no value', () => {
  const { report, folder } = withFile({
    port: 9405,
    data: 'my data',
    toolsDir: '/opt/tools',
    corsOrigins: ['https://a.example', 'https://b.example'],
    jobKeys: JSON.parse(jobKeysText(ecKey('one'))) as unknown,
    runnerUserSlots: 3,
    runnerNetworkAllow: ['10.1.0.0/16', 'fd12::/16'],
    listEnvelope: null,
    host: '',
  })
  const config = report.config()
  expect(config).toMatchObject({
    port: 9405,
    host: '127.0.0.1',
    dataFolder: join(folder, 'my data'),
    toolsFolders: { paths: ['/opt/tools'], isNamed: true },
    corsOrigins: ['https://a.example', 'https://b.example'],
    settings: { LIST_ENVELOPE: 'array' },
    runner: {
      environment: {
        TOOLRACK_RUNNER_USER_SLOTS: '3',
        TOOLRACK_RUNNER_NETWORK_ALLOW: '10.1.0.0/16,fd12::/16',
      },
    },
  })
  expect(config.jobKeys?.map(({ kid }) => kid)).toEqual(['one'])
})

test('every variable can be in the file, except those that say why not', () => {
  for (const [name, { notInFile }] of Object.entries(TABLE) as [string, { notInFile?: string }][]) {
    const { faults } = withFile({ [fileKey(name)]: false })
    expect(faults).toEqual([
      notInFile === undefined
        ? expect.stringMatching(/^toolrack\.json:1 \/\w+ must be an? /)
        : `toolrack.json:1 /${fileKey(name)} cannot be in the file: ${notInFile}`,
    ])
  }
})

test('the environment has priority over the file, the file over the default', () => {
  const { report, from } = withFile('{\n "port": 1,\n "host": "::1"\n}', { PORT: '2' })
  expect(report.config()).toMatchObject({ port: 2, host: '::1' })
  expect(['PORT', 'HOST', 'LIST_ENVELOPE'].map(from)).toEqual([
    'environment',
    'toolrack.json:3 /host',
    'default',
  ])
})

test('a variable of the command line is told from one of the environment', () => {
  const { inForce } = readConfig({ PORT: '1', HOST: '::1' }, ['PORT'])
  expect([inForce.get('PORT')?.from, inForce.get('HOST')?.from]).toEqual(['command line', 'environment'])
})

describe('one error', () => {
  test('names everything that is wrong in the file and in the environment, each with its place', () => {
    const text = `{
  "prt": 1,
  "port": "8787",
  "storeMb": 0,
  "corsOrigins": ["SECRET"],
  "TOOLRACK_RUNNER_SLOTS": 3,
  "zzz": 3,
  "kService": "x"
}`
    const env = { LIST_ENVELOPE: 'SECRET', RUNNER_SERVICE: 'runner', PORT: '1' }
    const { faults, report } = withFile(text, env)
    expect(faults).toEqual([
      'toolrack.json:2 /prt is not known: did you mean port?',
      'toolrack.json:3 /port must be a whole number',
      'toolrack.json:6 /TOOLRACK_RUNNER_SLOTS is not known: did you mean runnerSlots?',
      'toolrack.json:7 /zzz is not known',
      expect.stringMatching(/^toolrack\.json:8 \/kService cannot be in the file: the platform/),
      'toolrack.json:4 /storeMb must be from 1 to 1000000',
      'LIST_ENVELOPE must be array or items',
      expect.stringMatching(/^toolrack\.json:5 \/corsOrigins must be origins/),
      'TOOLRACK_REGION or RUNNER_REGION must be set if RUNNER_SERVICE is set',
      expect.stringMatching(/^GOOGLE_CLOUD_PROJECT must be set/),
    ])
    expect(() => report.config()).toThrow(report.faults.join('; '))
    expect(faults.join()).not.toContain('SECRET')
  })

  test.each([
    ['{"port": 1,}', 'toolrack.json is not valid JSON (line 1, column 12)'],
    ['{"port": 1, "port": 2}', /^toolrack\.json \/port holds the same key twice/],
    ['{"__proto__": 1}', /^toolrack\.json \/__proto__ holds the key __proto__/],
    ['[]', 'toolrack.json must be a JSON object'],
    ['', 'toolrack.json is empty'],
    ['\uFEFF{}', /^toolrack\.json starts with a byte order mark/],
    [`{"a": ${'['.repeat(40)}${']'.repeat(40)}}`, /is nested deeper than 32 levels$/],
    [`{"a": "${'x'.repeat(1024 * 1024)}"}`, 'TOOLRACK_CONFIG: toolrack.json has more than 1048576 bytes'],
  ])('refuses a file that is %.20j', (text, fault) => {
    expect(withFile(text).faults).toEqual([typeof fault === 'string' ? fault : expect.stringMatching(fault)])
  })

  test('says why a file cannot be read', () => {
    using folder = temporaryFolder()
    mkdirSync(join(folder.path, 'folder'))
    const faults = ['none.json', 'folder'].flatMap(
      (name) => readConfig({ TOOLRACK_CONFIG: join(folder.path, name) }).faults,
    )
    expect(faults).toEqual([
      `TOOLRACK_CONFIG: ${folder.path}/none.json cannot be read (ENOENT)`,
      `TOOLRACK_CONFIG: ${folder.path}/folder is not a file`,
    ])
    expect(parseConfig({ TOOLRACK_CONFIG: '' }).port).toBe(8787)
  })
})

test('a file with secrets that other accounts can read is a warning, which names the keys', () => {
  const secret = { runnerUrl: 'https://runner.example', runnerSecret: 'x' }
  expect(withFile(secret, {}, 0o640).notices).toEqual([
    [expect.stringMatching(/0600/), { file: undefined, keys: ['runnerSecret'] }],
  ])
  expect(withFile(secret).notices).toEqual([])
  expect(withFile({ port: 1 }, {}, 0o644).notices).toEqual([])
})
