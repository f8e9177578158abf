import { describe, expect, test } from '@jest/globals'
import { aliasOf, DIALECTS, isToolrackError } from '@toolrack/contract'
import { atOnce } from '../../../../functions/src/loop-turn.ts'
import { listAnswer } from '../../../../functions/src/catalog/views/list-answer.ts'
import { writeCursor } from '../../../../functions/src/catalog/views/list-query.ts'
import { AskedLists } from '../../../../functions/src/features/list/asked-lists.ts'
import { catalogView } from '../../../support/catalog-view.ts'
import { tool } from '../../../support/definition-changes.ts'

const asked = new AskedLists({ envelope: 'array' })

test('a query is read once, and means the same for every path', () => {
  const first = asked.read('names=a&scope=@web')
  expect(asked.read('names=a&scope=@web')).toBe(first)
  const { query, listFilter } = asked.read('names=a&scope=@web', 'talk')
  expect(query).toBe(first.query)
  expect(listFilter).toEqual({ session: 'talk', scopes: first.listFilter?.scopes })
  expect(asked.read('names=a&scope=@web')).toBe(first)
})

test('a query with a fault is refused each time', () => {
  for (let times = 0; times < 2; times += 1) {
    expect(() => asked.read('nmaes=a')).toThrow(/nmaes/)
    expect(() => asked.read('session=one', 'talk')).toThrow(/is named by the path already/)
  }
})

test('the envelope of a server is that of a list that names none, and is in no list of a dialect', () => {
  const items = new AskedLists({ envelope: 'items' })
  const envelopeOf = (search: string): string => items.read(search).query.envelope
  expect(['', 'envelope=array', 'envelope=items'].map(envelopeOf)).toEqual(['items', 'array', 'items'])
  for (const dialect of DIALECTS) expect(envelopeOf(`dialect=${dialect}`)).toBe('array')
})

const many = (count: number): string => Array.from({ length: count }, (_, index) => `tool_${index}`).join(',')

