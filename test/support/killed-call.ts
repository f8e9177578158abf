import { appendFileSync } from 'node:fs'
import { SqliteIdempotencyKeys } from '../../functions/src/stores/sqlite/sqlite-idempotency-keys.ts'
import { openGovernance } from '../../functions/src/stores/sqlite/open-governance.ts'
import type { ArgumentValidator } from '../../functions/src/tools/schemas/argument-validator.ts'
import { keyedCalls, RAN } from './once.ts'

// Runs one call with a key in this process, which is killed at the place that the third argument names.
const [database = '', executions = '', place = ''] = process.argv.slice(2)

/** Ends this process as `kill -9` does. */
function reach(reached: string): void {
  if (reached === place) process.kill(process.pid, 'SIGKILL')
}

const store = new SqliteIdempotencyKeys(openGovernance(database))

/** The function, which is reached before and after it does its work. */
function around<Args extends readonly unknown[], T>(name: string, act: (...args: Args) => Promise<T>) {
  return async (...args: Args): Promise<T> => {
    reach(`before ${name}`)
    const result = await act(...args)
    reach(`after ${name}`)
    return result
  }
}

const keys = {
  claim: around('the claim', store.claim),
  complete: around('the outcome is kept', store.complete),
  release: around('the release', store.release),
}
const nothing = (): Promise<void> => Promise.resolve()
const { ask } = keyedCalls(
  keys,
  around('the run', async ({ invocationId }) => {
    await Promise.resolve()
    appendFileSync(executions, `${invocationId}\n`)
    reach('in the run')
    return RAN
  }),
  {
    validator: {
      validate: around('the validation', () => Promise.resolve({ faults: [] })),
    } as unknown as ArgumentValidator,
    logs: {
      keep: around('the call is kept', nothing),
    },
    showCall: () => reach('before the answer'),
  },
)
const { meta, ...result } = await ask('k1')
console.log(JSON.stringify({ end: 'code' in result ? result.code : 'success', replayed: meta.replayed }))
