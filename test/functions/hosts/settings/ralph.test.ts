import { expect, test } from '@jest/globals'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig } from '../../../../functions/src/hosts/config.ts'
import { readRalph } from '../../../../functions/src/hosts/settings/ralph.ts'
import { optional } from '../../../../functions/src/settings/variables.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

/** The TOOL_CONFIG of the specification. */
const TOOL_CONFIG = {
  file_operations: {
    max_file_size_mb: 10,
    allowed_extensions: ['.py', '.md'],
    forbidden_paths: ['/etc', '/usr', '/var'],
  },
  code_execution: { timeout_seconds: 20, memory_limit_mb: 128, allowed_commands: ['python', 'pip'] },
  web_requests: { timeout_seconds: 10, max_response_size_mb: 5, allowed_domains: ['*.github.com'] },
}

/** Reads the settings with a TOOL_CONFIG file and with these variables. */
function withToolConfig(content: unknown, env: NodeJS.ProcessEnv = {}) {
  using folder = temporaryFolder()
  const path = join(folder.path, 'tools.json')
  writeFileSync(path, JSON.stringify(content, undefined, 1))
  const report = readConfig({ ...env, RALPH_TOOLS_CONFIG: path })
  const without = (text: unknown): string => String(text).replaceAll(`${folder.path}/`, '')
  return {
    report,
    faults: report.faults.map(without),
    idle: report.notices.map(({ fields }) => without(fields['at'])),
  }
}

test('the limits of code become those of a call, and each key without effect is named', () => {
  const { report, idle } = withToolConfig(TOOL_CONFIG)
  expect(report.config().callLimits).toEqual({ deadlineMs: 20_000, memoryBytes: 128 * 1024 * 1024 })
  expect(idle).toEqual([
    'tools.json:3 /file_operations/max_file_size_mb',
    'tools.json:4 /file_operations/allowed_extensions',
    'tools.json:8 /file_operations/forbidden_paths',
    'tools.json:17 /code_execution/allowed_commands',
    'tools.json:23 /web_requests/timeout_seconds',
    'tools.json:24 /web_requests/max_response_size_mb',
    'tools.json:25 /web_requests/allowed_domains',
  ])
  for (const { message, fields } of report.notices)
    expect([message, fields['reason']]).toEqual(['setting has no effect', expect.any(String)])
})

test('RALPH_RESOURCE_LIMITS overrides the file, and a variable of Toolrack overrides both', () => {
  const env = { RALPH_RESOURCE_LIMITS: '{"timeout_seconds": 40, "max_file_size_mb": 1}' }
  const { report, idle } = withToolConfig(TOOL_CONFIG, env)
  expect(report.config().callLimits.deadlineMs).toBe(40_000)
  expect(report.inForce.get('TOOLRACK_CALL_TIMEOUT_SECONDS')?.from).toBe(
    'RALPH_RESOURCE_LIMITS:1 /timeout_seconds',
  )
  expect(idle).toContain('RALPH_RESOURCE_LIMITS:1 /max_file_size_mb')
  const own = withToolConfig(TOOL_CONFIG, { ...env, TOOLRACK_CALL_TIMEOUT_SECONDS: '50' })
  expect(own.report.config().callLimits).toEqual({ deadlineMs: 50_000, memoryBytes: 128 * 1024 * 1024 })
})

test('limits of calls become those of each user, from the file and from RALPH_RESOURCE_LIMITS', () => {
  const config = { code_execution: { calls_per_minute: 30, concurrent_calls: 4 } }
  const { report, idle } = withToolConfig(config, { RALPH_RESOURCE_LIMITS: '{"concurrent_calls": 2}' })
  expect(report.config().settings).toMatchObject({
    TOOLRACK_USER_CALLS_PER_MINUTE: 30,
    TOOLRACK_USER_CALLS_AT_ONCE: 2,
  })
  expect(idle).toEqual([])
})

test('what is wrong is a fault with its place; a foreign key is only named', () => {
  const { faults, idle } = withToolConfig(
    {
      code_execution: { timeout_second: 1, memory_limit_mb: '256', timeout_seconds: 0 },
      web_request: {},
      file_operations: [],
      planner: {},
      constructor: {},
    },
    { RALPH_RESOURCE_LIMITS: '{"memory_limit_mb": 1}', RALPH_SANDBOX_MODE: 'SECRET' },
  )
  expect(faults).toEqual([
    'tools.json:3 /code_execution/timeout_second is not known: did you mean timeout_seconds?',
    'tools.json:4 /code_execution/memory_limit_mb must be a whole number',
    'tools.json:7 /web_request is not known: did you mean web_requests?',
    'tools.json:8 /file_operations must be an object',
    'RALPH_SANDBOX_MODE must be strict or off',
    'tools.json:5 /code_execution/timeout_seconds must be from 1 to 3600',
    'RALPH_RESOURCE_LIMITS:1 /memory_limit_mb must be from 32 to 4096',
  ])
  expect(idle).toEqual(['tools.json:9 /planner', 'tools.json:10 /constructor'])
  expect(readConfig({ RALPH_RESOURCE_LIMITS: '{' }).faults).toEqual([
    'RALPH_RESOURCE_LIMITS is not valid JSON (it ends too early)',
  ])
  expect(readConfig({ RALPH_TOOLS_CONFIG: '/nowhere' }).faults).toEqual([
    'RALPH_TOOLS_CONFIG: /nowhere cannot be read (ENOENT)',
  ])
})

const environment = (env: NodeJS.ProcessEnv) => readConfig(env).config().runner.environment

test('a strict sandbox is level L3, and no mode switches the sandbox off', () => {
  for (const mode of ['strict', 'Strict', 'true', '1'])
    expect(environment({ RALPH_SANDBOX_MODE: mode })).toEqual({ TOOLRACK_RUNNER_MIN_ISOLATION: 'L3' })
  expect(environment({ RALPH_SANDBOX_MODE: 'strict', TOOLRACK_RUNNER_MIN_ISOLATION: 'L2' })).toEqual({
    TOOLRACK_RUNNER_MIN_ISOLATION: 'L2',
  })
  expect(environment({ RALPH_SANDBOX_MODE: 'off' })).toEqual({})
  expect(readConfig({ RALPH_SANDBOX_MODE: 'off' }).notices).toHaveLength(1)
})

test('the path of the audit log is that of Toolrack, in a version that has one', () => {
  const env = { RALPH_AUDIT_LOG_PATH: '/var/log/audit.jsonl' }
  expect(readRalph({ TOOLRACK_AUDIT_LOG_PATH: optional }, env).settings).toEqual([
    expect.objectContaining({ name: 'TOOLRACK_AUDIT_LOG_PATH', text: '/var/log/audit.jsonl' }),
  ])
  expect(readRalph({}, env)).toMatchObject({
    settings: [],
    notices: [
      { fields: { at: 'RALPH_AUDIT_LOG_PATH', reason: 'this version has no TOOLRACK_AUDIT_LOG_PATH' } },
    ],
  })
})