describe('the names in a query', () => {
  const names = ['a', 'b', 'c', 'weather:get', 'dot.ted', 'x__y:z', 'p:q', 'p__q']
  const view = catalogView({ user: names.map((name) => tool(name)), file: [tool('READ_FILE')] })

  function listed(search: string) {
    const { query } = asked.read(search)
    const { body, unknown } = atOnce(listAnswer(view, query, { defaultWorkflow: 'flow' }))
    const tools = JSON.parse(body.toString()) as readonly { function: { name: string } }[]
    return { names: tools.map((one) => one.function.name), unknown }
  }

  test.each<[string, readonly string[]]>([
    ['names=a,b', ['a', 'b']],
    ['names=,a,,b,', ['a', 'b']],
    ['names=%20a%20,%20b', ['a', 'b']],
    ['names=b,a,b', ['a', 'b']],
    ['names[]=a&names[]=b', ['a', 'b']],
    ['names%5B%5D=a&names%5B%5D=b', ['a', 'b']],
    ['names=a&names=b', ['a', 'b']],
    ['names=a,b&names=c', ['a', 'b', 'c']],
    ['name=a', ['a']],
    ['only=a,b', ['a', 'b']],
    ['names=["a","b"]', ['a', 'b']],
    ['names=%20%5B%22a%22%5D', ['a']],
    ['names=["a"]&names[]=b&name=c&only=READ_FILE', ['a', 'b', 'c', 'READ_FILE']],
    ['names=[]', []],
    ['names=[]&names=a', ['a']],
    ['names=A', []],
    ['names=nothing_of_this', []],
    ['names=weather:get', ['weather:get']],
    ['names=weather__get', ['weather:get']],
    ['names=weather__get,weather:get', ['weather:get']],
    [`names=${aliasOf('dot.ted')}`, ['dot.ted']],
    [`names=${aliasOf('x__y:z')}`, ['x__y:z']],
    // A tool of exactly that name comes before one whose alias it is.
    ['names=p__q', ['p__q']],
    ['names=p:q', ['p:q']],
  ])('?%s lists exactly what it names', (search, expected) => {
    expect(listed(search).names).toEqual(expected)
  })

  test.each([
    'names=',
    'names=,',
    'names=%20,%20,',
    'names[]=',
    'name=',
    'only=',
    'names=["",%20" "]',
    'tags=,&category=',
  ])('?%s is blank and filters nothing', (search) => {
    expect(listed(search)).toEqual(listed(''))
    expect(listed(search).names).toHaveLength(names.length + 1)
  })

  test('a@sha256 lists that version, and leaves another one out without calling it unknown', () => {
    const digest = view.winner('weather:get')?.digest
    const other = view.winner('a')?.digest
    expect(listed(`names=weather:get@${digest},a`)).toEqual({ names: ['a', 'weather:get'] })
    expect(listed(`names=weather__get@${digest}`).names).toEqual(['weather:get'])
    expect(listed(`names=weather:get@${other}`)).toEqual({ names: [] })
    expect(listed(`names=weather:get@${other},weather:get`).names).toEqual(['weather:get'])
  })

  test('at most 20 unknown names are told, those that are valid, and how many more there are', () => {
    expect(listed('names=a').unknown).toBeUndefined()
    expect(listed('').unknown).toBeUndefined()
    expect(listed('names=a,gone,lost@sha256:00').unknown).toBe('gone,lost')
    expect(listed(`names=${many(20)}`).unknown).toBe(many(20))
    expect(listed(`names=${many(25)}`).unknown).toBe(`${many(20)},+5`)
    expect(listed('names=no such,gone,%3Cscript%3E').unknown).toBe('gone,+2')
    expect(listed('names=no such').unknown).toBe('+1')
  })

  test('200 names are looked up and 201 are refused, also if several parameters have them', () => {
    expect(listed(`names=${many(199)},a`).names).toEqual(['a'])
    for (const search of [`names=${many(201)}`, `names=${many(200)}&name=a`])
      expect(faultOf(search).message).toBe('The parameter names holds 201 names; at most 200 are allowed.')
  })
})

test.each([
  ['tags=red', ['red'], []],
  ['tags=red,blue', ['red', 'blue'], []],
  ['tags=red&tags=blue', ['red', 'blue'], []],
  ['tags[]=red', ['red'], []],
  ['tags=Red', ['Red'], []],
  ['category=shapes&tags=round', ['round'], ['shapes']],
])('?%s asks for these tags and categories', (search, tags, categories) => {
  const { query } = asked.read(search)
  expect([[...query.tags], [...query.categories]]).toEqual([tags, categories])
})

/** What is thrown for a query. */
function faultOf(search: string) {
  try {
    asked.read(search)
  } catch (error) {
    if (isToolrackError(error)) return { code: error.code, message: error.message, details: error.details }
    throw error
  }
  throw new Error(`?${search} was not refused`)
}

const LIMIT = 'must be a whole number from 1 to 1000'
const ENVELOPE = 'must be array or items'
const DIALECT = 'must be openai or openai-responses or openai-strict or anthropic or gemini or mcp'
const FLAG = 'must be 0 or 1 or false or true'
const CURSOR = 'is not one that this service gave; take it from the Link header'
const BUDGET = 'must be a whole number of tokens from 0 to 999999999999999, such as 4000'
const of = (parameter: string, values: readonly string[], fault: string) =>
  values.map((value) => [parameter, value, fault] as const)
const numbers = Array.from({ length: 51 }, (_, n) => n).join()

