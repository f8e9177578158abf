import { expect, test } from '@jest/globals'
import { documentJson } from '../../../../functions/src/stores/firestore/foreign-documents.ts'
import { restData } from '../../../../functions/src/stores/firestore/rest-data.ts'

test('values with a form in JSON come out as they were put in', () => {
  const data = restData({
    text: { stringValue: '' },
    no: { booleanValue: false },
    nothing: { nullValue: null },
    whole: { integerValue: '9007199254740991' },
    half: { doubleValue: 0.5 },
    list: { arrayValue: { values: [{ integerValue: '0' }, { mapValue: {} }] } },
    empty: { arrayValue: {} },
    map: { mapValue: { fields: { inner: { stringValue: 'x' } } } },
  })
  expect(data).toEqual({
    text: '',
    no: false,
    nothing: null,
    whole: 9_007_199_254_740_991,
    half: 0.5,
    list: [0, {}],
    empty: [],
    map: { inner: 'x' },
  })
  expect(documentJson(data)).toEqual({ json: data })
})

test('a document without fields is empty', () => {
  expect(restData()).toEqual({})
})

test.each([
  ['a time', { timestampValue: '2020-01-01T00:00:00Z' }, 'is a Timestamp, which'],
  ['a place', { geoPointValue: { latitude: 1, longitude: 2 } }, 'is a GeoPoint, which'],
  ['bytes', { bytesValue: 'eHg=' }, 'is a Buffer, which'],
  [
    'a reference',
    { referenceValue: 'projects/p/databases/d/documents/a/b' },
    'is a DocumentReference, which',
  ],
  [
    'a vector',
    { mapValue: { fields: { __type__: { stringValue: '__vector__' } } } },
    'is a VectorValue, which',
  ],
  ['NaN', { doubleValue: 'NaN' }, 'is not a finite number, which'],
  ['infinity', { doubleValue: '-Infinity' }, 'is not a finite number, which'],
  ['a kind of tomorrow', { noveltyValue: 'x' }, 'is a noveltyValue, which'],
])('%s is told as the client tells it, and where it lies', (_title, value, message) => {
  const data = restData({ list: { arrayValue: { values: [value] } } })
  expect(documentJson(data)).toEqual({
    faults: [{ pointer: '/list/0', message: `${message} has no form in JSON` }],
  })
})
