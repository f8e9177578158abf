import { expect, test } from '@jest/globals'
import { ClientLayerReader } from '../../../../functions/src/stores/firestore/layer-readers.ts'

test('is open when the client is there', async () => {
  const { promise, resolve } = Promise.withResolvers<never>()
  let isOpen = false
  const opening = new ClientLayerReader(() => promise).open().then(() => (isOpen = true))
  await new Promise((next) => setImmediate(next))
  expect(isOpen).toBe(false)
  resolve(undefined as never)
  await opening
})

test('a client that can not be had fails the read, not the opening', async () => {
  const reader = new ClientLayerReader(() => Promise.reject(new Error('no credentials')))
  await reader.open()
  await expect(reader.read()).rejects.toThrow('no credentials')
})
