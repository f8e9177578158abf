import { expect, test } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import {
  IdempotencyKeys,
  KEY_KEPT_MS,
  type KeyBounds,
} from '../../../../functions/src/features/once/idempotency-keys.ts'
import type { StoredOutcome } from '../../../../functions/src/features/once/stored-outcome.ts'
import { retried } from '../../../support/documents.contract.ts'
import type { Clock, TwoDocuments } from '../../../support/two-stores.ts'

const HOUR_MS = 60 * 60 * 1_000
const DONE: StoredOutcome = { kind: 'json', text: '{"b": 1.0,  "a": "ü🌧️"}' }

export const ann = (id = 'k1') => ({ uid: 'ann', id })
export const claimOf = (more: { hash?: string; leaseMs?: number } = {}) => ({
  hash: 'h1',
  owner: randomUUID(),
  leaseMs: 60_000,
  ...more,
})

/** The keys of two instances. */
export function keysOf({ documents: [one, other], clocks }: TwoDocuments, bounds?: KeyBounds) {
  const [first, second] = clocks
  const more = bounds ? { bounds } : {}
  return [
    new IdempotencyKeys(one, { now: () => first.nowMs, ...more }),
    new IdempotencyKeys(other, { now: () => second.nowMs, ...more }),
  ] as const
}

type Harness = {
  readonly connections: readonly [IdempotencyKeys, IdempotencyKeys]
  readonly clocks: readonly [Clock, Clock]
}

