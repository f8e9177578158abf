import { expect, test } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import {
  APPROVAL_KEPT_MS,
  APPROVAL_MS,
  ARGUMENTS_KEPT_MS,
  type Approval,
} from '../../../../functions/src/features/approvals/approval.ts'
import { ApprovalStore } from '../../../../functions/src/features/approvals/approval-store.ts'
import { Approvals, type AskingCall } from '../../../../functions/src/features/approvals/approvals.ts'
import { START_MS, type TwoDocuments } from '../../../support/two-stores.ts'

const NOW = START_MS

export function askingCall(more: Partial<AskingCall> = {}): AskingCall {
  return {
    uid: 'ann',
    tool: 'notes:write',
    digest: `sha256:${'d'.repeat(64)}`,
    mark: 'm',
    argumentsHash: 'h',
    arguments: { text: 'ü 🌧️' },
    asks: [{ owner: { kind: 'everybody', id: 'all' }, rule: 0, reason: 'Rule 0 says ask.', key: 'k' }],
    workflow: null,
    ...more,
  }
}

function approvals(store: ApprovalStore, nowMs = NOW): Approvals {
  return new Approvals({ store, now: () => nowMs })
}

/** What the approvals guarantee over every adapter of the documents. */
export function storeContract(start: () => TwoDocuments): void {
  /** `open` opens the same approvals again, as another instance. */
  async function withStore(
    act: (harness: { open: () => ApprovalStore; passes: (nowMs: number) => void }) => Promise<void>,
  ): Promise<void> {
    const { documents, clocks, dispose } = start()
    let opened = 0
    function open(): ApprovalStore {
      opened += 1
      return new ApprovalStore(documents[opened % 2 === 0 ? 0 : 1])
    }
    function passes(nowMs: number): void {
      for (const clock of clocks) clock.nowMs = nowMs
    }
    try {
      await act({ open, passes })
    } finally {
      await dispose()
    }
  }

  test('an approval is read by another instance as it was written, with its arguments, and only by its user', () =>
    withStore(async ({ open }) => {
      const asked = await approvals(open()).ask(askingCall())
      const other = open()
      expect(await other.read('ann')).toEqual([asked])
      expect(await other.arguments('ann', asked?.id ?? '')).toBe('{"sent":{"text":"ü 🌧️"}}')
      for (const uid of ['bob', 'ANN', 'a']) {
        expect(await other.read(uid)).toEqual([])
        expect(await other.arguments(uid, asked?.id ?? '')).toBeUndefined()
      }
    }))

  test('of many calls with one approval, at several instances at once, exactly one gets it', () =>
    withStore(async ({ open }) => {
      const instances = [open(), open(), open()].map((store) => approvals(store))
      const [one] = instances
      const call = askingCall()
      const id = (await one?.ask(call))?.id ?? ''
      await one?.decide('ann', id, { decision: 'once' })
      const taken = await Promise.allSettled(
        Array.from({ length: 9 }, async (_, at) => instances[at % 3]?.take(id, call, randomUUID())),
      )
      expect(taken.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      for (const other of taken)
        if (other.status === 'rejected')
          expect(other.reason).toMatchObject({
            code: expect.stringMatching(/^(APPROVAL_CONFLICT|STORE_BUSY)$/),
          })
    }))

  test('equal calls at once get one approval', () =>
    withStore(async ({ open }) => {
      const instances = [open(), open()].map((store) => approvals(store))
      const asked = await Promise.all(
        Array.from({ length: 4 }, async (_, at) => instances[at % 2]?.ask(askingCall())),
      )
      expect(new Set(asked.map((approval) => approval?.id)).size).toBe(1)
    }))

  test('the arguments of an approval that is dropped are erased', () =>
    withStore(async ({ open }) => {
      const store = open()
      const ours = approvals(store)
      const id = (await ours.ask(askingCall()))?.id ?? ''
      const kept = (await ours.ask(askingCall({ argumentsHash: 'other' })))?.id ?? ''
      await ours.remove('ann', id)
      expect((await store.read('ann')).map((approval: Approval) => approval.id)).toEqual([kept])
      expect(await store.arguments('ann', id)).toBeUndefined()
      expect(await store.arguments('ann', kept)).toBeDefined()
    }))

  test('the arguments of an always are gone a day after they were written, and the always stays', () =>
    withStore(async ({ open, passes }) => {
      const store = open()
      const id = (await approvals(store).ask(askingCall()))?.id ?? ''
      await approvals(store).decide('ann', id, { decision: 'always' })
      const endMs = NOW + ARGUMENTS_KEPT_MS
      passes(endMs - 1)
      expect(await store.arguments('ann', id)).toBeDefined()
      passes(endMs)
      expect(await store.arguments('ann', id)).toBeUndefined()
      expect(await approvals(store, endMs).list('ann')).toMatchObject([{ id, state: 'always' }])
      expect(await approvals(store, endMs).ask(askingCall())).toMatchObject({ id, state: 'always' })
    }))

  test('a day after its end an approval is erased with the next question', () =>
    withStore(async ({ open, passes }) => {
      const store = open()
      const id = (await approvals(store).ask(askingCall()))?.id ?? ''
      const laterMs = NOW + APPROVAL_MS + APPROVAL_KEPT_MS
      passes(laterMs)
      await approvals(store, laterMs).ask(askingCall({ argumentsHash: 'other' }))
      expect((await store.read('ann')).map((approval) => approval.id)).not.toContain(id)
      expect(await store.arguments('ann', id)).toBeUndefined()
    }))
}
