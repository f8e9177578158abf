import { expect, test } from '@jest/globals'
import { newJobKeys, parseJobKeys } from '../../../functions/src/access/job-keys.ts'
import { ecKey, jobKeysText, rsaKey } from '../../support/signed-tokens.ts'

const one = ecKey('one')
const two = ecKey('two')
const jwk = (key = one): object => ({ ...key.privateKey.export({ format: 'jwk' }), kid: key.kid })
const keySet = (...keys: readonly object[]): string => JSON.stringify({ keys })

test('a key set is read in its order', () => {
  expect(parseJobKeys(jobKeysText(two, one))?.map(({ kid }) => kid)).toEqual(['two', 'one'])
})

test('what else a key says is left out', () => {
  const [key = {}] =
    parseJobKeys(keySet({ ...jwk(), use: 'sig', alg: 'ES256', x5u: 'https://a.example' })) ?? []
  expect(Object.keys(key)).toEqual(['kty', 'crv', 'kid', 'x', 'y', 'd'])
})

test('new keys are a key set with one key, another each time', () => {
  const [first, second] = [newJobKeys(), newJobKeys()].map((text) => parseJobKeys(text))
  expect([first?.length, second?.length]).toEqual([1, 1])
  expect(first?.[0].kid).not.toBe(second?.[0].kid)
  expect(first?.[0].d).not.toBe(second?.[0].d)
})

test.each<[string, string]>([
  ['nothing', ''],
  ['no JSON', '{'],
  ['null', 'null'],
  ['a key in place of a set', JSON.stringify(jwk())],
  ['an empty set', keySet()],
  ['keys that are no list', JSON.stringify({ keys: jwk() })],
  ['a key that is null', JSON.stringify({ keys: [null] })],
  ['a public key', keySet({ ...one.publicKey.export({ format: 'jwk' }), kid: 'one' })],
  ['a key without a kid', keySet({ ...jwk(), kid: undefined })],
  ['an empty kid', keySet({ ...jwk(), kid: '' })],
  ['two keys of one kid', keySet(jwk(), { ...jwk(two), kid: 'one' })],
  ['five keys', keySet(...[1, 2, 3, 4, 5].map((n) => ({ ...jwk(), kid: `${n}` })))],
  ['an RSA key', keySet({ ...rsaKey('r').privateKey.export({ format: 'jwk' }), kid: 'r' })],
  ['a secret', keySet({ kty: 'oct', k: 'c2VjcmV0', kid: 'one' })],
  ['another curve', keySet({ ...jwk(), crv: 'P-384' })],
  ['a point that is not on the curve', keySet({ ...jwk(), x: 'AAAA' })],
  ['a good key beside a bad one', keySet(jwk(), { kid: 'two' })],
])('%s is no key set', (_what, text) => {
  expect(parseJobKeys(text)).toBeUndefined()
})
