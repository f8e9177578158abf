import { expect, test } from '@jest/globals'
import { jsonLog, textLog } from '../../functions/src/log.ts'
import { logged } from '../../functions/src/features/definitions/layer-log.ts'

const skipped = [{ source: 'a.json', pointer: '/0', message: 'it has no name' }]
const read = { revision: '1', whole: true, definitions: [], deleted: [], skipped } as const

test.each([
  ['people', textLog, 'warn  definition skipped  {"at":"a.json#/0","reason":"it has no name"}\n'],
  [
    'machines',
    jsonLog,
    '{"at":"a.json#/0","reason":"it has no name","severity":"WARNING","message":"definition skipped"}\n',
  ],
])('the log for %s says why a definition was skipped', async (_who, logTo, line) => {
  const lines: string[] = []
  const source = logged({ read: () => Promise.resolve(read) }, logTo({ write: (text) => lines.push(text) }))
  await source.read(undefined)
  await source.read(undefined)
  expect(lines).toEqual([line])
})
