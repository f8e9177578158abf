import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { RequestListener } from 'node:http'
import { ScriptedServer } from '../support/scripted-server.ts'
import { listAnswer, listed, refusal, toolDefs } from './scripted-service.ts'

let server: ScriptedServer
beforeEach(async () => (server = await ScriptedServer.start()))
afterEach(() => server[Symbol.asyncDispose]())

const refused = refusal(401, 'TOKEN_INVALID', 'A valid token is needed.')
const shown = (): (string | undefined)[] => server.asked.map(({ headers }) => headers.authorization)

/** Takes these tokens and no others. */
function taking(...tokens: readonly string[]): RequestListener {
  return (req, res) =>
    (tokens.includes(req.headers.authorization ?? '') ? listAnswer([listed('A')]) : refused)(req, res)
}

function signedOut({ refused }: { readonly refused: boolean }): string {
  if (refused) throw new Error('signed out')
  return 'old'
}

test('a token function is asked for each list, and after a 401 in the middle of a session once more', async () => {
  let generation = 1
  const asked: boolean[] = []
  const token = async ({ refused }: { refused: boolean }): Promise<string> => {
    asked.push(refused)
    if (refused) generation += 1
    return `t${generation}`
  }
  const tools = toolDefs(server, { token })
  server.answers = [taking('Bearer t1')]
  await tools.list()
  server.answers = [taking('Bearer t2')]
  expect(await tools.list()).toMatchObject({ source: 'service' })
  await tools.list()
  expect(asked).toEqual([false, false, true, false])
  expect(shown()).toEqual(['Bearer t1', 'Bearer t1', 'Bearer t2', 'Bearer t2'])
})

test('a second 401 is the end, and a text is not tried twice', async () => {
  server.answers = [refused]
  await expect(toolDefs(server, { token: () => 'bad' }).list()).rejects.toMatchObject({ status: 401 })
  expect(shown()).toHaveLength(2)
  await expect(toolDefs(server, { token: 'bad' }).list()).rejects.toMatchObject({ status: 401 })
  expect(shown()).toHaveLength(3)
})

test.each<[string, () => unknown, RegExp]>([
  [
    'throws',
    () => {
      throw new Error('signed out')
    },
    /^The token function failed: signed out$/,
  ],
  ['rejects', () => Promise.reject(new Error('no network')), /^The token function failed: no network$/],
  ['gives nothing', () => undefined, /^The token must be a text/],
  ['never ends', () => new Promise(() => undefined), /^The token function gave no token within 300 ms\.$/],
  ['gives an empty text', () => ' ', /^The token must be a text/],
  ['gives lines', () => 'SECRET\nSECRET', /^The token must be a text/],
])('a token function that %s is a clear error, and nothing is asked', async (_title, token, message) => {
  const listing = toolDefs(server, { token: token as () => string, deadlineMs: 300 }).list()
  await expect(listing).rejects.toMatchObject({
    code: 'TOKEN_FAILED',
    message: expect.stringMatching(message),
  })
  await expect(listing).rejects.not.toThrow('SECRET')
  expect(server.asked).toEqual([])
})

test('a token function that throws after a 401 is a clear error', async () => {
  server.answers = [refused]
  await expect(toolDefs(server, { token: signedOut }).list()).rejects.toMatchObject({ code: 'TOKEN_FAILED' })
})

test('a token as it is read from a file, with a line end, is shown without it', async () => {
  server.answers = [listAnswer([])]
  await toolDefs(server, { token: 'from-a-file\n' }).list()
  expect(shown()).toEqual(['Bearer from-a-file'])
})
