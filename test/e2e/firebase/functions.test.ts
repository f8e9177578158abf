import { expect, test } from '@jest/globals'
import { describeWithEmulators, functionUrl, HOSTING, newName, newUser } from '../../support/emulators.ts'
import { allEvents } from '../../support/call-events.ts'
import { errorAnswer } from '../../support/error-answer.ts'

describeWithEmulators('the functions themselves', () => {
  test('called directly they answer without their prefix as they do with it behind Hosting', async () => {
    const ann = await newUser()
    const hosted = await ann.fetch(`${HOSTING}/workflows/tools/list`)
    for (const path of ['/tools/list', '/workflows/tools/list']) {
      const direct = await ann.fetch(functionUrl('workflows') + path)
      expect(direct.headers.get('etag')).toBe(hosted.headers.get('etag'))
    }
    expect((await ann.fetch(`${functionUrl('workflows')}/health`)).status).toBe(200)
  })

  test('the next page of a list is linked so that it is found from either address', async () => {
    const ann = await newUser()
    for (const address of [`${functionUrl('workflows')}/tools/list`, `${HOSTING}/workflows/tools/list`]) {
      const first = await ann.fetch(`${address}?limit=1`)
      const [, next = ''] = /^<(.*)>; rel="next"$/.exec(first.headers.get('link') ?? '') ?? []
      const second = await ann.fetch(new URL(next, `${address}?limit=1`))
      expect(second.status).toBe(200)
      expect(await second.json()).not.toEqual(await first.json())
    }
  })

  test('items that the service runs name the workflow of functions/.env.demo-toolrack', async () => {
    const ann = await newUser()
    const answer = await ann.fetch(`${functionUrl('workflows')}/tools/list?envelope=items&names=ECHO`)
    expect(await answer.json()).toMatchObject({ items: [{ workflowName: 'tools-Toolrack' }] })
  })

  test('a call is streamed by the function itself, and refused by it behind Hosting, which would keep the events', async () => {
    const ann = await newUser()
    const call = (address: string, accept: string): Promise<Response> =>
      ann.fetch(`${address}/workflows/tools/invoke`, {
        method: 'POST',
        headers: { Accept: accept },
        body: JSON.stringify({ name: 'ECHO', arguments: { text: 'a' } }),
      })
    const events = await allEvents(await call(functionUrl('workflows'), 'text/event-stream'))
    expect(events.map(({ type }) => type)).toEqual(['start', 'result'])
    const hosted = await call(HOSTING, 'text/event-stream')
    expect([hosted.status, await hosted.json()]).toMatchObject([
      406,
      { code: 'NOT_ACCEPTABLE', error: expect.stringMatching(/nothing was run.*function's own URL/) },
    ])
    const plain = await call(HOSTING, 'text/event-stream, application/json;q=0.9')
    expect([plain.status, await plain.json()]).toMatchObject([200, { textResultForLlm: 'a' }])
  })

  test('each serves its own family only', async () => {
    const ann = await newUser()
    const crossed = [
      `${functionUrl('workflows')}/jobs/tools/list`,
      `${functionUrl('jobs')}/workflows/tools/list`,
    ]
    for (const address of crossed) {
      expect(await errorAnswer(await ann.fetch(address))).toMatchObject({
        httpStatus: 404,
        reason: 'ROUTE_NOT_FOUND',
      })
    }
    expect(await errorAnswer(await ann.fetch(`${functionUrl('jobs')}/tools/list`))).toMatchObject({
      httpStatus: 401,
      reason: 'TOKEN_INVALID',
    })
  })

  test.each([
    ['no token', 'GET', '/tools/list', undefined, 401, 'TOKEN_INVALID'],
    ['an unknown path', 'GET', '/tools/nothing', undefined, 404, 'ROUTE_NOT_FOUND'],
    ['a path of the API to come', 'GET', '/api/nothing', undefined, 404, 'ROUTE_NOT_FOUND'],
    ['a method that the path does not know', 'PATCH', '/tools/list', undefined, 405, 'METHOD_NOT_ALLOWED'],
    [
      'a body above 256 KB',
      'PUT',
      '/tools/defs/A',
      `{"description":"${'x'.repeat(256 * 1024)}"}`,
      413,
      'BODY_TOO_LARGE',
    ],
    [
      'a body with a key twice',
      'PUT',
      '/tools/defs/A',
      '{"description":"a","description":"b"}',
      400,
      'BODY_INVALID',
    ],
    ['a body that is no definition', 'PUT', '/tools/defs/A', '{"parameters":4}', 422, 'DEFINITION_INVALID'],
  ] as const)('%s is answered in our shape', async (title, method, path, body, httpStatus, reason) => {
    const ann = await newUser()
    const ask = title === 'no token' ? fetch : ann.fetch
    const answer = await ask(functionUrl('workflows') + path, { method, body: body ?? null })
    expect(await errorAnswer(answer)).toMatchObject({ httpStatus, reason })
    expect(answer.headers.get('cache-control')).toBe('private, no-store')
    // The emulator's proxy writes an empty piece behind a body. If the function had closed the connection, that write would fail.
    expect(answer.headers.get('connection')).toBe('keep-alive')
    if (httpStatus === 405) expect(answer.headers.get('allow')).toBe('GET')
  })

  test('malformed JSON is a 400 without a stack trace, whoever refuses it', async () => {
    const ann = await newUser()
    for (const type of ['application/json', 'text/plain']) {
      const answer = await ann.fetch(`${HOSTING}/workflows/tools/defs/${newName()}`, {
        method: 'PUT',
        headers: { 'Content-Type': type },
        body: '{"description":',
      })
      const text = await answer.text()
      expect([answer.status, /\bat .+:\d+:\d+|node_modules/.test(text)]).toEqual([400, false])
    }
  })

  test('a body is read whatever its type says, and none is no fault of the framework', async () => {
    const ann = await newUser()
    for (const type of [
      'application/json',
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/x-ours',
    ]) {
      const answer = await ann.fetch(`${HOSTING}/workflows/tools/defs/${newName()}`, {
        method: 'PUT',
        headers: { 'Content-Type': type },
        body: '{"description":"x"}',
      })
      expect([type, answer.status]).toEqual([type, 201])
    }
    const empty = await ann.fetch(`${functionUrl('workflows')}/tools/defs/${newName()}`, { method: 'PUT' })
    expect(await errorAnswer(empty)).toMatchObject({ httpStatus: 400, reason: 'BODY_INVALID' })
  })
})
