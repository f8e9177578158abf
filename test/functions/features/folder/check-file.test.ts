import { afterAll, expect, test } from '@jest/globals'
import { ToolrackError } from '@toolrack/contract'
import { checkFile, PACKAGES_AGAIN_MS } from '../../../../functions/src/features/folder/check-file.ts'
import type { CheckOutcome } from '../../../../functions/src/features/folder/check-file.ts'
import type { Runner } from '../../../../functions/src/catalog/definitions/runner.ts'
import { absentRunner } from '../../../../functions/src/catalog/definitions/runner.ts'
import { SchemaCompilers } from '../../../../functions/src/catalog/schemas/schema-compilers.ts'
import { checkedModule, readingRunner } from '../../../support/reading-runner.ts'

const compilers = new SchemaCompilers()
afterAll(() => compilers.close())
const told: string[] = []
const log = {
  info: () => undefined,
  warn: () => undefined,
  error: (message: string) => void told.push(message),
}

function checked(runner: Runner, source = '# "notes:a"'): Promise<CheckOutcome> {
  return checkFile({ name: 'notes', source: Buffer.from(source) }, { runner, compiler: compilers.own, log })
}

function refusing(reason: Error, health: Awaited<ReturnType<Runner['health']>>): Runner {
  return {
    ...readingRunner(),
    check: () => Promise.reject(reason),
    health: () => Promise.resolve(health),
  }
}

test('a good file is a module, with its source and the report of an upload', async () => {
  expect(await checked(readingRunner())).toMatchObject({
    module: {
      name: 'notes',
      source: '# "notes:a"',
      report: { specs: [{ name: 'notes:a', accepted: true }] },
    },
  })
})

test('a runner that is starting refuses for a while, one that is absent or below its level for good', async () => {
  const away = new ToolrackError('RUNNER_UNAVAILABLE', 'nothing was written')
  const starting = { status: 'starting', reason: 'It is being started.' } as const
  expect(await checked(refusing(away, starting))).toEqual({ refusal: starting.reason, isLasting: false })
  expect(await checked(absentRunner('There is no Python.'))).toEqual({
    refusal: 'There is no Python.',
    isLasting: true,
  })
  const ready = { status: 'ready', isolation: 'L1' } as const
  const below = new ToolrackError('ISOLATION_UNAVAILABLE', 'It is below.')
  expect(await checked(refusing(below, ready))).toEqual({ refusal: 'It is below.', isLasting: true })
  const busy = new ToolrackError('RUNNER_BUSY', 'It is busy.')
  expect(await checked(refusing(busy, ready))).toEqual({ refusal: 'It is busy.', isLasting: false })
})

test('packages that cannot be had now are no fault of the file, which is checked again later', async () => {
  const away = new ToolrackError('PACKAGES_UNAVAILABLE', 'The index is away.')
  expect(await checked(refusing(away, { status: 'ready', isolation: 'L2' }))).toEqual({
    refusal: 'The index is away.',
    isLasting: false,
    againMs: PACKAGES_AGAIN_MS,
  })
})

test('a service with as many checks as it takes refuses for a while, and the file has no fault', async () => {
  const busy = new ToolrackError('SERVICE_BUSY', 'It is busy.')
  const full = { compile: () => Promise.reject(busy) }
  const runner: Runner = {
    ...readingRunner(),
    health: () => Promise.resolve({ status: 'ready', isolation: 'L3' }),
  }
  const source = Buffer.from('# "notes:a"')
  const outcome = await checkFile({ name: 'notes', source }, { runner, compiler: full, log })
  expect(outcome).toEqual({ refusal: 'It is busy.', isLasting: false })
})

test('definitions that are too large together are a fault with its kind and cure', async () => {
  const names = Array.from({ length: 140 }, (_, index) => `"notes:tool_${index}"`)
  const large = checkedModule(names.join(), 'x'.repeat(16_000))
  const runner: Runner = { ...readingRunner(), check: () => Promise.resolve(large) }
  expect(await checked(runner)).toEqual({
    faults: [
      {
        reason: 'MODULE_INVALID',
        kind: 'definitions_too_large',
        message: expect.stringMatching(
          /^notes\.py: its definitions take 2,\d{3},\d{3} bytes together and may take 2,097,152\. Split/,
        ),
      },
    ],
  })
})

test('a module of several files is admitted with its texts, and named by the file with its specs', async () => {
  const files = [
    { path: '__init__.py', content: Buffer.from('# "notes:a"') },
    { path: 'more.txt', content: Buffer.from('é') },
  ]
  const parts = { compiler: compilers.own, log }
  const outcome = await checkFile({ name: 'notes', files }, { ...parts, runner: readingRunner() })
  expect(outcome).toMatchObject({
    module: {
      name: 'notes',
      files: [
        { path: '__init__.py', content: '# "notes:a"' },
        { path: 'more.txt', content: 'é' },
      ],
    },
  })
  const names = Array.from({ length: 140 }, (_, index) => `"notes:tool_${index}"`)
  const large = checkedModule(names.join(), 'x'.repeat(16_000))
  const runner: Runner = { ...readingRunner(), check: () => Promise.resolve(large) }
  const message = expect.stringMatching(/^notes\/__init__\.py: its definitions take /)
  expect(await checkFile({ name: 'notes', files }, { ...parts, runner })).toMatchObject({
    faults: [{ message }],
  })
})

test('a fault of the service is told without its reason, which is in the log', async () => {
  expect(await checked(refusing(new TypeError('a bug'), { status: 'ready', isolation: 'L3' }))).toEqual({
    faults: [
      {
        reason: 'INTERNAL',
        kind: 'not_checked',
        message: 'The service failed to check this file; its log has the reason.',
      },
    ],
  })
  expect(told).toEqual(['a module of the folder could not be checked'])
})
