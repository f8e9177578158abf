import { afterEach, expect, test } from '@jest/globals'
import { isJsonObject, ToolrackError } from '@toolrack/contract'
import {
  EVERYBODY,
  keyOf,
  put,
  remove,
  type Collection,
  type Sums,
} from '../../functions/src/documents/collection.ts'
import type { Documents } from '../../functions/src/documents/documents.ts'
import { isText, object, type Test } from '../../functions/src/value-shape.ts'
import { START_MS, type Clock, type TwoDocuments } from './two-stores.ts'

type Note = { readonly text: string; readonly at?: number; readonly endMs?: number }

const isNote = object<Pick<Note, 'text'>>({ text: isText }) as Test<Note>
const NOTES: Collection<Note> = { name: 'notes', owner: 'both', fields: isNote, index: 'at' }
const full = (sums: Sums) => new ToolrackError('SERVICE_BUSY', `${sums.count} of ${sums.bytes} bytes`)
const SOON: Collection<Note> = {
  ...NOTES,
  name: 'soon',
  expires: ({ endMs = START_MS }) => endMs,
  quota: { count: 2, refuse: full },
}
const BOUND: Collection<Note> = { ...NOTES, name: 'bound', quota: { bytes: 2_000, refuse: full } }
const WEIGHED: Collection<Note> = {
  ...NOTES,
  name: 'weighed',
  weight: ({ at: bytes = 0 }) => bytes,
  quota: { bytes: 1_000, refuse: full },
}
const VERSIONED: Collection<Note> = { ...NOTES, name: 'versioned', versions: 3, quota: { bytes: 3_000 } }
const BODIES: Collection<Note> = { ...NOTES, name: 'bodies', hasBody: true }
const DROPPING: Collection<Note> = {
  ...BODIES,
  name: 'dropping',
  quota: { bytes: 100_000, dropsOldest: { allBytes: 10_000_000 } },
}

const note = (text: string, more: Partial<Note> = {}): Note => ({ text, ...more })
const at = (of: Collection<Note>, key: string) => ({ of, key })
/** Puts a note, whatever there was. */
export function putNote(
  documents: Documents,
  of: Collection<Note>,
  key: string,
  fields: Note,
  owner = 'ann',
) {
  return documents.change(owner, [at(of, key)], () => ({
    result: undefined,
    writes: [put(at(of, key), fields)],
  }))
}
async function textOf(documents: Documents, of: Collection<Note>, key: string, owner = 'ann') {
  const [kept] = await documents.read(owner, [at(of, key)])
  return kept?.fields.text
}

