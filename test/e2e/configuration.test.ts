import { afterAll, expect, test } from '@jest/globals'
import { spawnSync } from 'node:child_process'
import { chmodSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { EXIT } from '../../functions/src/hosts/local/start-error.ts'
import { invoked } from '../support/invocation.ts'
import { sharedServerWithRunner, uploaded } from '../support/modules.ts'
import { withPython } from '../support/runner-environment.ts'
import { failedStart } from '../support/server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const START = fileURLToPath(new URL('../../scripts/start.mjs', import.meta.url))

/** Runs `npm start --` of this checkout with these arguments, which must end by itself. */
function start(args: readonly string[], env: NodeJS.ProcessEnv) {
  const others = Object.entries(process.env).filter(([name]) => !/^(TOOLRACK_|RALPH_|PORT$|HOST$)/.test(name))
  const options = {
    env: { ...Object.fromEntries(others), ...env },
    encoding: 'utf8',
    timeout: 60_000,
  } as const
  const { status, stdout, stderr } = spawnSync(process.execPath, [START, ...args], options)
  const rows = stdout.split('\n').map((line) => line.split(/ {2,}/))
  const row = (name: string) => rows.find(([first]) => first === name)?.slice(1)
  return { status, stdout, stderr, row }
}

test('npm start -- --print-config shows each value, where it came from, and no secret', () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'toolrack.json')
  writeFileSync(
    path,
    '{\n  "host": "::1",\n  "port": 1,\n  "runnerUrl": "https://r.example",\n  "runnerSecret": "s3cret"\n}',
  )
  chmodSync(path, 0o600)
  const env = {
    TOOLRACK_CONFIG: path,
    TOOLRACK_STORE_MB: '99',
    RALPH_RESOURCE_LIMITS: '{"timeout_seconds":7}',
  }
  const { status, stdout, stderr, row } = start(['--print-config', '--port', '9405'], env)
  expect([status, stderr]).toEqual([0, ''])
  expect(row('PORT')).toEqual(['9405', 'command line'])
  expect(row('HOST')).toEqual(['::1', `${path}:2 /host`])
  expect(row('TOOLRACK_STORE_MB')).toEqual(['99', 'environment'])
  expect(row('TOOLRACK_CALL_TIMEOUT_SECONDS')).toEqual(['7', 'RALPH_RESOURCE_LIMITS:1 /timeout_seconds'])
  expect(row('TOOLRACK_RUNNER_MIN_ISOLATION')).toEqual(['L2', 'default'])
  expect(row('TOOLRACK_JOB_KEYS')).toEqual(['(not set)', 'default'])
  expect(row('RUNNER_SECRET')).toEqual(['(secret)', `${path}:5 /runnerSecret`])
  expect(stdout).not.toContain('s3cret')
})

test('with a wrong configuration it shows what can be used, names every fault, and ends with 1', () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'toolrack.json')
  writeFileSync(path, '{\n  "hosst": "::1",\n  "storeMb": 7\n}')
  const { status, stderr, row } = start(['--print-config'], { TOOLRACK_CONFIG: path, PORT: 's3cret' })
  expect(status).toBe(1)
  expect(stderr).toBe(
    `The configuration cannot be used:\n  ${path}:2 /hosst is not known: did you mean host?\n  PORT must be a number\n`,
  )
  expect(row('PORT')).toEqual(['(cannot be used)', 'see the faults'])
  expect(row('TOOLRACK_STORE_MB')).toEqual(['7', `${path}:3 /storeMb`])
})

