import { afterAll, expect, test } from '@jest/globals'
import { defineTools, type DefineProgress } from '../../packages/client/src/index.ts'
import { bfclDefinitions } from '../support/bfcl-definitions.ts'
import { inProcess } from '../support/in-process.ts'
import { json, ScriptedServer } from '../support/scripted-server.ts'
import { NOW, signed } from '../support/signed-tokens.ts'
import { deployedAccess, FIREBASE } from '../support/token-kinds.ts'
import { tool } from '../support/tool.ts'
import { refusal } from './scripted-service.ts'

const service = await inProcess(
  deployedAccess(() => NOW),
  [],
  () => NOW,
)
afterAll(() => service[Symbol.asyncDispose]())
const connectionOf = (uid: string) => ({ service: service.url, token: signed(FIREBASE, { sub: uid }) })

async function stored(uid: string): Promise<readonly string[]> {
  const headers = { Authorization: `Bearer ${connectionOf(uid).token}` }
  const answer = await fetch(`${service.url}/workflows/tools/defs?layer=user`, { headers })
  return ((await answer.json()) as { items: { name: string }[] }).items.map(({ name }) => name)
}

test('definitions of any number are written in groups of 200, and a bad one stops no other', async () => {
  const definitions: object[] = [...bfclDefinitions('definitions')]
  expect(definitions).toHaveLength(753)
  const bad = [10, 11, 400]
  for (const index of bad)
    definitions[index] = { ...tool(`bad_${index}`), function: { name: `bad ${index}` } }
  const seen: DefineProgress[] = []
  const options = { ...connectionOf('ann'), onProgress: (one: DefineProgress) => seen.push(one) }
  const { written, refused } = await defineTools(definitions, options)
  expect(seen.map(({ done, refused: count }) => [done, count])).toEqual([
    [200, 2],
    [400, 2],
    [600, 3],
    [753, 3],
  ])
  expect(seen.every(({ total }) => total === 753)).toBe(true)
  expect([...new Set(refused.map(({ index }) => index))]).toEqual(bad)
  for (const { message } of refused) expect(message).not.toBe('')
  expect(written).toHaveLength(750)
  for (const { index, name, outcome } of written) {
    expect(definitions[index]).toMatchObject({ function: { name } })
    expect(outcome).toBe('created')
  }
  expect(await stored('ann')).toHaveLength(750)
  const again = await defineTools(definitions, connectionOf('ann'))
  expect(new Set(again.written.map(({ outcome }) => outcome))).toEqual(new Set(['unchanged']))
})

function large(name: string, length: number) {
  return tool(name, 'd'.repeat(length))
}

test('what is too large for one request is sent in several, and one that is too large alone is refused', async () => {
  const some = Array.from({ length: 30 }, (_, index) => large(`large_${index}`, 4_000))
  const { written, refused } = await defineTools(
    [...some, large('huge', 2_000_000), tool('last')],
    connectionOf('bob'),
  )
  const names = some.map((_one, index) => `large_${index}`)
  expect(written.map(({ name }) => name)).toEqual([...names, 'last'])
  expect(refused).toMatchObject([{ index: 30, message: expect.stringMatching(/413/) }])
  expect(await stored('bob')).toHaveLength(31)
})

test('a lost answer is asked for again, and what the service refuses is thrown', async () => {
  await using server = await ScriptedServer.start()
  const options = { service: server.origin, token: 't' }
  const one = { results: [{ name: 'a', digest: 'sha256:0', outcome: 'created' }] }
  server.answers = [(req) => req.socket.destroy(), refusal(503, 'STORE_FAILED', 'No.'), json(one)]
  expect((await defineTools([tool('a')], options)).written).toMatchObject([{ index: 0, name: 'a' }])
  expect(server.asked).toHaveLength(3)
  server.answers = [refusal(403, 'PERMISSION_DENIED', 'Not you.')]
  await expect(defineTools([tool('a')], options)).rejects.toMatchObject({
    code: 'SERVICE_REFUSED',
    status: 403,
  })
  server.answers = [refusal(503, 'STORE_FAILED', 'No.')]
  await expect(defineTools([tool('a')], options)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  expect(await defineTools([], options)).toEqual({ written: [], refused: [] })
  const signal = AbortSignal.abort(new Error('enough'))
  await expect(defineTools([tool('a')], { ...options, signal })).rejects.toThrow('enough')
})

test('what is no list of definitions is named, as a whole file of definitions', async () => {
  const file = { family: 'files', tools: [tool('a')] } as unknown as readonly object[]
  await expect(defineTools(file, connectionOf('file'))).rejects.toMatchObject({
    code: 'OPTION_INVALID',
    message: 'The definitions must be a list. A file of definitions has this list in `tools`.',
  })
})

test('a token that is not set is named', async () => {
  const { TOKEN_THAT_IS_NOT_SET: token } = process.env
  await expect(defineTools([tool('a')], { service: service.url, token })).rejects.toMatchObject({
    code: 'TOKEN_FAILED',
    message: 'There is no token; is its variable set?',
  })
})