/** What the keys guarantee over every adapter of the documents. */
export function storeContract(open: () => TwoDocuments): void {
  async function withKeys(act: (harness: Harness) => Promise<void>, bounds?: KeyBounds): Promise<void> {
    const opened = open()
    try {
      await act({ connections: keysOf(opened, bounds), clocks: opened.clocks })
    } finally {
      await opened.dispose()
    }
  }

  test('of many claims through two connections at once exactly one gets the key', () =>
    withKeys(async ({ connections }) => {
      const claims = Array.from({ length: 16 }, (_, index) =>
        retried(() => connections[index % 2 === 0 ? 0 : 1].claim(ann(), claimOf())),
      )
      const kept = await Promise.all(claims)
      expect(kept.filter((each) => each === undefined)).toHaveLength(1)
      expect(kept.filter((each) => each?.state === 'running')).toHaveLength(15)
    }))

  test('an outcome is found as it was kept, through the other connection too', () =>
    withKeys(async ({ connections: [one, other] }) => {
      const outcomes: readonly StoredOutcome[] = [
        DONE,
        { kind: 'text', text: '' },
        { kind: 'text', text: 'x'.repeat(256 * 1024) },
        { kind: 'failure', text: 'It raised\n"this".', code: 'TOOL_RAISED' },
        {
          kind: 'failure',
          text: 'It waits.',
          code: 'APPROVAL_REQUIRED',
          approval: { id: randomUUID(), expiresAt: '2026-01-02T03:04:05.678Z' },
        },
      ]
      for (const [index, outcome] of outcomes.entries()) {
        const claim = claimOf({ hash: `h${index}` })
        expect(await one.claim(ann(`k${index}`), claim)).toBeUndefined()
        await one.complete(ann(`k${index}`), claim.owner, outcome)
        const kept = { hash: `h${index}`, state: 'ended', outcome }
        expect(await other.claim(ann(`k${index}`), claimOf({ hash: 'other' }))).toEqual(kept)
        expect(await one.claim(ann(`k${index}`), claimOf())).toEqual(kept)
      }
    }))

  test('the keys of two users are apart', () =>
    withKeys(async ({ connections: [keys] }) => {
      expect(await keys.claim(ann(), claimOf())).toBeUndefined()
      expect(await keys.claim({ uid: 'bob', id: 'k1' }, claimOf())).toBeUndefined()
    }))

  test('a key that was released is free, and only its owner can release or complete it', () =>
    withKeys(async ({ connections: [one, other] }) => {
      const claim = claimOf()
      await one.claim(ann(), claim)
      await other.release(ann(), randomUUID())
      await other.complete(ann(), randomUUID(), DONE)
      expect(await other.claim(ann(), claimOf())).toEqual({ hash: 'h1', state: 'running' })
      await one.release(ann(), claim.owner)
      const second = claimOf()
      expect(await other.claim(ann(), second)).toBeUndefined()
      await one.complete(ann(), claim.owner, DONE)
      expect(await one.claim(ann(), claimOf())).toEqual({ hash: 'h1', state: 'running' })
      await other.complete(ann(), second.owner, DONE)
      await other.release(ann(), second.owner)
      expect(await one.claim(ann(), claimOf())).toMatchObject({ state: 'ended' })
    }))

  test('after its lease a call is lost, and no other gets its key; a late outcome is kept', () =>
    withKeys(async ({ connections: [one, other], clocks }) => {
      const claim = claimOf({ leaseMs: 1_000 })
      await one.claim(ann(), claim)
      for (const clock of clocks) clock.nowMs += 999
      expect(await other.claim(ann(), claimOf())).toMatchObject({ state: 'running' })
      for (const clock of clocks) clock.nowMs += 1
      expect(await other.claim(ann(), claimOf())).toMatchObject({ state: 'lost' })
      expect(await one.claim(ann(), claimOf())).toMatchObject({ state: 'lost' })
      await one.complete(ann(), claim.owner, DONE)
      expect(await other.claim(ann(), claimOf())).toMatchObject({ state: 'ended', outcome: DONE })
    }))

  test.each([-1, 1])('a clock that is %d hour off never frees a key within 24 hours', (hours) =>
    withKeys(async ({ connections: [one, other], clocks }) => {
      clocks[1].nowMs += hours * HOUR_MS
      const [ended, running] = [claimOf(), claimOf()]
      await one.claim(ann('ended'), ended)
      await one.claim(ann('running'), running)
      expect(await other.claim(ann('running'), claimOf())).toMatchObject({
        state: hours < 0 ? 'running' : 'lost',
      })
      await one.complete(ann('ended'), ended.owner, DONE)
      for (const clock of clocks) clock.nowMs += 24 * HOUR_MS - 1
      expect(await other.claim(ann('ended'), claimOf())).toMatchObject({ state: 'ended' })
      expect(await other.claim(ann('running'), claimOf())).toBeDefined()
    }),
  )

  test('a key is free after its time', () =>
    withKeys(async ({ connections: [one, other], clocks }) => {
      const first = claimOf()
      await one.claim(ann(), first)
      await one.complete(ann(), first.owner, DONE)
      for (const clock of clocks) clock.nowMs += KEY_KEPT_MS
      const second = claimOf({ hash: 'h2' })
      expect(await other.claim(ann(), second)).toBeUndefined()
      await one.complete(ann(), first.owner, DONE)
      expect(await one.claim(ann(), claimOf())).toEqual({ hash: 'h2', state: 'running' })
    }))

  test('a result that is dropped leaves its key', () =>
    withKeys(
      async ({ connections: [keys], clocks }) => {
        for (const id of ['k1', 'k2', 'k3', 'k4']) {
          for (const clock of clocks) clock.nowMs += 1
          await ended(keys, ann(id), { kind: 'text', text: 'x'.repeat(9_000) })
        }
        expect(await keys.claim(ann('k1'), claimOf())).toEqual({ hash: 'h1', state: 'dropped' })
        expect(await keys.claim(ann('k4'), claimOf())).toMatchObject({ state: 'ended' })
      },
      { userBytes: 20_000, allBytes: 10_000_000, userKeys: 1_000 },
    ))
}

/** Claims a key and completes it with this outcome. */
export async function ended(
  keys: IdempotencyKeys,
  key: { readonly uid: string; readonly id: string },
  outcome: StoredOutcome,
): Promise<void> {
  const claim = claimOf()
  expect(await keys.claim(key, claim)).toBeUndefined()
  await keys.complete(key, claim.owner, outcome)
}