test('a server with a wrong configuration does not start, and one error names every fault, also of folders and files', async () => {
  using data = temporaryFolder()
  const file = join(data.path, 'file')
  writeFileSync(file, '')
  const env = {
    PORT: 's3cret',
    LIST_ENVELOPE: 's3cret',
    TOOLRACK_STORE: 's3cret',
    RALPH_TOOLS_CONFIG: '/nowhere.json',
    TOOLRACK_DEFS_DIR: join(data.path, 'none'),
    TOOLRACK_TOOLS_DIR: file,
    TOOLRACK_RULES_FILE: join(data.path, 'rules.json'),
    TOOLRACK_AUDIT_LOG_PATH: join(data.path, 'none/audit.jsonl'),
    TOOLRACK_DATA: join(file, 'data'),
  }
  const { code, stdout, stderr } = await failedStart({ data: data.path, env })
  expect([code, stdout, readdirSync(data.path)]).toEqual([EXIT.badConfig, '', ['file']])
  expect(stderr).toBe(
    'The configuration cannot be used:\n' +
      '  RALPH_TOOLS_CONFIG: /nowhere.json cannot be read (ENOENT)\n' +
      '  PORT must be a number\n' +
      '  TOOLRACK_STORE must be sqlite or firestore\n' +
      '  TOOLRACK_RULES_FILE must be a file of rules that can be read (ENOENT)\n' +
      '  LIST_ENVELOPE must be array or items\n' +
      `  TOOLRACK_DEFS_DIR: ${env.TOOLRACK_DEFS_DIR} is not a folder that can be read\n` +
      `  TOOLRACK_TOOLS_DIR: ${file} is not a folder that can be read\n` +
      `  TOOLRACK_DATA: ${env.TOOLRACK_DATA} cannot be written (ENOTDIR)\n` +
      `  TOOLRACK_AUDIT_LOG_PATH: ${env.TOOLRACK_AUDIT_LOG_PATH} cannot be written (ENOENT)\n`,
  )
})

/** The files of the server that the last tests share. */
const folder = temporaryFolder()
afterAll(() => folder[Symbol.dispose]())
const [settings, ofRalph] = [join(folder.path, 'toolrack.json'), join(folder.path, 'tools.json')]
writeFileSync(settings, '{"listEnvelope": "items", "jobKeys": null, "runnerSecret": "s3cret"}')
chmodSync(settings, 0o644)
writeFileSync(ofRalph, '{"code_execution": {"timeout_seconds": 1, "memory_limit_mb": 64}}')
const started = sharedServerWithRunner({
  env: {
    TOOLRACK_CONFIG: settings,
    RALPH_RESOURCE_LIMITS: '{"max_file_size_mb": 3}',
    RALPH_SANDBOX_MODE: 'strict',
    RALPH_TOOLS_CONFIG: ofRalph,
    // An empty variable counts as not set.
    LIST_ENVELOPE: '',
    TOOLRACK_DATE: 'x',
  },
})

withPython('a server takes its settings from the file, and names in its log what has no effect', async () => {
  const server = await started()
  const list = await (await server.fetch('/workflows/tools/list')).json()
  expect(list).toHaveProperty('items')
  const expected = /^(?:info {2}runner is ready|warn {2}the event loop was delayed|call {2}|$)/
  const others = server.log.split('\n').filter((line) => !expected.test(line))
  expect(others).toEqual([
    'warn  environment variable is not known and has no effect  {"name":"TOOLRACK_DATE","similar":"TOOLRACK_DATA"}',
    expect.stringMatching(/^warn {2}other accounts can read secrets in the configuration file/),
    expect.stringMatching(/^warn {2}setting has no effect {2}\{"at":"RALPH_RESOURCE_LIMITS:1/),
  ])
  expect(server.log).not.toContain('s3cret')
})

const MODULE = `import time

def hold(megabytes: int) -> int:
    """Holds memory."""
    return len(bytearray(megabytes << 20))

def rest() -> str:
    """Never ends."""
    time.sleep(60)
    return ""

TOOL_SPECS = [{"name": "limits:hold", "handler": hold}, {"name": "limits:rest", "handler": rest}]
`

withPython('the limits of the TOOL_CONFIG of Ralph hold for each call', async () => {
  const server = await started()
  await uploaded(server, 'limits', MODULE)
  const results = await Promise.all([
    invoked(server, 'limits:hold', { megabytes: 8 }),
    invoked(server, 'limits:hold', { megabytes: 128 }),
    invoked(server, 'limits:rest'),
  ])
  expect(results.map(([, result]) => ('code' in result ? result.code : 'success'))).toEqual([
    'success',
    'MEMORY_LIMIT',
    'DEADLINE_EXCEEDED',
  ])
})
