import { describe, expect, test } from '@jest/globals'
import { GeoPoint, Timestamp } from '@google-cloud/firestore'
import { documentJson } from '../../../../functions/src/stores/firestore/foreign-documents.ts'

describe('documentJson', () => {
  test('gives maps, lists and plain values as they are', () => {
    const data = { a: [1, 'two', null, { b: true }], 'odd/~key': {}, empty: [] }
    expect(documentJson(data)).toEqual({ json: data })
  })

  test.each([
    ['a time', Timestamp.fromMillis(0), 'is a Timestamp, which has no form in JSON'],
    ['a place', new GeoPoint(1, 2), 'is a GeoPoint, which has no form in JSON'],
    ['bytes', Buffer.from('x'), 'is a Buffer, which has no form in JSON'],
    ['NaN', Number.NaN, 'is not a finite number, which has no form in JSON'],
    ['infinity', Number.POSITIVE_INFINITY, 'is not a finite number, which has no form in JSON'],
  ])('names %s and where it lies', (_title, value, message) => {
    expect(documentJson({ list: [{ 'a/b': value }] })).toEqual({
      faults: [{ pointer: '/list/0/a~1b', message }],
    })
  })
})