test.each([
  ...of('limit', ['0', '-1', '1e9', '1000000000', '1001', 'abc', '', '1.5', '0x10', '٣'], LIMIT),
  ...of('envelope', ['', 'Array', 'object', 'items,array'], ENVELOPE),
  ...of('dialect', ['', 'OpenAI', 'claude', 'openai,gemini', 'constructor'], DIALECT),
  ...of('strict', ['', 'yes', '2', 'TRUE'], FLAG),
  ...of('tokens', ['yes'], FLAG),
  ...of('budget', ['-1', '1.5', 'abc', '', '1e3', '0x10', '٣', ' 1', '1000000000000000'], BUDGET),
  ...of('cursor', ['', 'abc', '€', 'dXNlci8', '../../etc/passwd', 'x'.repeat(10_000)], CURSOR),
  ['cursor', Buffer.from('nolayer/a').toString('base64url'), CURSOR],
  ['cursor', Buffer.from('user/not a name').toString('base64url'), CURSOR],
  ['cursor', `${writeCursor({ layer: 'user', name: 'a' })}=`, CURSOR],
  ['tags', numbers, 'holds 51 values; at most 50 are allowed'],
  ['category', numbers, 'holds 51 values; at most 50 are allowed'],
  ...of('names', ['[a,b]', '["a"', '["a",1]', '[["a"]]', '[null]', '['], 'is not a JSON array of strings'),
] as const)('%s=%j is refused with the parameter and what is allowed', (parameter, value, fault) => {
  expect(faultOf(`${parameter}=${encodeURIComponent(value)}`)).toEqual({
    code: 'PARAMETER_INVALID',
    message: `The parameter ${parameter} ${fault}.`,
    details: [{ reason: 'PARAMETER_INVALID', parameter }],
  })
})

test.each([
  ['limit=5&limit=6', 'limit', /is given more than once\.$/],
  ['dialect=mcp&dialect=mcp', 'dialect', /is given more than once\.$/],
  ['envelope=items&envelope=items', 'envelope', /is given more than once\.$/],
  ['cursor=a&cursor=b', 'cursor', /is given more than once\.$/],
  ['strict=0&strict=1', 'strict', /is given more than once\.$/],
  ['budget=1&budget=1', 'budget', /is given more than once\.$/],
  ['names=a&names=[', 'names', /is not a JSON array of strings\.$/],
  ['budget=10&limit=5', 'limit', /cannot be used with budget, which is for the whole list; leave it out\.$/],
  ['budget=10&cursor=Z2xvYmFsL2E', 'cursor', /cannot be used with budget/],
  ['scope=', 'scope', /character 1\. Did you mean all, or none\?/],
  ['scope=a,,b', 'scope', /character 3\. Is there a comma too many\?/],
  ['scope=git_[ab]', 'scope', /character 5\. Did you mean several items\?/],
  ['scope=all,git_*', 'scope', /character 1\. Did you mean all alone/],
  [Array(9).fill('scope=all').join('&'), 'scope', /is given 9 times; at most 8 are allowed/],
])('?%s is refused with the parameter and the reason', (search, parameter, message) => {
  expect(faultOf(search)).toEqual({
    code: 'PARAMETER_INVALID',
    message: expect.stringMatching(message),
    details: [expect.objectContaining({ reason: 'PARAMETER_INVALID', parameter })],
  })
})

test.each(['openai-responses', 'anthropic', 'gemini', 'mcp'])('the dialect %s has no items', (dialect) => {
  expect(faultOf(`dialect=${dialect}&envelope=items`).message).toBe(
    'The parameter envelope must be array in this dialect; items go with openai and openai-strict.',
  )
})

test.each(['bogus=1', 'Names=a', 'limits=3', 'constructor=1', '__proto__=1', 'name s=1', '=1', 'filter[]=a'])(
  '?%s is not known, and the refusal lists what is',
  (search) => {
    const { code, message } = faultOf(search)
    expect(code).toBe('PARAMETER_UNKNOWN')
    expect(message).toMatch(
      /known are names, name, only, tags, category, q, with, loaded, dialect, envelope, strict, healthy, scope, session, limit, cursor, budget, tokens, explain\.$/,
    )
  },
)
