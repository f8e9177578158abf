import { expect, test } from '@jest/globals'
import {
  describeWithEmulators,
  functionUrl,
  HOSTING,
  newAdmin,
  newName,
  newUser,
} from '../../support/emulators.ts'
import type { Person } from '../../support/emulators.ts'
import { allEvents } from '../../support/call-events.ts'
import { errorAnswer } from '../../support/error-answer.ts'
import { until } from '../../support/until.ts'

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

  test('there is no folder of modules, and behind Hosting its list says so', async () => {
    const ann = await newUser()
    const answer = await ann.fetch(`${HOSTING}/api/tools`)
    expect([answer.status, await answer.json()]).toEqual([
      200,
      {
        status: 'none',
        reason: expect.stringMatching(/^No folder of modules is watched here/),
        checking: [],
        tools: [],
        skipped: [],
      },
    ])
    expect((await ann.fetch(`${HOSTING}/api/tools/weather:get`)).status).toBe(404)
    expect((await ann.fetch(`${HOSTING}/api/tools/refresh`, { method: 'POST' })).status).toBe(403)
    expect((await fetch(`${HOSTING}/api/tools`)).status).toBe(401)
  })
})

describeWithEmulators('layers behind Hosting', () => {
  test('a user lists, defines and lists again, and a second user does not see it', async () => {
    const [ann, bob, name] = [await newUser(), await newUser(), newName()]
    expect(await names(ann)).toContain('READ_FILE')
    expect(await names(ann)).not.toContain(name)

    const defined = await define(ann, name, 'of Ann')
    expect(defined.status).toBe(201)
    expect(await defined.json()).toMatchObject({ name, layer: 'user', outcome: 'created' })

    await sees(ann, name, 'of Ann')
    expect(await descriptions(bob, name)).toEqual([])
    const missing = await bob.fetch(`${HOSTING}/workflows/tools/defs/${name}`)
    expect(missing.status).toBe(404)
  })

  test('what an admin defines globally everybody sees, and a user who is none is refused', async () => {
    const [ann, bob, root, name] = [await newUser(), await newUser(), await newAdmin(), newName()]
    const refused = await define(ann, name, 'of Ann', '?layer=global')
    expect([refused.status, await reason(refused)]).toEqual([403, 'PERMISSION_DENIED'])

    expect((await define(root, name, 'for all', '?layer=global')).status).toBe(201)
    await sees(ann, name, 'for all')
    await sees(bob, name, 'for all')

    expect((await define(ann, name, 'of Ann')).status).toBe(201)
    await sees(ann, name, 'of Ann')
    await sees(bob, name, 'for all')
  })

  test('a job token lists exactly its tools on the other function, and opens no door for users', async () => {
    const [ann, name] = [await newUser(), newName()]
    const { digest } = (await (await define(ann, name, 'of Ann')).json()) as { digest: string }
    const file = await ann.fetch(`${HOSTING}/workflows/tools/defs/READ_FILE?layer=file`)
    const shipped = (await file.json()) as { digest: string }
    const body = JSON.stringify({
      workflowId: 'nightly',
      tools: [
        { name, digest },
        { name: 'READ_FILE', digest: shipped.digest },
      ],
    })
    // Another instance sees the definition a moment later.
    const minted = await until(
      () => ann.fetch(`${HOSTING}/workflows/jobs/tokens`, { method: 'POST', body }),
      ({ ok }) => ok,
    )
    expect(minted.status).toBe(201)
    const { token } = (await minted.json()) as { token: string }
    const headers = { Authorization: `Bearer ${token}` }

    // The jobs function is another process, which looks at the layers' revisions for itself.
    const listed = await until(
      async () => (await fetch(`${HOSTING}/jobs/tools/list`, { headers })).json() as Promise<Tool[]>,
      (tools) => tools.length === 2,
    )
    expect(listed.map((tool) => tool.function.name).toSorted()).toEqual([name, 'READ_FILE'].toSorted())
    const direct = await fetch(`${functionUrl('jobs')}/tools/list`, { headers })
    expect(await direct.json()).toEqual(listed)
    expect((await fetch(`${HOSTING}/workflows/tools/list`, { headers })).status).toBe(401)
  })
})

type Tool = { readonly function: { readonly name: string; readonly description: string } }

async function names(who: Person): Promise<string[]> {
  const tools = (await (await who.fetch(`${HOSTING}/workflows/tools/list`)).json()) as Tool[]
  return tools.map((tool) => tool.function.name)
}

/** The descriptions of the tools that a list of this one name holds. */
async function descriptions(who: Person, name: string): Promise<string[]> {
  const answer = await who.fetch(`${HOSTING}/workflows/tools/list?names=${name}`)
  return ((await answer.json()) as Tool[]).map((tool) => tool.function.description)
}

/** A request that comes while another is answered gets an instance of its own, which sees the write a little later. */
async function sees(who: Person, name: string, description: string): Promise<void> {
  const seen = await until(
    () => descriptions(who, name),
    (found) => found.includes(description),
  )
  expect(seen).toEqual([description])
}

function define(who: Person, name: string, description: string, query = ''): Promise<Response> {
  return who.fetch(`${HOSTING}/workflows/tools/defs/${name}${query}`, {
    method: 'PUT',
    body: JSON.stringify({ description }),
  })
}

async function reason(answer: Response): Promise<string | undefined> {
  const { error } = (await answer.json()) as { error: { details: { reason: string }[] } }
  return error.details[0]?.reason
}
