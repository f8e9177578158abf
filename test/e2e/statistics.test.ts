import { expect, test } from '@jest/globals'
import { Server } from '../support/server.ts'

type Statistics = { readonly tools: readonly { readonly name: string; readonly calls: number }[] }

async function callsOf(server: Server, name: string): Promise<number | undefined> {
  const answer = await server.fetch(`/workflows/tools/stats?window=hour&name=${name}`)
  const { tools } = (await answer.json()) as Statistics
  return tools[0]?.calls
}

async function call(server: Server, times: number): Promise<void> {
  for (let at = 0; at < times; at += 1) {
    const body = JSON.stringify({ name: 'ECHO', arguments: { text: 'a' } })
    expect((await server.fetch('/workflows/tools/invoke', { method: 'POST', body })).status).toBe(200)
  }
}

test('a stopped server has written its counts; a killed one has lost only the newest, and counts none twice', async () => {
  await using server = await Server.start()
  await call(server, 3)
  expect(await callsOf(server, 'ECHO')).toBe(3)
  expect(await (await server.fetch('/metrics')).text()).toContain('toolrack_calls_total{code="OK"} 3\n')
  await server.stop()
  await server.restart()
  expect(await callsOf(server, 'ECHO')).toBe(3)
  await call(server, 2)
  expect(await callsOf(server, 'ECHO')).toBe(5)
  await server.kill9()
  await server.restart()
  const left = (await callsOf(server, 'ECHO')) ?? 0
  expect(left).toBeGreaterThanOrEqual(3)
  expect(left).toBeLessThanOrEqual(5)
})
