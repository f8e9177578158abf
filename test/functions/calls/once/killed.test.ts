import { expect, test } from '@jest/globals'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { embeddedGovernance } from '../../../../functions/src/hosts/local/governance.ts'
import { openGovernance } from '../../../../functions/src/stores/sqlite/open-governance.ts'
import { keyedCalls } from '../../../support/once.ts'
import { newSealing } from '../../../support/memory-governance.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const PROGRAM = fileURLToPath(new URL('../../../support/killed-call.ts', import.meta.url))

/** Where the service is killed, and what the same call gets from the next start of the service. */
const PLACES = {
  'before the validation': 'run',
  'after the validation': 'run',
  'before the claim': 'run',
  'after the claim': 'unknown',
  'before the run': 'unknown',
  'in the run': 'unknown',
  'after the run': 'unknown',
  'before the outcome is kept': 'unknown',
  'after the outcome is kept': 'replayed',
  'before the call is kept': 'replayed',
  'after the call is kept': 'replayed',
  'before the answer': 'replayed',
} as const

test.each(Object.entries(PLACES))('killed %s: the next call with the key is %s', async (place, expected) => {
  using folder = temporaryFolder()
  const [database, executions] = ['governance.sqlite', 'executions'].map((name) => join(folder.path, name))
  const flags = ['--disable-warning=ExperimentalWarning']
  const { signal, stdout, stderr } = spawnSync(
    process.execPath,
    [...flags, PROGRAM, database ?? '', executions ?? '', place],
    { encoding: 'utf8' },
  )
  expect([signal, stdout, stderr]).toEqual(['SIGKILL', '', ''])
  const before = existsSync(executions ?? '')
    ? readFileSync(executions ?? '', 'utf8').split('\n').length - 1
    : 0

  const { keys, close } = embeddedGovernance(openGovernance(database ?? ''), newSealing())
  const { ask, ran } = keyedCalls(keys)
  const result = await ask('k1')
  expect(before + ran.length).toBeLessThanOrEqual(1)
  const end = result.resultType === 'success' ? (result.meta.replayed ? 'replayed' : 'run') : result.code
  expect(end).toBe(expected === 'unknown' ? 'UNKNOWN_OUTCOME' : expected)
  expect(await ask('k1')).toMatchObject(
    expected === 'unknown' ? { code: 'UNKNOWN_OUTCOME' } : { meta: { replayed: true } },
  )
  expect(before + ran.length).toBeLessThanOrEqual(1)
  await close()
})
