import { expect, jest, test } from '@jest/globals'
import { Service } from '../../packages/client/src/service.ts'
import { waitForApproval } from '../../packages/client/src/wait-for-approval.ts'

const CALL = { id: 'a', expiresAt: '', name: 'ECHO', arguments: {} }

/** A service whose first answer never comes. */
function silentOnce() {
  let asked = 0
  const fetch = (_url: unknown, init?: RequestInit): Promise<Response> => {
    asked += 1
    if (asked > 1) return Promise.resolve(Response.json({ status: 'approved' }))
    return new Promise((_resolve, reject) =>
      init?.signal?.addEventListener('abort', () => reject(new Error('aborted'))),
    )
  }
  const service = new Service({
    service: 'http://127.0.0.1:1',
    token: 't',
    fetch,
  })
  return { service, asked: () => asked }
}

test('a question that is never answered is asked again', async () => {
  jest.useFakeTimers()
  const { service, asked } = silentOnce()
  const waiting = waitForApproval(service, CALL, () => undefined, undefined)
  await jest.advanceTimersByTimeAsync(12_000)
  expect(asked()).toBe(2)
  expect(await waiting).toBe(true)
  jest.useRealTimers()
})

test('a caller who leaves does so at once, and leaves no timer behind', async () => {
  jest.useFakeTimers()
  const { service } = silentOnce()
  const caller = new AbortController()
  const waiting = waitForApproval(service, CALL, () => undefined, caller.signal)
  await jest.advanceTimersByTimeAsync(1)
  caller.abort(new Error('left'))
  await expect(waiting).rejects.toThrow('left')
  expect(jest.getTimerCount()).toBe(0)
  jest.useRealTimers()
})
