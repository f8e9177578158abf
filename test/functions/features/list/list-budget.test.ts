import { expect, test } from '@jest/globals'
import type { ToolDefinition } from '@toolrack/contract'
import { faultyGovernance } from '../../../support/memory-governance.ts'
import { routeService, type Asker } from '../../../support/route-service.ts'

const files = ['aaa', 'bbb', 'zzz'].map((name): ToolDefinition => {
  const parameters = { type: 'object', properties: {}, description: 'A clock that takes nothing. '.repeat(4) }
  return {
    type: 'function',
    function: { name, description: 'Tell the time.', parameters },
    runner: { kind: 'builtin', builtin: 'time' },
  }
})
const ask = await routeService(files)

const governance = faultyGovernance((name) => (name === 'usage' ? new Error('lost') : undefined))
const withoutRanks = await routeService(files, { governance })

async function listed(who: Asker, query: string, service = ask) {
  const { status, headers, body } = await service(who, `GET /tools/list?${query}`)
  expect(status).toBe(200)
  const tools = body as unknown as readonly { function: { name: string; description: string } }[]
  return {
    names: tools.map(({ function: fn }) => `${fn.name}${fn.description === '' ? ' deferred' : ''}`),
    etag: headers.get('etag'),
    tokens: headers.get('x-tools-tokens'),
  }
}
const call = (who: Asker, name: string) => ask(who, 'POST /tools/invoke', { body: { name, arguments: {} } })

test('the tools that a user called come first in the budget, the whole day, and others are not affected', async () => {
  const byName = await listed('ann', 'budget=60')
  expect(byName.names).toEqual(['aaa deferred', 'bbb deferred'])
  expect((await call('bob', 'zzz')).status).toBe(200)
  const byUse = await listed('bob', 'budget=60')
  expect(byUse.names).toEqual(['zzz'])
  expect(byUse.etag).not.toBe(byName.etag)
  expect((await call('bob', 'aaa')).status).toBe(200)
  expect((await call('ann', 'zzz')).status).toBe(200)
  expect(await listed('bob', 'budget=60')).toEqual(byUse)
  expect(await listed('ann', 'budget=60')).toEqual(byName)
  const { body } = await ask('bob', 'GET /tools/explain?name=zzz&budget=60')
  expect(body).toMatchObject({ budget: { because: 'used', place: 1, of: 3, rung: 'full' } })
})

test('a list whose rank cannot be read is ordered by name, and has no error', async () => {
  expect((await listed('bob', 'budget=60', withoutRanks)).names).toEqual(['aaa deferred', 'bbb deferred'])
})