/** What every adapter of the documents guarantees. A bound of bytes may be exceeded by `slackBytes`. */
export function documentsContract(
  open: () => TwoDocuments,
  { slackBytes = 0 }: { readonly slackBytes?: number } = {},
): void {
  let opened: TwoDocuments | undefined
  afterEach(async () => {
    await opened?.dispose()
    opened = undefined
  })
  function two(): readonly [Documents, Documents, readonly Clock[]] {
    opened = open()
    return [...opened.documents, opened.clocks]
  }

  test('each owner, collection and key has a document of its own, which the other instance reads too', async () => {
    const [one, other] = two()
    await putNote(one, NOTES, 'a', note('of ann «é»'))
    await putNote(one, NOTES, 'a', note('of bob'), 'bob')
    await putNote(one, NOTES, 'a', note('of everybody'), EVERYBODY)
    await putNote(one, BODIES, 'a', note('another'))
    const texts = ['ann', 'bob', EVERYBODY, 'ANN', 'an'].map((owner) => textOf(other, NOTES, 'a', owner))
    expect(await Promise.all(texts)).toEqual(['of ann «é»', 'of bob', 'of everybody', undefined, undefined])
    const [body, none, first] = await other.read('ann', [at(BODIES, 'a'), at(NOTES, 'b'), at(NOTES, 'a')])
    expect([body?.fields.text, none, first?.fields.text]).toEqual(['another', undefined, 'of ann «é»'])
    expect(await other.read('ann', [])).toEqual([])
  })

  test('any id is a key, and what could be part of a path is none', async () => {
    const [one, other] = two()
    const ids = ['a/b', '..', '__x__', 'é 🌧️', '!a:c.example']
    for (const id of ids) await putNote(one, NOTES, keyOf({ kind: 'room', id }), note(id))
    for (const id of ids) expect(await textOf(other, NOTES, keyOf({ kind: 'room', id }))).toBe(id)
    for (const key of ['a/b', '.', '..', '__x__', ''])
      await expect(putNote(one, NOTES, key, note('x'))).rejects.toThrow(TypeError)
    const ofUser: Collection<Note> = { ...NOTES, owner: 'user' }
    await expect(putNote(one, ofUser, 'a', note('x'), EVERYBODY)).rejects.toThrow(TypeError)
  })

  test('a change sees what there is in all its documents, and its writes happen together', async () => {
    const [one, other] = two()
    await putNote(one, NOTES, 'a', note('first'))
    const refs = [at(NOTES, 'a'), at(BODIES, 'b')] as const
    const seen = await other.change('ann', refs, ([a, b]) => ({
      result: [a?.fields.text, b?.fields.text],
      writes: [remove(at(NOTES, 'a')), put(at(BODIES, 'b'), note('moved'), 'body')],
    }))
    expect(seen).toEqual(['first', undefined])
    const [a, b] = await one.read('ann', refs)
    expect([a, b?.fields, b?.body]).toEqual([undefined, note('moved'), 'body'])
    await one.change('ann', [at(NOTES, 'a')], () => ({
      result: undefined,
      writes: [put(at(BODIES, 'b'), note('not read before'))],
    }))
    const [after] = await other.read('ann', [at(BODIES, 'b')])
    expect([after?.fields, after?.body]).toEqual([note('not read before'), undefined])
  })

  test('with a weight, a quota counts the bytes that the document stands for, and not its own', async () => {
    const [one, other] = two()
    await putNote(one, WEIGHED, 'a', note('x'.repeat(5_000), { at: 600 }))
    await expect(putNote(other, WEIGHED, 'b', note('', { at: 401 }))).rejects.toMatchObject({
      code: 'SERVICE_BUSY',
      message: '2 of 1001 bytes',
    })
    await putNote(other, WEIGHED, 'b', note('', { at: 400 }))
    await putNote(one, WEIGHED, 'a', note('smaller', { at: 1 }))
    await putNote(other, WEIGHED, 'c', note('', { at: 599 }))
    await expect(putNote(one, WEIGHED, 'd', note('', { at: 1 }))).rejects.toMatchObject({
      code: 'SERVICE_BUSY',
    })
  })

  test('a plan that throws writes nothing, and its error reaches the caller; one without writes writes nothing', async () => {
    const [one] = two()
    await putNote(one, NOTES, 'a', note('first'))
    const refused = one.change('ann', [at(NOTES, 'a')], () => {
      throw new RangeError('not so')
    })
    await expect(refused).rejects.toThrow('not so')
    expect(await one.change('ann', [at(NOTES, 'a')], ([kept]) => ({ result: kept?.fields.text }))).toBe(
      'first',
    )
    expect(await textOf(one, NOTES, 'a')).toBe('first')
  })

  test('changes of two instances at once all happen, one after the other', async () => {
    const instances = two()
    const changes = Array.from({ length: 8 }, (_, index) =>
      instances[index % 2 ? 0 : 1].change('ann', [at(NOTES, 'a')], ([kept]) => ({
        result: undefined,
        writes: [put(at(NOTES, 'a'), note(`${kept?.fields.text ?? ''}x`))],
      })),
    )
    await Promise.all(changes)
    expect(await textOf(instances[0], NOTES, 'a')).toBe('x'.repeat(8))
  })

  test('a text and a body of 256 KB are kept as they are', async () => {
    const [one, other] = two()
    const text = `é${'x'.repeat(256 * 1024 - 2)}`
    const to = at(BODIES, 'a')
    await one.change('ann', [to], () => ({ result: undefined, writes: [put(to, note(text), `b${text}`)] }))
    const [kept] = await other.read('ann', [to])
    expect([kept?.fields.text, kept?.body]).toEqual([text, `b${text}`])
  })

  test('a list has the documents of one owner by key, after a key, without their bodies', async () => {
    const [one] = two()
    for (const key of ['b', 'a', 'B', 'a:1', 'a-1']) await putNote(one, BODIES, key, note(key))
    await putNote(one, BODIES, 'c', note('c'), 'bob')
    const to = at(BODIES, 'b')
    await one.change('ann', [to], () => ({ result: undefined, writes: [put(to, note('b'), 'large')] }))
    const listed = async (after: string | undefined, limit: number) =>
      (await one.list('ann', BODIES, { after, limit })).map(({ key }) => key)
    expect(await listed(undefined, 10)).toEqual(['B', 'a', 'a-1', 'a:1', 'b'])
    expect(await listed('a', 2)).toEqual(['a-1', 'a:1'])
    expect(await listed('aa', 2)).toEqual(['b'])
    const [last] = await one.list('ann', BODIES, { after: 'a:1', limit: 1 })
    expect([last?.fields, last?.body]).toEqual([note('b'), undefined])
  })

  test('a list by the index has the order of its values, or the documents with one value', async () => {
    const [one] = two()
    for (const [key, value] of [
      ['b', 2],
      ['d', 4],
      ['a', 1],
      ['c', 2],
    ] as const)
      await putNote(one, NOTES, key, note(key, { at: value }))
    await putNote(one, NOTES, 'none', note('none'))
    const listed = async (options: Parameters<Documents['list']>[2]) =>
      (await one.list('ann', NOTES, options)).map(({ key }) => key).join('')
    expect(await listed({ limit: 9, order: 'asc' })).toBe('abcd')
    expect(await listed({ limit: 3, order: 'desc' })).toBe('dcb')
    expect(await listed({ limit: 9, equal: 2 })).toBe('bc')
    expect(await listed({ limit: 9, equal: 2, after: 'b' })).toBe('c')
  })

  test('a document that has expired is as if it were not there, and makes room', async () => {
    const [one, other, clocks] = two()
    const endMs = START_MS + 1_000
    await putNote(one, SOON, 'a', note('a', { endMs }))
    await putNote(one, SOON, 'b', note('b', { endMs: START_MS + 60_000 }))
    await expect(putNote(one, SOON, 'c', note('c'))).rejects.toMatchObject({ code: 'SERVICE_BUSY' })
    for (const clock of clocks) clock.nowMs += 999
    expect(await textOf(other, SOON, 'a')).toBe('a')
    for (const clock of clocks) clock.nowMs += 1
    expect(await textOf(other, SOON, 'a')).toBeUndefined()
    expect((await other.list('ann', SOON, { limit: 1 })).map(({ key }) => key)).toEqual(['b'])
    expect(await other.change('ann', [at(SOON, 'a')], ([kept]) => ({ result: kept }))).toBeUndefined()
    await putNote(one, SOON, 'c', note('c', { endMs: START_MS + 60_000 }))
    expect((await one.list('ann', SOON, { limit: 9 })).map(({ key }) => key)).toEqual(['b', 'c'])
  })

  test('a quota refuses what is new or larger, never what is smaller, and each owner has an own one', async () => {
    const [one] = two()
    const large = note('x'.repeat(1_200))
    await putNote(one, BOUND, 'a', large)
    await expect(putNote(one, BOUND, 'b', note('b'))).rejects.toMatchObject({ code: 'SERVICE_BUSY' })
    await putNote(one, BOUND, 'b', large, 'bob')
    await putNote(one, BOUND, 'a', note('x'))
    await putNote(one, BOUND, 'b', note('b'))
    expect(await textOf(one, BOUND, 'b')).toBe('b')
    const refs = [at(BOUND, 'c'), at(BOUND, 'a')] as const
    const refused = one.change('ann', refs, () => ({
      result: undefined,
      writes: [remove(at(BOUND, 'a')), put(at(BOUND, 'c'), note('x'.repeat(1_900)))],
    }))
    await expect(refused).rejects.toMatchObject({ code: 'SERVICE_BUSY' })
    expect(await textOf(one, BOUND, 'a')).toBe('x')
  })

  test('versions are numbered from 1, the newest first, and as many are kept as there is room for', async () => {
    const [one, other] = two()
    const to = at(VERSIONED, 'a')
    const versions = async () =>
      (await other.history('ann', to)).map(({ version, fields }) => `${version}${fields.text.slice(0, 2)}`)
    expect(await versions()).toEqual([])
    for (const text of ['a', 'b', 'b', 'c', 'd']) await putNote(one, VERSIONED, 'a', note(text))
    expect(await versions()).toEqual(['4d', '3c', '2b'])
    const [kept] = await other.read('ann', [to])
    expect([kept?.version, kept?.fields.text]).toEqual([4, 'd'])
    // Without room for the earlier versions, there is only the present one. It is not refused.
    await putNote(one, VERSIONED, 'a', note('e'.repeat(2_460)))
    expect(await versions()).toEqual(['5ee'])
    await one.change('ann', [to], () => ({ result: undefined, writes: [remove(to)] }))
    expect(await versions()).toEqual([])
    await putNote(one, VERSIONED, 'a', note('f'))
    expect(await versions()).toEqual(['1f'])
  })

  test('of many claims of one key through two instances exactly one gets it, until it is removed or expires', async () => {
    const [one, other, clocks] = two()
    const to = at(SOON, 'key')
    const endMs = START_MS + 1_000
    const claims = Array.from({ length: 16 }, (_, index) =>
      retried(() => (index % 2 ? one : other).claim('ann', to, note(`${index}`, { endMs }))),
    )
    const kept = await Promise.all(claims)
    expect(kept.filter((each) => each === undefined)).toHaveLength(1)
    const texts = new Set(kept.flatMap((each) => each?.fields.text ?? []))
    expect([...texts]).toEqual([`${kept.indexOf(undefined)}`])
    expect(await other.claim('bob', to, note('of bob', { endMs }))).toBeUndefined()
    for (const clock of clocks) clock.nowMs = endMs
    expect(await other.claim('ann', to, note('later', { endMs: endMs + 1_000 }))).toBeUndefined()
    expect(await textOf(one, SOON, 'key')).toBe('later')
    await one.change('ann', [to], () => ({ result: undefined, writes: [remove(to)] }))
    expect(await one.claim('ann', to, note('again', { endMs: endMs + 1_000 }))).toBeUndefined()
  })

  test('an owner with too many bytes of bodies loses the own oldest ones, but no document', async () => {
    const [one, , clocks] = two()
    const keep = (key: string, owner = 'ann') =>
      one.change(owner, [at(DROPPING, key)], () => ({
        result: undefined,
        writes: [put(at(DROPPING, key), note(key), 'x'.repeat(9_000))],
      }))
    await keep('early', 'bob')
    const keys = Array.from({ length: 30 }, (_, index) => `k${index}`)
    for (const key of keys) {
      for (const clock of clocks) clock.nowMs += 1
      await keep(key)
    }
    const found = await one.read(
      'ann',
      keys.map((key) => at(DROPPING, key)),
    )
    expect(found.map((each) => each?.fields.text)).toEqual(keys)
    const kept = found.filter((each) => each?.body !== undefined).length
    expect(found.map((each) => each?.body !== undefined)).toEqual(keys.map((_, index) => index >= 30 - kept))
    expect(kept * 9_256).toBeLessThanOrEqual(100_000 + slackBytes)
    expect(kept * 9_256).toBeGreaterThan(100_000 - 2 * 9_256)
    const [early] = await one.read('bob', [at(DROPPING, 'early')])
    expect(early?.body).toBe('x'.repeat(9_000))
  })

  test('a document of another form is not read', async () => {
    const [one] = two()
    const strict: Collection<Note> = {
      ...NOTES,
      fields: object<Note>({ text: isText, at: isText as never, endMs: isText as never }),
    }
    const loose: Collection = { ...NOTES, fields: isJsonObject }
    await putNote(one, loose as Collection<Note>, 'a', { other: 1 } as never)
    const [kept] = await one.read('ann', [at(strict, 'a')])
    expect(() => kept?.fields).toThrow(expect.objectContaining({ code: 'STORE_FAILED' }))
  })
}

/** Tries again while the store has too many requests, as a caller does after `Retry-After`. */
export async function retried<T>(act: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await act()
    } catch (error) {
      if ((error as { code?: string }).code !== 'STORE_BUSY') throw error
    }
  }
}
