import { afterAll, expect, test } from '@jest/globals'
import { Server } from '../support/server.ts'
import { unsignedTokens } from '../support/two-users/unsigned-tokens.ts'
import { User } from '../support/two-users/user.ts'

const tokens = await unsignedTokens()
const server = await Server.start({ env: tokens.env })
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await tokens[Symbol.asyncDispose]()
})

const names = (from: number, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `tool:${from + index}:${'n'.repeat(120)}`.slice(0, 120))

async function define(user: User, count: number): Promise<void> {
  for (let from = 0; from < count; from += 200) {
    const tools = names(from, 200).map((name) => ({ name, description: 'Has a long name.', parameters: { type: 'object', properties: {} } }))
    const { status, text, ms } = await user.ask('POST', '/defs', tools)
    if (from === 0) console.log(status, text.slice(0, 300), ms)
    expect(status).toBe(200)
  }
}

test('a list in a dialect', async () => {
  using hostile = new User(server.url, tokens.tokenOf('hostile'), 20_000)
  const t = performance.now()
  await define(hostile, 2_000)
  console.log('defined', performance.now() - t)
  for (const query of ['', '?dialect=anthropic']) {
    const { status, text, ms } = await hostile.ask('GET', `/list${query}`)
    console.log(query, status, text.length, ms)
  }
})
