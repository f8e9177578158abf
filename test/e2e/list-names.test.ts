import { aliasOf } from '@toolrack/contract'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { errorAnswer } from '../support/error-answer.ts'
import { Server } from '../support/server.ts'
import { listedNames, post, put, tool } from '../support/tool.ts'

const server = await Server.start()
afterAll(() => server[Symbol.asyncDispose]())
beforeAll(async () => {
  const names = ['a', 'b', 'c', 'weather:get', 'dot.ted', 'x__y:z']
  expect(
    (
      await post(
        server,
        names.map((name) => tool(name)),
      )
    ).status,
  ).toBe(200)
})

const FORMS: readonly [string, readonly string[]][] = [
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
]
test.each(FORMS)('?%s lists exactly what it names', async (query, names) => {
  expect(await listedNames(server, query)).toEqual(names)
})

test.each(['names=', 'names=,', 'names=%20,%20,', 'names[]=', 'name=', 'only=', 'names=["",%20" "]'])(
  '?%s is blank and filters nothing',
  async (query) => {
    expect(await listedNames(server, query)).toEqual(await listedNames(server))
  },
)

test.each(['names=[a,b]', 'names=["a"', 'names=["a",1]', 'names=[["a"]]', 'names=[null]', 'names=a&names=['])(
  '?%s is a broken array: a 400 that names the parameter, never a list of everything',
  async (query) => {
    const answer = await errorAnswer(await server.fetch(`/workflows/tools/list?${query}`))
    expect(answer).toMatchObject({
      httpStatus: 400,
      reason: 'PARAMETER_INVALID',
      details: [{ parameter: 'names' }],
    })
    expect(answer.message).toBe('The parameter names is not a JSON array of strings.')
  },
)

const many = (count: number): string => Array.from({ length: count }, (_, index) => `tool_${index}`).join(',')

test('200 names are answered and 201 are a 400 that says how many are allowed', async () => {
  expect(await listedNames(server, `names=${many(199)},a`)).toEqual(['a'])
  const answer = await errorAnswer(await server.fetch(`/workflows/tools/list?names=${many(201)}`))
  expect(answer).toMatchObject({ httpStatus: 400, reason: 'PARAMETER_INVALID' })
  expect(answer.message).toBe('The parameter names holds 201 names; at most 200 are allowed.')
})

test('200 names of 128 characters fit into an address, and 201 over several parameters are counted together', async () => {
  const long = Array.from({ length: 200 }, (_, index) => `n${index}`.padEnd(128, '_'))
  expect((await server.fetch(`/workflows/tools/list?names=${long.join(',')}`)).status).toBe(200)
  expect((await server.fetch(`/workflows/tools/list?names=${many(200)}&name=a`)).status).toBe(400)
})

test('a@sha256 lists the current version and leaves an older one out without calling it unknown', async () => {
  const digestOf = async (description: string): Promise<string> => {
    const answer = await put(server, 'versioned:tool', tool('versioned:tool', description))
    return ((await answer.json()) as { digest: string }).digest
  }
  const old = await digestOf('First.')
  const current = await digestOf('Second.')
  expect(await listedNames(server, `names=versioned:tool@${current},a`)).toEqual(['a', 'versioned:tool'])
  expect(await listedNames(server, `names=versioned__tool@${current}`)).toEqual(['versioned:tool'])
  const answer = await server.fetch(`/workflows/tools/list?names=versioned:tool@${old}`)
  expect(await answer.json()).toEqual([])
  expect(answer.headers.get('x-tools-unknown')).toBeNull()
  expect(await listedNames(server, `names=versioned:tool@${old},versioned:tool`)).toEqual(['versioned:tool'])
})

test('both families read every form alike', async () => {
  for (const [query] of FORMS) {
    const [users, jobs] = await Promise.all(
      ['workflows', 'jobs'].map(async (family) =>
        (await server.fetch(`/${family}/tools/list?${query}`)).text(),
      ),
    )
    expect(jobs).toBe(users)
  }
})

test('a tool of exactly that name comes before one whose alias it is', async () => {
  await post(server, [tool('p:q', 'Named with a colon.'), tool('p__q', 'Named with underscores.')])
  expect(await listedNames(server, 'names=p__q')).toEqual(['p__q'])
  expect(await listedNames(server, 'names=p:q')).toEqual(['p:q'])
})

async function unknownNames(query: string): Promise<string | null> {
  return (await server.fetch(`/workflows/tools/list?${query}`)).headers.get('x-tools-unknown')
}

test('X-Tools-Unknown holds at most 20 valid names and then how many more', async () => {
  expect(await unknownNames('names=a')).toBeNull()
  expect(await unknownNames('')).toBeNull()
  expect(await unknownNames('names=a,gone,lost@sha256:00')).toBe('gone,lost')
  expect(await unknownNames(`names=${many(20)}`)).toBe(many(20))
  expect(await unknownNames(`names=${many(25)}`)).toBe(`${many(20)},+5`)
  expect(await unknownNames('names=no such,gone,%3Cscript%3E')).toBe('gone,+2')
  expect(await unknownNames('names=no such')).toBe('+1')
})

const EURO = encodeURIComponent('€')
const CRLF = '%0D%0ASet-Cookie:%20stolen=1'
test.each([
  ['a euro sign', `names=${EURO}`],
  ['a euro sign among names', `names=a,pri${EURO}ce`],
  ['CRLF', `names=a${CRLF},${CRLF}`],
  ['CRLF in a JSON array', `names=${encodeURIComponent(JSON.stringify(['a\r\nX-Evil: 1']))}`],
  ['20 kB', `names=${'x'.repeat(20_000)}`],
  ['a null byte', 'names=a%00b'],
  ['half a surrogate pair', `names=${encodeURIComponent(JSON.stringify(['\\ud800']))}`],
  ['bytes that are not UTF-8', 'names=%ff%fe'],
])('%s in names is answered, and nothing of it is in a header', async (_what, query) => {
  const answer = await server.fetch(`/workflows/tools/list?${query}`)
  expect(answer.status).toBe(200)
  const headers = [...answer.headers].map(([name, value]) => `${name}: ${value}`).join('\n')
  expect(headers).not.toMatch(/€|Set-Cookie|stolen|evil|xxxx|[^\n\x20-\x7e]/i)
  expect(answer.headers.get('x-tools-unknown')).toMatch(/^\+[12]$/)
})
