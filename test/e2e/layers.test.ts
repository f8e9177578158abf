import { afterAll, expect, test } from '@jest/globals'
import type { Explanation } from '../../functions/src/catalog/views/explain-name.ts'
import type { WriteAnswer } from '../../functions/src/catalog/definitions/write-answer.ts'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorAnswer } from '../support/error-answer.ts'
import { Server } from '../support/server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { list, post, put, remove, tool } from '../support/tool.ts'
import { until } from '../support/until.ts'

const folder = temporaryFolder()
const definitions = join(folder.path, 'defs')
mkdirSync(definitions)
const family = (...tools: unknown[]): void =>
  writeFileSync(join(definitions, 'own.json'), JSON.stringify({ family: 'own', tools }))
const FILE_TOOLS = [tool('everywhere', 'File.'), tool('sealed_in_file', 'File.', { sealed: true })]
family(...FILE_TOOLS)

const server = await Server.start({ definitions })
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

const description = async (name: string): Promise<string | undefined> =>
  (await list(server, `names=${name}`))[0]?.function.description
const explain = async (name: string): Promise<Explanation> =>
  (await (
    await server.fetch(`/workflows/tools/explain?name=${encodeURIComponent(name)}`)
  ).json()) as Explanation
const roles = ({ layers }: Explanation): unknown =>
  layers.map(({ layer, role, status }) => [layer, role ?? status])

test('user shadows global shadows file; shadows and explain show it, and each delete brings the next back', async () => {
  expect(await description('everywhere')).toBe('File.')
  const inGlobal = (await (
    await put(server, 'everywhere', tool('everywhere', 'Global.'), { layer: 'global' })
  ).json()) as WriteAnswer
  expect(inGlobal.shadows).toEqual([{ layer: 'file', digest: expect.stringMatching(/^sha256:/) }])
  expect(await description('everywhere')).toBe('Global.')
  const inUser = (await (await put(server, 'everywhere', tool('everywhere', 'User.'))).json()) as WriteAnswer
  expect(inUser.shadows).toEqual([{ layer: 'global', digest: inGlobal.digest }, ...inGlobal.shadows])
  expect(await description('everywhere')).toBe('User.')

  const explanation = await explain('everywhere')
  expect(explanation).toMatchObject({
    name: 'everywhere',
    alias: 'everywhere',
    visible: true,
    winner: 'user',
    shadowed: ['global', 'file'],
    callable: 'client',
    hidden: null,
  })
  expect(roles(explanation)).toEqual([
    ['user', 'winner'],
    ['global', 'shadowed'],
    ['file', 'shadowed'],
  ])
  expect(explanation.layers[2]?.source).toBe('own.json#/tools/0')
  expect(explanation.layers[0]?.digest).toBe(inUser.digest)

  await remove(server, 'everywhere')
  expect(await description('everywhere')).toBe('Global.')
  await remove(server, 'everywhere', 'global')
  expect(await description('everywhere')).toBe('File.')
})

test('explain says of a name that nobody defines that nobody does', async () => {
  const explanation = await explain('nobody')
  expect(explanation).toMatchObject({ visible: false, winner: null, shadowed: [], callable: null })
  expect(explanation.hidden).toEqual({ reason: 'NOT_DEFINED', message: 'No layer defines this name.' })
  expect(roles(explanation)).toEqual([
    ['user', 'absent'],
    ['global', 'absent'],
    ['file', 'absent'],
  ])
})

test('explain takes an alias and answers for the name behind it; a runner that the service has makes it callable there', async () => {
  await put(server, 'with:colon', tool('with:colon', 'X.', { runner: { kind: 'builtin', builtin: 'echo' } }))
  expect(await explain('with__colon')).toMatchObject({
    name: 'with:colon',
    alias: 'with__colon',
    callable: 'service',
  })
})

test.each(['user', 'global'])(
  'a name sealed in a file is a 409 with its layer for the %s layer',
  async (layer) => {
    for (const answer of [
      await put(server, 'sealed_in_file', tool('sealed_in_file', 'Mine.'), { layer }),
      await post(server, [tool('sealed_in_file', 'Mine.')], `layer=${layer}`),
      await post(server, [tool('sealed_in_file', 'Mine.')], `layer=${layer}&onConflict=skip`),
    ]) {
      const error = await errorAnswer(answer)
      expect(error).toMatchObject({ httpStatus: 409, reason: 'NAME_SEALED', details: [{ layer: 'file' }] })
    }
    expect(await description('sealed_in_file')).toBe('File.')
  },
)

test('a name sealed in the global layer is a 409 for users and still the admins to change', async () => {
  expect(
    (
      await put(server, 'sealed_in_global', tool('sealed_in_global', 'One.', { sealed: true }), {
        layer: 'global',
      })
    ).status,
  ).toBe(201)
  const answer = await errorAnswer(await put(server, 'sealed_in_global', tool('sealed_in_global', 'Mine.')))
  expect(answer).toMatchObject({ httpStatus: 409, reason: 'NAME_SEALED', details: [{ layer: 'global' }] })
  expect(
    (
      await put(server, 'sealed_in_global', tool('sealed_in_global', 'Two.', { sealed: true }), {
        layer: 'global',
      })
    ).status,
  ).toBe(200)
  await put(server, 'sealed_in_global', tool('sealed_in_global', 'Open.'), { layer: 'global' })
  expect((await put(server, 'sealed_in_global', tool('sealed_in_global', 'Mine.'))).status).toBe(201)
})

test('an older user definition of a name that is sealed later loses; explain says so, and it can be deleted', async () => {
  await put(server, 'older', tool('older', 'User.'))
  await put(server, 'older', tool('older', 'Global.', { sealed: true }), { layer: 'global' })
  expect(await description('older')).toBe('Global.')
  const explanation = await explain('older')
  expect(explanation).toMatchObject({ winner: 'global', shadowed: ['user'] })
  expect(roles(explanation)).toEqual([
    ['user', 'sealed-out'],
    ['global', 'winner'],
    ['file', 'absent'],
  ])
  const [version] = (
    (await (await server.fetch('/workflows/tools/defs/older/versions')).json()) as { items: object[] }
  ).items
  const body = JSON.stringify({ revision: (version as { revision: string }).revision })
  const rollback = await server.fetch('/workflows/tools/defs/older/rollback', { method: 'POST', body })
  expect(await errorAnswer(rollback)).toMatchObject({ httpStatus: 409, reason: 'NAME_SEALED' })
  expect((await remove(server, 'older')).status).toBe(200)
})

test('a file that seals a name while the server runs wins over both layers from the next look on', async () => {
  await put(server, 'sealed_soon', tool('sealed_soon', 'User.'))
  await put(server, 'sealed_soon', tool('sealed_soon', 'Global.'), { layer: 'global' })
  family(...FILE_TOOLS, tool('sealed_soon', 'File.', { sealed: true }))
  await until(
    () => description('sealed_soon'),
    (text) => text === 'File.',
  )
  expect(roles(await explain('sealed_soon'))).toEqual([
    ['user', 'sealed-out'],
    ['global', 'sealed-out'],
    ['file', 'winner'],
  ])
})
