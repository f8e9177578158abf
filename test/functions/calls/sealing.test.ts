import { expect, test } from '@jest/globals'
import { isSealed, newSealingKey, parseSealingKey } from '../../../functions/src/calls/sealing.ts'
import { newSealing } from '../../support/memory-governance.ts'

const PLACE = { kind: 'result', uid: 'ann', id: 'k' }
const TEXT = 'pässword: 🌧️ hunter2'

test('a sealed text does not have the text, is never the same twice, and opens at its place', () => {
  const sealing = newSealing()
  const [one, two] = [sealing.seal(TEXT, PLACE), sealing.seal(TEXT, PLACE)]
  expect(one).not.toBe(two)
  expect([isSealed(one), isSealed(TEXT), Buffer.from(one, 'base64url').includes('hunter2')]).toEqual([
    true,
    false,
    false,
  ])
  expect(sealing.open(one, PLACE)).toBe(TEXT)
  expect(sealing.open(sealing.seal('', PLACE), PLACE)).toBe('')
})

test('it does not open at another place, with another key, cut off, or with any changed character', () => {
  const sealing = newSealing()
  const sealed = sealing.seal(TEXT, PLACE)
  const others = [{ kind: 'other' }, { uid: 'bob' }, { id: 'l' }, { uid: 'ann"', id: '' }]
  for (const other of others) expect(sealing.open(sealed, { ...PLACE, ...other })).toBeUndefined()
  expect(newSealing().open(sealed, PLACE)).toBeUndefined()
  for (const text of [TEXT, '', 's1.', sealed.slice(0, -4), sealed.slice(0, 20)])
    expect(sealing.open(text, PLACE)).toBeUndefined()
  for (let at = 0; at < sealed.length; at += 1) {
    const changed = sealed.slice(0, at) + (sealed[at] === 'A' ? 'B' : 'A') + sealed.slice(at + 1)
    expect(sealing.open(changed, PLACE)).toBeUndefined()
  }
})

test('only the text that was sealed opens: nothing may be added to it, and its last bits may not change', () => {
  const sealing = newSealing()
  // The bytes of these texts leave 2, 0 and 4 bits of the last character unused.
  for (const text of ['x', 'xy', 'xyz']) {
    const sealed = sealing.seal(text, PLACE)
    expect(sealing.open(sealed, PLACE)).toBe(text)
    for (const more of ['=', '==', '\n', ' ', '!', '.', '\u0000'])
      expect(sealing.open(sealed + more, PLACE)).toBeUndefined()
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const opened = alphabet
      .split('')
      .filter((last) => sealing.open(sealed.slice(0, -1) + last, PLACE) === text)
    expect(opened).toEqual([sealed.at(-1)])
    const bytes = Buffer.from(sealed.slice(3), 'base64url')
    const standard = `s1.${bytes.toString('base64').replace(/=+$/, '')}`
    if (standard !== sealed) expect(sealing.open(standard, PLACE)).toBeUndefined()
  }
})

test('a key must be 32 bytes in base64 without a typing error', () => {
  const key = newSealingKey()
  expect(parseSealingKey(key)).toBeDefined()
  for (const bad of ['', 'a', key.slice(1), `${key.trim()}A`, key.replace(/^../, '!?'), key.trim().repeat(2)])
    expect(parseSealingKey(bad)).toBeUndefined()
})
