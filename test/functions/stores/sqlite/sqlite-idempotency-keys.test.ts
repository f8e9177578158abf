import { expect, test } from '@jest/globals'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { KEY_KEPT_MS } from '../../../../functions/src/features/once/idempotency-keys.ts'
import type { KeyBounds } from '../../../../functions/src/features/once/idempotency-keys.ts'
import { openGovernance } from '../../../../functions/src/stores/sqlite/open-governance.ts'
import { SqliteIdempotencyKeys } from '../../../../functions/src/stores/sqlite/sqlite-idempotency-keys.ts'
import { ann, claimOf, ended, idempotencyKeysContract } from '../../../support/idempotency-keys.contract.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

/** Two connections to one file, each with its own clock. */
function open(bounds?: KeyBounds) {
  const folder = temporaryFolder()
  const path = join(folder.path, 'governance.sqlite')
  const one = connection(path, bounds)
  const other = connection(path, bounds)
  return {
    path,
    databases: [one.database, other.database] as const,
    connections: [one.keys, other.keys] as const,
    clocks: [one.clock, other.clock] as const,
    dispose: async () => {
      await Promise.resolve()
      for (const { database } of [one, other]) database.close()
      folder[Symbol.dispose]()
    },
  }
}

function connection(path: string, bounds?: KeyBounds) {
  const database = openGovernance(path)
  const clock = { nowMs: 1_700_000_000_000 }
  const options = { now: () => clock.nowMs, busyWaitMs: 20_000, ...(bounds && { bounds }) }
  return { database, clock, keys: new SqliteIdempotencyKeys(database, options) }
}

idempotencyKeysContract((bounds) => Promise.resolve(open(bounds)))

const TEXT = { kind: 'text', text: 'x'.repeat(9_744) } as const

test('when all users together have too much, who has most loses the oldest', async () => {
  const harness = open({ userBytes: 100_000, allBytes: 150_000, userKeys: 1_000 })
  const [keys] = harness.connections
  for (let index = 0; index < 9; index += 1) await ended(keys, { uid: 'bob', id: `k${index}` }, TEXT)
  for (let index = 0; index < 9; index += 1) await ended(keys, ann(`k${index}`), TEXT)
  const stateOf = async (uid: string) => {
    const states: (string | undefined)[] = []
    for (let index = 0; index < 9; index += 1)
      states.push((await keys.claim({ uid, id: `k${index}` }, claimOf()))?.state)
    return states.filter((state) => state === 'ended').length
  }
  expect([await stateOf('bob'), await stateOf('ann')].toSorted()).toEqual([7, 8])
  await harness.dispose()
})

test('a user with too many keys is refused a new one, and keeps the old ones', async () => {
  const harness = open({ userBytes: 100_000, allBytes: 150_000, userKeys: 3 })
  const [keys] = harness.connections
  for (let index = 0; index < 3; index += 1) await ended(keys, ann(`k${index}`), TEXT)
  await expect(keys.claim(ann('k3'), claimOf())).rejects.toMatchObject({ code: 'SERVICE_BUSY' })
  expect(await keys.claim(ann('k0'), claimOf())).toMatchObject({ state: 'ended' })
  expect(await keys.claim({ uid: 'bob', id: 'k3' }, claimOf())).toBeUndefined()
  harness.clocks[0].nowMs += KEY_KEPT_MS
  expect(await keys.claim(ann('k3'), claimOf())).toBeUndefined()
  await harness.dispose()
})

test('the sums are those of the rows, after keys and results came and went in every way', async () => {
  const harness = open({ userBytes: 50_000, allBytes: 120_000, userKeys: 1_000 })
  const [keys] = harness.connections
  for (let index = 0; index < 300; index += 1) {
    harness.clocks[0].nowMs += KEY_KEPT_MS / 100
    const key = { uid: `user${(index * 7) % 5}`, id: `k${index}` }
    const claim = claimOf()
    await keys.claim(key, claim)
    if (index % 4 === 0) await keys.release(key, claim.owner)
    else if (index % 4 > 1)
      await keys.complete(key, claim.owner, { kind: 'text', text: 'ü'.repeat((index * 7_919) % 9_000) })
  }
  const [database] = harness.databases
  const all = (sql: string) => database.prepare(sql).all()
  expect(all('SELECT uid, keys, bytes FROM call_key_sums ORDER BY uid')).toEqual(
    all(`SELECT uid, count(*) AS keys, coalesce(sum((SELECT bytes FROM call_results WHERE call = call_keys.number)), 0) AS bytes
      FROM call_keys GROUP BY uid ORDER BY uid`),
  )
  expect(all('SELECT bytes FROM call_results_sum')).toEqual(
    all('SELECT sum(bytes) AS bytes FROM call_results'),
  )
  await harness.dispose()
})

test('a full disk refuses the claim; a full disk after the claim loses the outcome and keeps the key', async () => {
  const harness = open()
  const [database] = harness.databases
  const [keys, other] = harness.connections
  const claim = claimOf({ leaseMs: 1_000 })
  await keys.claim(ann('before'), claim)
  fill(database)
  const large = { kind: 'text', text: 'x'.repeat(200_000) } as const
  await expect(keys.complete(ann('before'), claim.owner, large)).rejects.toMatchObject({ code: 'STORE_FULL' })
  await expect(claimUntilFull(keys)).rejects.toMatchObject({ code: 'STORE_FULL' })
  harness.clocks[1].nowMs += 1_000
  expect(await other.claim(ann('before'), claimOf())).toMatchObject({ state: 'lost' })
  await harness.dispose()
})

/** Lets the file have no more pages than it has. */
function fill(database: DatabaseSync): void {
  const pages = Number(database.prepare('PRAGMA page_count').get()?.['page_count'])
  database.exec(`PRAGMA max_page_count = ${pages}`)
}

async function claimUntilFull(keys: SqliteIdempotencyKeys): Promise<void> {
  for (let index = 0; index < 5_000; index += 1) await keys.claim(ann(`new${index}`), claimOf())
}

test('at a start, the calls that have not ended are lost, and no others', async () => {
  const harness = open()
  const [keys, other] = harness.connections
  await keys.claim(ann('running'), claimOf())
  await ended(keys, ann('ended'), TEXT)
  await other.endLeases()
  expect(await keys.claim(ann('running'), claimOf())).toMatchObject({ state: 'lost' })
  expect(await keys.claim(ann('ended'), claimOf())).toMatchObject({ state: 'ended' })
  await harness.dispose()
})
