import { expect, test } from '@jest/globals'
import { SharedWork } from '../../functions/src/shared-work.ts'

/** Work that ends when the test says so, or when all callers have left. */
function controlled() {
  const begun: { readonly signal: AbortSignal; readonly resolve: (value: string) => void }[] = []
  const begin = (signal: AbortSignal): Promise<string> => {
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    signal.addEventListener('abort', () => reject(signal.reason as Error))
    begun.push({ signal, resolve })
    return promise
  }
  return { begun, begin }
}

test('work is begun once for those who wait for it, and again for those who come later', async () => {
  const { begun, begin } = controlled()
  const shared = new SharedWork<string, string>()
  const both = [shared.run('a', undefined, begin), shared.run('a', new AbortController().signal, begin)]
  const other = shared.run('b', undefined, begin)
  expect(begun).toHaveLength(2)
  begun[0]?.resolve('one')
  begun[1]?.resolve('other')
  expect([...(await Promise.all(both)), await other]).toEqual(['one', 'one', 'other'])
  const later = shared.run('a', undefined, begin)
  expect(begun).toHaveLength(3)
  begun[2]?.resolve('two')
  expect(await later).toBe('two')
})

test('who leaves does not end the work of the others; when the last one leaves, it ends', async () => {
  const { begun, begin } = controlled()
  const shared = new SharedWork<string, string>()
  const callers = [new AbortController(), new AbortController(), new AbortController()]
  const [first, second, third] = callers.map(({ signal }) => shared.run('a', signal, begin))
  callers[0]?.abort(new Error('first left'))
  await expect(first).rejects.toThrow('first left')
  expect(begun[0]?.signal.aborted).toBe(false)
  callers[1]?.abort(new Error('second left'))
  await expect(second).rejects.toThrow('second left')
  expect(begun[0]?.signal.aborted).toBe(false)
  callers[2]?.abort(new Error('third left'))
  expect(begun[0]?.signal.aborted).toBe(true)
  await expect(third).rejects.toThrow('third left')
})

test('who comes after all have left gets new work, which the end of the old one does not disturb', async () => {
  const { begun, begin } = controlled()
  const shared = new SharedWork<string, string>()
  const caller = new AbortController()
  const first = shared.run('a', caller.signal, begin)
  caller.abort(new Error('left'))
  const second = shared.run('a', undefined, begin)
  expect(begun).toHaveLength(2)
  await expect(first).rejects.toThrow('left')
  const third = shared.run('a', undefined, begin)
  expect(begun).toHaveLength(2)
  begun[1]?.resolve('new')
  expect(await Promise.all([second, third])).toEqual(['new', 'new'])
})

test('a caller who has left before begins nothing, and an error reaches all who wait', async () => {
  const shared = new SharedWork<string, string>()
  let begun = 0
  const fail = (): Promise<string> => {
    begun += 1
    return Promise.reject(new Error('failed'))
  }
  await expect(shared.run('a', AbortSignal.abort(new Error('left')), fail)).rejects.toThrow('left')
  expect(begun).toBe(0)
  const both = [shared.run('a', undefined, fail), shared.run('a', new AbortController().signal, fail)]
  for (const one of both) await expect(one).rejects.toThrow('failed')
  await expect(shared.run('a', undefined, fail)).rejects.toThrow('failed')
  expect(begun).toBe(2)
})
