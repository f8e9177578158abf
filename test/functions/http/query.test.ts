import { expect, test } from '@jest/globals'
import { isToolrackError } from '@toolrack/contract'
import { Query } from '../../../functions/src/http/query.ts'

const query = (search: string): Query => new Query(search, ['names', 'name', 'strict', 'limit', 'envelope'])

/** Code, parameter and sentence of what an action throws. */
function refusal(action: () => unknown): { code: string; parameter: unknown; message: string } {
  try {
    action()
  } catch (error) {
    if (isToolrackError(error))
      return { code: error.code, parameter: error.details[0]?.['parameter'], message: error.message }
    throw error
  }
  throw new Error('nothing was refused')
}

test.each([
  ['names=a&names=b', ['a', 'b']],
  ['names[]=a&names=b&names%5B%5D=c', ['a', 'b', 'c']],
  ['names=a%2Cb', ['a,b']],
  ['names=a+b', ['a b']],
  ['names=', ['']],
  ['names', ['']],
  ['', []],
  ['name=a', []],
  ['names=%E2%82%AC&names=%0D%0A', ['\u20AC', '\r\n']],
  ['names=%ff', ['\uFFFD']],
])('the values of names in %j are read in order', (search, values) => {
  expect(query(search).all('names')).toEqual(values)
})

test('a list is split at commas and loses its blanks', () => {
  expect(query('names=,a,%20b%20,&names=&names=c').set('names', 3)).toEqual(new Set(['a', 'b', 'c']))
})

test.each(['Names=a', 'nmaes=a', 'constructor=1', '__proto__=1', '=x', 'names[0]=a', 'names[][]=a'])(
  'an unknown parameter is refused with the known ones: %s',
  (search) => {
    const { code, message } = refusal(() => query(search))
    expect(code).toBe('PARAMETER_UNKNOWN')
    expect(message).toMatch(/known are names, name, strict, limit, envelope/)
  },
)

test('one known parameter is named in the singular', () => {
  expect(refusal(() => new Query('a=1', ['session'])).message).toBe(
    'The parameter a is not known here; known is session.',
  )
})

test('the name of an unknown parameter is repeated only when it is harmless', () => {
  expect(refusal(() => query('nmaes=SECRET')).message).toMatch(/^The parameter nmaes is not known/)
  const strange = refusal(() => query(`${encodeURIComponent('<b>\r\n\u20AC')}=SECRET`)).message
  expect(strange).toMatch(/^A parameter is not known here/)
  expect(strange).not.toMatch(/SECRET|<b>/)
  expect(refusal(() => new Query('x=1', [])).message).toMatch(/this route takes none/)
})

test.each([
  ['1', 1],
  ['1000', 1_000],
  ['007', 7],
])('limit=%s is %d', (text, value) => {
  expect(query(`limit=${text}`).integer('limit', 1, 1_000)).toBe(value)
})

test.each([
  '0',
  '-1',
  '1001',
  '1e9',
  '1000000000',
  '1e2',
  '1.5',
  '0x10',
  '+5',
  '%205',
  '',
  'ten',
  '%D9%A1',
  'NaN',
])('limit=%s is refused with what is allowed', (text) => {
  expect(refusal(() => query(`limit=${text}`).integer('limit', 1, 1_000))).toEqual({
    code: 'PARAMETER_INVALID',
    parameter: 'limit',
    message: 'The parameter limit must be a whole number from 1 to 1000.',
  })
})

test.each([
  ['strict=1', true],
  ['strict=true', true],
  ['strict=0', false],
  ['strict=false', false],
  ['', false],
])('the flag in %j is %s', (search, value) => {
  expect(query(search).flag('strict')).toBe(value)
})

test.each(['strict=', 'strict=yes', 'strict=TRUE', 'strict'])(
  '%s is refused with the allowed values',
  (search) => {
    const { parameter, message } = refusal(() => query(search).flag('strict'))
    expect([parameter, message]).toEqual(['strict', 'The parameter strict must be 0 or 1 or false or true.'])
  },
)

test('a choice is one of its values, its fallback without one, and anything else is refused without being repeated', () => {
  expect([choose('envelope=items'), choose('')]).toEqual(['items', 'array'])
  expect(refusal(() => choose('envelope=SECRET')).message).toBe(
    'The parameter envelope must be array or items.',
  )
})

test('a single parameter that comes twice is refused, in either spelling', () => {
  expect(refusal(() => query('limit=1&limit=2').one('limit')).message).toMatch(
    /limit is given more than once/,
  )
  expect(refusal(() => query('limit=1&limit[]=1').one('limit')).code).toBe('PARAMETER_INVALID')
})

test('a required parameter that is missing or empty is refused', () => {
  expect(query('name=a').required('name')).toBe('a')
  for (const search of ['', 'name=', 'name'])
    expect(refusal(() => query(search).required('name')).message).toBe('The parameter name is missing.')
})

function choose(search: string): string {
  return query(search).choice('envelope', ['array', 'items'], 'array')
}

const many = (count: number): Query =>
  query(`names=${Array.from({ length: 1_000 }, (_, n) => n % count).join()}`)

test('values are counted once each, and more than the most are refused', () => {
  expect(many(50).set('names', 50).size).toBe(50)
  expect(refusal(() => many(51).set('names', 50))).toEqual({
    code: 'PARAMETER_INVALID',
    parameter: 'names',
    message: 'The parameter names holds 51 values; at most 50 are allowed.',
  })
})
