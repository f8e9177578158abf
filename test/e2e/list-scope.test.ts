import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { errorAnswer } from '../support/error-answer.ts'
import { Server } from '../support/server.ts'
import { listedNames, post, tool } from '../support/tool.ts'

const server = await Server.start()
afterAll(() => server[Symbol.asyncDispose]())
beforeAll(async () => {
  const tools = [
    tool('git_pull', undefined, { category: 'vcs', tags: ['safe'] }),
    tool('git_push', undefined, { category: 'vcs', tags: ['slow'] }),
    tool('web.search', undefined, { category: 'web', tags: ['safe'] }),
    tool('own_time', undefined, { category: 'web', runner: { kind: 'builtin', builtin: 'time' } }),
  ]
  expect((await post(server, tools)).status).toBe(200)
})

const ours = 'names=git_pull,git_push,web.search,own_time'

const SCOPES: readonly [string, readonly string[]][] = [
  ['scope=all', ['git_pull', 'git_push', 'own_time', 'web.search']],
  ['scope=none', []],
  ['scope=git_*', ['git_pull', 'git_push']],
  ['scope=web__search', []],
  ['scope=@vcs,!tag:slow', ['git_pull']],
  ['scope=%40web&scope=*search', ['web.search']],
  ['scope=tag%3Asafe', ['git_pull', 'web.search']],
  ['s%63ope=git_push', ['git_push']],
  ['scope[]=git_push', ['git_push']],
  ['scope%5B%5D=git_*&scope=!git_push', ['git_pull']],
  ['scope=@internal', ['own_time']],
]
test.each(SCOPES)('?%s lists exactly what is in each of the scopes', async (query, names) => {
  expect(await listedNames(server, `${ours}&${query}`)).toEqual(names)
})

test('a scope has the same tools with names and without', async () => {
  const named = await listedNames(server, 'scope=@vcs')
  expect(named).toEqual(['git_pull', 'git_push'])
  expect(await listedNames(server, 'scope=@vcs,@none_such&dialect=openai')).toEqual(named)
})

test.each([
  ['scope=', 'character 1. Did you mean all, or none?'],
  ['scope=a,,b', 'character 3. Is there a comma too many?'],
  ['scope=git_[ab]', 'character 5. Did you mean several items?'],
  ['scope=all,git_*', 'character 1. Did you mean all alone'],
  [Array(9).fill('scope=all').join('&'), 'is given 9 times; at most 8 are allowed'],
])('?%s is a 400 with the place, never an unfiltered list', async (query, message) => {
  const answer = await errorAnswer(await server.fetch(`/workflows/tools/list?${query}`))
  expect(answer).toMatchObject({ httpStatus: 400, reason: 'PARAMETER_INVALID' })
  expect(answer.message).toContain(message)
})

test('explain says which scope leaves a tool out of the list, and the tool can be called', async () => {
  const explain = async (query: string): Promise<unknown> =>
    (await server.fetch(`/workflows/tools/explain?name=own_time&${query}`)).json()
  expect(await explain('scope=all')).toMatchObject({ visible: true, hidden: null })
  expect(await explain('scope=@web&scope=!own_*,*')).toMatchObject({
    visible: false,
    hidden: { reason: 'OUT_OF_SCOPE', scope: '*,!own_*' },
  })
  const call = { method: 'POST', body: JSON.stringify({ name: 'own_time', arguments: { text: 'now' } }) }
  expect(await (await server.fetch('/workflows/tools/invoke', call)).json()).toMatchObject({
    resultType: 'success',
  })
})
