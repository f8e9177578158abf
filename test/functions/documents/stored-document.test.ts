import { expect, test } from '@jest/globals'
import { isJsonObject, ToolrackError } from '@toolrack/contract'
import { put, type Collection } from '../../../functions/src/documents/collection.ts'
import { Kept } from '../../../functions/src/documents/documents.ts'
import {
  bodyBytes,
  checkRef,
  fitting,
  foundOf,
  isCounted,
  stored,
  unexpired,
  versionsOf,
  type StoredDocument,
} from '../../../functions/src/documents/stored-document.ts'

const NOTES: Collection = { name: 'notes', owner: 'user', fields: isJsonObject }
const write = (of: Collection, fields: object, before?: StoredDocument, body?: string) =>
  stored(put({ of, key: 'a' }, fields, body), before)

const refuse = ({ count, bytes }: { count: number; bytes: number }) =>
  new ToolrackError('SERVICE_BUSY', `${count} ${bytes}`)

test('a document counts its text, its body and its earlier versions, and 512 bytes', () => {
  const of: Collection = { ...NOTES, versions: 2 }
  const first = write(of, { text: 'é' }, undefined, 'body')
  expect(first).toEqual({
    text: '{"text":"é"}',
    version: 1,
    body: 'body',
    past: undefined,
    place: null,
    expiresAtMs: null,
    bytes: 512 + 13 + 4,
  })
  const second = write(of, { text: 'x' }, first)
  expect(second).toMatchObject({ version: 2, bytes: 512 + 12 + Buffer.byteLength(second.past ?? '') })
  expect(write(of, { text: 'x' }, second)).toEqual(second)
})

test('of bodies that can be dropped only they count', () => {
  const of: Collection = { ...NOTES, quota: { bytes: 1, dropsOldest: { allBytes: 2 } } }
  expect([write(of, {}).bytes, write(of, {}, undefined, 'body').bytes]).toEqual([0, bodyBytes('body')])
  expect(isCounted(of, undefined, write(of, {}, undefined, 'body'))).toBe(false)
})

test('earlier versions are at most 512 KB, and the oldest go first', () => {
  const of: Collection = { ...NOTES, versions: 20 }
  let document: StoredDocument | undefined
  for (let at = 1; at <= 9; at += 1) document = write(of, { text: `${at}`.repeat(100_000) }, document)
  expect(Buffer.byteLength(document?.past ?? '')).toBeLessThanOrEqual(512 * 1024)
  const kept = new Kept({ of, key: 'a' }, document as StoredDocument)
  expect(versionsOf(of, kept, document?.past).map(({ version }) => version)).toEqual([9, 8, 7, 6, 5, 4])
})

test('a quota without an error refuses nothing: earlier versions make room', () => {
  const of: Collection = { ...NOTES, versions: 3, quota: { bytes: 1_000 } }
  const before = write(of, { text: 'x'.repeat(300) })
  const after = write(of, { text: 'y'.repeat(900) }, before)
  expect(fitting(of, before, after, { count: 5, bytes: 2_000 })).toMatchObject({
    version: 2,
    past: undefined,
  })
})

test('the error of a quota is told what the sums would be', () => {
  const of: Collection = { ...NOTES, quota: { count: 3, bytes: 2_000, refuse } }
  const after = write(of, {})
  expect(fitting(of, undefined, after, { count: 2, bytes: 1_400 })).toEqual(after)
  expect(() => fitting(of, undefined, after, { count: 3, bytes: 0 })).toThrow('4 514')
  expect(() => fitting(of, undefined, after, { count: 1, bytes: 1_900 })).toThrow('2 2414')
  const larger = write(of, { text: 'x' })
  expect(() => fitting(of, after, larger, { count: 3, bytes: 2_000 })).toThrow('3 2010')
  expect(fitting(of, larger, after, { count: 9, bytes: 9_000 })).toEqual(after)
})

test('a document is there until the moment of its end', () => {
  const of: Collection<{ readonly endMs: number }> = {
    name: 'notes',
    owner: 'user',
    fields: (value): value is { endMs: number } => isJsonObject(value),
    expires: ({ endMs }) => endMs,
  }
  const document = stored(put({ of, key: 'a' }, { endMs: 5 }), undefined)
  expect([unexpired(document, 4), unexpired(document, 5)]).toEqual([document, undefined])
})

test('a text that is no JSON, or of another form, is STORE_FAILED when its fields are needed', () => {
  for (const text of ['no JSON', '[]']) {
    const [kept] = foundOf([{ of: NOTES, key: 'a' }], [{ ...write(NOTES, {}), text }])
    expect(kept?.text).toBe(text)
    expect(() => kept?.fields).toThrow(expect.objectContaining({ code: 'STORE_FAILED' }))
  }
})

test('an owner and a key that do not fit the collection are a bug', () => {
  expect(() => checkRef('ann', { of: NOTES, key: 'a' })).not.toThrow()
  for (const [owner, key] of [
    ['', 'a'],
    ['ann', 'a/b'],
    ['ann', '..'],
    ['ann', '__a__'],
    ['ann', ''],
  ] as const)
    expect(() => checkRef(owner, { of: NOTES, key })).toThrow(TypeError)
})
