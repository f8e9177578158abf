import { afterAll, expect, test } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { VERSION } from '../../functions/src/version.ts'
import { rawExchange } from '../support/raw-http.ts'
import { Server } from '../support/server.ts'
import { ROOT } from '../support/source-tree.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
const folder = temporaryFolder()
const server = await Server.start({ definitions: folder.path })
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

const page = (accept: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
  fetch(`${server.url}/`, { headers: { ...headers, Accept: accept } })

test('curl gets a text: what this is, whether it works, where the documents are', async () => {
  const answer = await page('*/*')
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8'])
  const text = await answer.text()
  expect(text).toMatch(new RegExp(`^Toolrack ${VERSION.replaceAll('.', String.raw`\.`)}\n`))
  expect(text).toContain('\nIt works.\nPython tools do not run now.')
  const documents = [...text.matchAll(/^ {2}(\S+\.md) /gm)].map(([, path = '']) => path)
  expect(documents).toContain('docs/how-to/run.md')
  for (const path of documents) expect(readFileSync(new URL(path, ROOT), 'utf8')).toMatch(/^# /)
})

test('a browser gets a page that loads nothing, with the policy of firebase.json', async () => {
  const answer = await page(BROWSER)
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  const { hosting } = JSON.parse(readFileSync(new URL('firebase.json', ROOT), 'utf8')) as {
    hosting: { headers: { headers: { key: string; value: string }[] }[] }
  }
  const wanted = hosting.headers.flatMap(({ headers }) => headers)
  const policy = wanted.find(({ key }) => key === 'Content-Security-Policy')?.value
  expect(policy).toMatch(/^default-src 'none';/)
  expect(answer.headers.get('content-security-policy')).toBe(policy)
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
  const html = await answer.text()
  expect(html).toMatch(/^<!doctype html>\n[^]*<h1>Toolrack [^]*<strong>It works\.<\/strong>/)
  expect(html).not.toMatch(/<(?:script|style|link|img|iframe|form)|\b(?:src|href|style|on\w+)=|https?:/i)
})

test('a cache keeps the two apart, and keeps neither for others', async () => {
  for (const accept of ['*/*', BROWSER]) {
    const { headers } = await page(accept)
    expect([headers.get('vary'), headers.get('cache-control')]).toEqual(['Accept', 'private, no-cache'])
  }
})

test('a request without Accept, and one with a wrong token, get the text too', async () => {
  const { status, body } = await rawExchange(
    server.url,
    'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
  )
  expect([status, body]).toEqual([200, await (await page('*/*')).text()])
  const wrong = await page('*/*', { Authorization: 'Bearer wrong' })
  expect([wrong.status, await wrong.text()]).toEqual([200, body])
})

test('it holds nothing that /health hides without a token', async () => {
  const answers = await Promise.all(
    ['*/*', BROWSER].map((accept) => page(accept, { Authorization: `Bearer ${server.token}` })),
  )
  for (const answer of answers) {
    const text = await answer.text()
    for (const secret of [server.token, server.data, folder.path]) expect(text).not.toContain(secret)
  }
})

test('where a layer is lost, it says that it works only in part', async () => {
  folder[Symbol.dispose]()
  const text = await until(
    async () => (await page('*/*')).text(),
    (answer) => !answer.includes('It works.'),
  )
  expect(text).toContain('It works only in part. GET /health with a token says what is missing.')
})

test('it knows GET alone', async () => {
  const answer = await server.fetch('/', { method: 'POST' })
  expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET'])
})
