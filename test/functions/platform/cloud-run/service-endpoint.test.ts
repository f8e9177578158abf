import { expect, test } from '@jest/globals'
import { ServiceNotFoundError } from '../../../../functions/src/platform/cloud-run/find-service.ts'
import { ServiceEndpoint } from '../../../../functions/src/platform/cloud-run/service-endpoint.ts'

const FIRST = 'https://first.a.run.app'
const SECOND = 'https://second.a.run.app'

/** An address that is found as told, and how often it was looked for. */
function endpointWith(answers: readonly (string | Error)[], againMs = 0) {
  let lookUps = 0
  const find = (): Promise<string> => {
    const answer = answers[Math.min(lookUps, answers.length - 1)]
    lookUps += 1
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer ?? '')
  }
  return { address: new ServiceEndpoint(find, { againMs }), lookUps: () => lookUps }
}

test('nobody looks before it is needed, and then once, however many need it', async () => {
  const { address, lookUps } = endpointWith([FIRST])
  expect(lookUps()).toBe(0)
  expect(await Promise.all([address.get(), address.get(), address.get()])).toEqual([FIRST, FIRST, FIRST])
  expect(address.get()).toBe(FIRST)
  expect(lookUps()).toBe(1)
})

test('an address that failed is looked up again, once, and the new one is used', async () => {
  const { address, lookUps } = endpointWith([FIRST, SECOND])
  await address.get()
  address.doubt(FIRST)
  expect(await Promise.all([address.get(), address.get()])).toEqual([SECOND, SECOND])
  expect(lookUps()).toBe(2)
})

test('a failure of an address that is not used any more changes nothing', async () => {
  const { address, lookUps } = endpointWith([FIRST, SECOND])
  await address.get()
  address.doubt(FIRST)
  await address.get()
  address.doubt(FIRST)
  expect(await address.get()).toBe(SECOND)
  expect(lookUps()).toBe(2)
})

test('however often it fails, Cloud Run is not asked before its time', async () => {
  const { address, lookUps } = endpointWith([FIRST], 3_600_000)
  for (let failures = 0; failures < 10; failures += 1) {
    expect(await address.get()).toBe(FIRST)
    address.doubt(FIRST)
  }
  expect(lookUps()).toBe(1)
})

test('while Cloud Run does not answer, the address that was good once goes on', async () => {
  const { address, lookUps } = endpointWith([
    FIRST,
    new ServiceNotFoundError('Cloud Run did not tell.'),
    SECOND,
  ])
  await address.get()
  address.doubt(FIRST)
  expect(await address.get()).toBe(FIRST)
  expect(await address.get()).toBe(SECOND)
  expect(lookUps()).toBe(3)
})

test('a service that is gone has no address any more, until it is back', async () => {
  const gone = new ServiceNotFoundError('There is no service.', { isGone: true })
  const { address } = endpointWith([FIRST, gone, SECOND])
  await address.get()
  address.doubt(FIRST)
  await expect(address.get()).rejects.toBe(gone)
  expect(await address.get()).toBe(SECOND)
})
