import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { errorAnswer } from '../support/error-answer.ts'
import { answersTo, NO_TOOL_NAMES } from '../support/no-tool-names.ts'
import { Server } from '../support/server.ts'
import { listedNames, post, put, tool } from '../support/tool.ts'

const server = await Server.start()
afterAll(() => server[Symbol.asyncDispose]())
beforeAll(async () => {
  const sealed = [tool('Pay', 'Pays.', { sealed: true }), tool('Ship', 'Ships.')]
  expect((await post(server, sealed, 'layer=global')).status).toBe(200)
})

/** By PUT under the name, and by POST with the name in the body. */
async function bothWays(name: string) {
  return [
    await errorAnswer(await put(server, name, { description: 'X.' })),
    await errorAnswer(await post(server, [{ name, description: 'X.' }])),
  ]
}

const CYRILLIC_PAY = '\u0420\u0430\u0443'
test.each([
  ['Cyrillic letters', CYRILLIC_PAY],
  ['one Cyrillic letter', 'P\u0430y'],
  ['full-width letters', '\uFF30\uFF41\uFF59'],
  ['a zero-width space', 'Pa\u200By'],
  ['a byte order mark', 'Pay\uFEFF'],
  ['a soft hyphen', 'P\u00ADay'],
  ['a right-to-left mark', '\u202EPay'],
  ['mathematical letters', '\u{1D5AF}\u{1D5BA}\u{1D5D2}'],
])('a name that reads like a sealed tool by %s is a 409 with the layer of that tool', async (_what, name) => {
  const [single, bulk] = await bothWays(name)
  expect(single).toMatchObject({ httpStatus: 409, reason: 'NAME_SEALED', details: [{ layer: 'global' }] })
  expect(bulk).toMatchObject({
    httpStatus: 409,
    reason: 'NAME_SEALED',
    details: [{ index: 0, layer: 'global' }],
  })
})

test('a name that reads like another tool, not sealed, is a 400 that says which and where', async () => {
  const [single, bulk] = await bothWays('Sh\u0456p')
  expect(single).toMatchObject({ httpStatus: 400, reason: 'NAME_INVALID', details: [{ layer: 'global' }] })
  expect(single?.message).toContain('the name reads like Ship of the global layer')
  expect(bulk).toMatchObject({ httpStatus: 422, details: [{ reason: 'NAME_INVALID', layer: 'global' }] })
})

test.each([
  ['__x__'],
  ['____'],
  ['__proto__'],
  ['constructor'],
  ['prototype'],
  ['a space'],
  [' a'],
  ['a '],
  ['1a'],
  ['-a'],
  ['.a'],
  ['a/b'],
  ['a\\b'],
  ['a%b'],
  ['a@b'],
  ['a\nb'],
  ['a\u0000b'],
  ['é'],
  ['名前'],
  ['\uFF21'],
  ['😀'],
  ['a'.repeat(129)],
])('%j is not a name: a 400 with a pointer that does not repeat it', async (name) => {
  const [single, bulk] = await bothWays(name)
  expect(single).toMatchObject({ httpStatus: 400, reason: 'NAME_INVALID' })
  expect(bulk).toMatchObject({
    httpStatus: 422,
    details: [{ reason: 'NAME_INVALID', pointer: '/name', index: 0 }],
  })
  expect(`${single?.message}`.length).toBeLessThan(250)
  expect(JSON.stringify([single, bulk])).not.toMatch(/名前|é|😀|a{129}|__x__"/)
})

test.each([
  'a',
  '_',
  'A.b:c-d_1',
  '_private',
  '__dunder',
  'dunder__',
  'toString',
  'hasOwnProperty',
  'x'.repeat(128),
])('%s is a name like any other', async (name) => {
  expect((await put(server, name, { description: 'X.' })).status).toBe(201)
  expect(await listedNames(server, `names=${name}`)).toEqual([name])
})

test.each(NO_TOOL_NAMES)('%j in a path is a 404 for every other route of a definition', async (name) => {
  for (const answer of await answersTo(name, (path, init) => server.fetch(path, init)))
    expect(answer).toMatchObject({ httpStatus: 404, reason: 'TOOL_NOT_FOUND' })
})

test('nothing that was refused is listed', async () => {
  const names = await listedNames(server)
  expect(names.filter((name) => !/^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$/.test(name))).toEqual([])
  expect(names.filter((name) => /^__.*__$|^constructor$|^prototype$/.test(name))).toEqual([])
})
