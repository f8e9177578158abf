import { expect, test } from '@jest/globals'
import type { ServerResponse } from 'node:http'
import { networkInterfaces } from 'node:os'
import { listen, stopListening } from '../../../../functions/src/hosts/local/listen.ts'
import { EXIT } from '../../../../functions/src/hosts/local/start-error.ts'
import { rawConnection, rawExchange } from '../../../support/raw-http.ts'
import { testWhere } from '../../../support/test-where.ts'

test('port 0 takes a free port, and the address can be fetched', async () => {
  const listening = await listen((_req, res) => res.end('here'), '127.0.0.1', 0)
  expect(listening.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  expect(await (await fetch(listening.url)).text()).toBe('here')
  await stopListening(listening)
  await expect(fetch(listening.url)).rejects.toThrow()
})

const hasIpv6 = Object.values(networkInterfaces()).some((faces) =>
  faces?.some(({ address }) => address === '::1'),
)
testWhere(hasIpv6, 'there is no IPv6 loopback: an IPv6 address can not be listened on.')(
  'an IPv6 address is written with brackets',
  async () => {
    const listening = await listen((_req, res) => res.end('six'), '::1', 0)
    expect(listening.url).toMatch(/^http:\/\/\[::1\]:\d+$/)
    expect(await (await fetch(listening.url)).text()).toBe('six')
    await stopListening(listening)
  },
)

test('a port in use is a StartError with its exit code', async () => {
  const listening = await listen((_req, res) => res.end(), '127.0.0.1', 0)
  const port = Number(new URL(listening.url).port)
  await expect(listen((_req, res) => res.end(), '127.0.0.1', port)).rejects.toMatchObject({
    exitCode: EXIT.addressTaken,
    message: `Port ${port} on 127.0.0.1 is in use by another program; stop it, or set PORT to another one.`,
  })
  await stopListening(listening)
})

test('an answer under way is sent whole before the server stops', async () => {
  const asked = Promise.withResolvers<ServerResponse>()
  const listening = await listen((_req, res) => asked.resolve(res), '127.0.0.1', 0)
  const pending = fetch(listening.url).then((answer) => answer.text())
  const res = await asked.promise
  const stopped = stopListening(listening)
  res.end('late')
  expect(await pending).toBe('late')
  await stopped
})

test('what is no HTTP never reaches the application', async () => {
  let requests = 0
  const listening = await listen(
    (_req, res) => {
      requests += 1
      res.end()
    },
    '127.0.0.1',
    0,
  )
  const sent = [
    '\r\n\r\nnonsense\r\n\r\n',
    'GET / HTTP/1.1\r\n\r\n',
    `GET / HTTP/1.1\r\nA: ${'x'.repeat(100_000)}\r\n\r\n`,
  ]
  for (const text of sent) expect((await rawExchange(listening.url, text)).status).toBeGreaterThanOrEqual(400)
  expect(requests).toBe(0)
  const gone = await rawConnection(listening.url)
  gone.resetAndDestroy()
  expect((await fetch(listening.url)).status).toBe(200)
  await stopListening(listening)
})
