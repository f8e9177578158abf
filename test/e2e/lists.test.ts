import { aliasOf, type JsonObject, type ListedTool } from '@toolrack/contract'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { WriteAnswer } from '../../functions/src/catalog/definitions/write-answer.ts'
import type { Explanation } from '../../functions/src/catalog/views/explain-name.ts'
import { errorAnswer } from '../support/error-answer.ts'
import { Server } from '../support/server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { list, listedNames, post, put, remove, tool } from '../support/tool.ts'
import { until } from '../support/until.ts'

const folder = temporaryFolder()
const definitions = join(folder.path, 'defs')
mkdirSync(definitions)
const family = (...tools: unknown[]): void =>
  writeFileSync(join(definitions, 'own.json'), JSON.stringify({ family: 'own', tools }))
const ECHO = { runner: { kind: 'builtin', builtin: 'echo' } }
const FILE_TOOLS = [
  tool('everywhere', 'File.'),
  tool('sealed_in_file', 'File.', { sealed: true }),
  tool('a_file', 'F.', { category: 'tasks' }),
  tool('B_file', 'F.', { category: 'tasks' }),
  tool('file_echo', 'Gives the text back.', ECHO),
]
family(...FILE_TOOLS)

const LISTED = 'https://app.example'
const env = {
  TOOLRACK_DEFAULT_WORKFLOW: 'flows-Default',
  TOOLRACK_CORS_ORIGINS: `${LISTED}, https://other.example`,
}
const server = await Server.start({ definitions, env })
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

beforeAll(async () => {
  const workflow = { runner: { kind: 'workflow', workflowName: 'flows-Own' } }
  const user = [
    tool('b_user', 'U.', { tags: ['red', 'round'], category: 'shapes' }),
    tool('A_user', 'U.', workflow),
    tool('weather:get', 'W.'),
  ]
  const global = [tool('b_global', 'G.', { tags: ['round'] }), tool('_global', 'G.', { category: 'shapes' })]
  expect((await post(server, user)).status).toBe(200)
  expect((await post(server, [...global, tool('A_user', 'Shadowed.')], 'layer=global')).status).toBe(200)
})

const get = (query = '', headers: Record<string, string> = {}): Promise<Response> =>
  server.fetch(`/workflows/tools/list${query}`, { headers })
const description = async (name: string): Promise<string | undefined> =>
  (await list(server, `names=${name}`))[0]?.function.description
const explain = async (name: string, query = ''): Promise<Explanation> => {
  const path = `/workflows/tools/explain?name=${encodeURIComponent(name)}&${query}`
  return (await (await server.fetch(path)).json()) as Explanation
}

describe('a list', () => {
  test('is ordered by layer, then by code unit of the name, and has a shadowed definition once', async () => {
    const ours = 'names=b_global,_global,a_file,B_file,b_user,A_user'
    const order = ['A_user', 'b_user', '_global', 'b_global', 'B_file', 'a_file']
    expect(await listedNames(server, ours)).toEqual(order)
    const names = await listedNames(server)
    expect(names.filter((name) => order.includes(name))).toEqual(order)
    expect(new Set(names).size).toBe(names.length)
  })

  test('is a bare array of function tools with nothing else beside them', async () => {
    const answer = await get('?names=b_user')
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(await answer.text()).toBe(
      '[{"type":"function","function":{"name":"b_user","description":"U.","parameters":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}}]',
    )
  })

  test('of items has a workflowName on each: its own, else the default', async () => {
    const answer = await get('?envelope=items&names=A_user,b_user,file_echo')
    // No workflow is named that calls the service, so its own tools are left out.
    expect(answer.headers.get('x-tools-omitted')).toBe('file_echo')
    const body = (await answer.json()) as { items: JsonObject[] }
    expect(Object.keys(body)).toEqual(['items'])
    expect(body.items.map((item) => item['workflowName'])).toEqual(['flows-Own', 'flows-Default'])
    const bare = await list(server, 'names=A_user,b_user')
    expect(body.items.map(({ type, function: fn }) => ({ type, function: fn }))).toEqual(bare)
    expect(Object.keys(body.items[0] ?? {})).toEqual(['type', 'function', 'workflowName'])
    expect(await (await get('?envelope=items&names=[]')).text()).toBe('{"items":[]}')
  })

  test.each([
    ['names=b_user,A_user,b_user', ['A_user', 'b_user']],
    ['names[]=A_user&name=b_user&only=["a_file"]', ['A_user', 'b_user', 'a_file']],
    ['names=weather__get', ['weather:get']],
    ['names=[]', []],
    ['tags=red&tags=round', ['b_user', 'b_global']],
    ['category=shapes&tags=round', ['b_user']],
    ['category=shapes&names=_global,b_global', ['_global']],
    ['category=tasks', ['B_file', 'a_file']],
    ['scope=@shapes&scope=!_*', ['b_user']],
  ])('with ?%s has what fits, in both families', async (query, names) => {
    expect(await listedNames(server, query)).toEqual(names)
    const [users, jobs] = await Promise.all(
      ['workflows', 'jobs'].map(async (each) => (await server.fetch(`/${each}/tools/list?${query}`)).text()),
    )
    expect(jobs).toBe(users)
  })

  test('of a@sha256 has the current version, and leaves an older one out without calling it unknown', async () => {
    const digestOf = async (text: string): Promise<string> => {
      const answer = await put(server, 'versioned:tool', tool('versioned:tool', text))
      return ((await answer.json()) as WriteAnswer).digest
    }
    const old = await digestOf('First.')
    const current = await digestOf('Second.')
    expect(await listedNames(server, `names=versioned__tool@${current}`)).toEqual(['versioned:tool'])
    const answer = await get(`?names=versioned:tool@${old}`)
    expect(await answer.json()).toEqual([])
    expect(answer.headers.get('x-tools-unknown')).toBeNull()
  })

  test('says in X-Tools-Layers how many each layer has, before merge and filter', async () => {
    const answer = await get('?names=[]')
    const layers = await Promise.all(
      ['user', 'global', 'file'].map(async (layer) => {
        const body = await (await server.fetch(`/workflows/tools/defs?layer=${layer}`)).json()
        return `${layer}=${(body as { items: unknown[] }).items.length}`
      }),
    )
    expect(answer.headers.get('x-tools-layers')).toBe(layers.join())
    expect(layers.join()).toMatch(/^user=[1-9]\d*,global=[1-9]\d*,file=[1-9]\d*$/)
  })

  test('is the same with strict=1 while every layer can be read', async () => {
    expect(await (await get('?strict=1')).text()).toBe(await (await get('?strict=0')).text())
  })

  const EURO = encodeURIComponent('€')
  const CRLF = '%0D%0ASet-Cookie:%20stolen=1'
  test.each([
    ['a euro sign', `names=${EURO}`],
    ['a euro sign among names', `names=a_file,pri${EURO}ce`],
    ['CRLF', `names=a${CRLF},${CRLF}`],
    ['CRLF in a JSON array', `names=${encodeURIComponent(JSON.stringify(['a\r\nX-Evil: 1']))}`],
    ['20 kB', `names=${'x'.repeat(20_000)}`],
    ['a null byte', 'names=a%00b'],
    ['half a surrogate pair', `names=${encodeURIComponent(JSON.stringify(['\\ud800']))}`],
    ['bytes that are not UTF-8', 'names=%ff%fe'],
  ])('with %s in names is answered, and nothing of it is in a header', async (_what, query) => {
    const answer = await get(`?${query}`)
    expect(answer.status).toBe(200)
    const headers = [...answer.headers].map(([name, value]) => `${name}: ${value}`).join('\n')
    expect(headers).not.toMatch(/€|Set-Cookie|stolen|evil|xxxx|[^\n\x20-\x7e]/i)
    expect(answer.headers.get('x-tools-unknown')).toMatch(/^\+[12]$/)
  })

  test('may be asked for by 200 names of 128 characters', async () => {
    const long = Array.from({ length: 200 }, (_, index) => `n${index}`.padEnd(128, '_'))
    expect((await get(`?names=${long.join(',')}`)).status).toBe(200)
  })

  test('with a bad parameter is a 400 that repeats nothing of it and is not cached', async () => {
    const evil = encodeURIComponent('<script>€\r\nX: 1')
    for (const query of [
      `${evil}=1`,
      `envelope=${evil}`,
      `limit=${evil}`,
      `cursor=${evil}`,
      `names=[${evil}`,
    ]) {
      const answer = await get(`?${query}`)
      expect([answer.status, answer.headers.get('cache-control'), answer.headers.get('etag')]).toEqual([
        400,
        'private, no-store',
        null,
      ])
      expect(`${[...answer.headers].join()}${await answer.text()}`).not.toMatch(/script|€|X: 1/)
    }
    // What was refused is not kept for the next reader.
    expect((await get('?limit=0')).status).toBe(400)
    expect(await errorAnswer(await get('?limit=0'))).toEqual({
      httpStatus: 400,
      reason: 'PARAMETER_INVALID',
      message: 'The parameter limit must be a whole number from 1 to 1000.',
      details: [{ reason: 'PARAMETER_INVALID', parameter: 'limit' }],
    })
    expect((await get('?limit=1')).status).toBe(200)
  })
})

async function state() {
  const { headers } = await get()
  return { revision: headers.get('x-tools-revision'), etag: headers.get('etag') }
}

describe('the entity tag of a list', () => {
  test('gives a reader who has it 304 with no body and the same headers', async () => {
    const full = await get()
    const etag = full.headers.get('etag') ?? ''
    expect(etag).toMatch(/^"[\w-]+"$/)
    expect(full.headers.get('cache-control')).toBe('private, no-cache')
    for (const sent of [etag, `W/${etag}`, '*', `"other", ${etag}`]) {
      const answer = await get('', { 'If-None-Match': sent })
      expect([sent, answer.status, await answer.text()]).toEqual([sent, 304, ''])
      for (const name of ['etag', 'cache-control', 'x-tools-revision', 'x-tools-layers'])
        expect(answer.headers.get(name)).toBe(full.headers.get(name))
    }
    expect((await get('', { 'If-None-Match': '"other"' })).status).toBe(200)
  })

  test('is never that of another query', async () => {
    const names = ['', '?names=b_user', '?names=A_user', '?envelope=items', '?tags=red']
    const queries = [...names, '?limit=1', '?strict=1']
    const tags = await Promise.all(queries.map(async (query) => (await get(query)).headers.get('etag')))
    expect(new Set(tags).size).toBe(queries.length)
  })

  test('changes, as the revision does, with every change of the catalog and with nothing else', async () => {
    const states = [await state()]
    const changes: readonly [string, () => Promise<Response>][] = [
      ['create', () => put(server, 'changing', tool('changing'))],
      ['update', () => put(server, 'changing', tool('changing', 'Other.'))],
      ['tags only', () => put(server, 'changing', tool('changing', 'Other.', { tags: ['new'] }))],
      ['delete', () => remove(server, 'changing')],
      ['create again', () => put(server, 'changing', tool('changing', 'Other.', { tags: ['new'] }))],
    ]
    for (const [, change] of changes) {
      expect((await change()).ok).toBe(true)
      states.push(await state())
    }
    expect(new Set(states.map(({ revision }) => revision)).size).toBe(changes.length + 1)
    expect(new Set(states.map(({ etag }) => etag)).size).toBe(changes.length + 1)

    expect((await put(server, 'changing', tool('changing', 'Other.', { tags: ['new'] }))).status).toBe(200)
    expect((await put(server, 'changing', { parameters: { required: 'x' } })).status).toBe(422)
    expect((await post(server, [tool('changing', 'Skipped.')], 'onConflict=skip')).status).toBe(200)
    expect((await remove(server, 'never_was')).status).toBe(404)
    expect(await state()).toEqual(states.at(-1))
  })
})

type Page = { readonly names: readonly string[]; readonly next: string | undefined }
async function page(path: string): Promise<Page> {
  const answer = await server.fetch(path)
  expect(answer.status).toBe(200)
  const link = answer.headers.get('link')
  const next = link === null ? undefined : /^<(\/[^>]+)>; rel="next"$/.exec(link)?.[1]
  expect(next === undefined).toBe(link === null)
  const body = (await answer.json()) as ListedTool[] | { items: { name: string }[] }
  const names = Array.isArray(body)
    ? body.map((listed) => listed.function.name)
    : body.items.map(({ name }) => name)
  return { names, next }
}

/** Follows the Link headers; a walk that never ends fails. */
async function walk(
  start: string,
  between: (pages: number, last: Page) => Promise<void> = async () => undefined,
) {
  const pages = [await page(start)]
  for (let last = pages[0]; last?.next !== undefined; last = pages.at(-1)) {
    if (pages.length > 2_000) throw new Error('the pages do not end')
    await between(pages.length, last)
    pages.push(await page(last.next))
  }
  return pages.map(({ names }) => names)
}

describe('pages', () => {
  const PAGED = Array.from({ length: 120 }, (_, index) => `page_${String(index).padStart(3, '0')}`)
  beforeAll(async () => {
    const tools = PAGED.map((name) => tool(name))
    expect((await post(server, tools, 'layer=global')).status).toBe(200)
  })

  test.each([1_000, 50, 7])('of %i hold together what one list holds, in its order', async (limit) => {
    const pages = await walk(`/workflows/tools/list?limit=${limit}`)
    expect(pages.flat()).toEqual(await listedNames(server))
    expect(pages.slice(0, -1).every((names) => names.length === limit)).toBe(true)
    expect(pages.at(-1)).not.toHaveLength(0)
  })

  test('of a filtered list keep the filter, the envelope and the family, and the last has no Link', async () => {
    const { headers } = await server.fetch('/jobs/tools/list?category=tasks&envelope=items&limit=1')
    const next = /<([^>]+)>/.exec(headers.get('link') ?? '')?.[1] ?? ''
    expect(next).toMatch(/^\/jobs\/tools\/list\?category=tasks&envelope=items&limit=1&cursor=[\w-]+$/)
    expect((await get('?category=tasks&limit=2')).headers.get('link')).toBeNull()
  })

  test('of a list that changes between them have each tool that stayed once', async () => {
    const gone = new Set<string>()
    const pages = await walk('/workflows/tools/list?limit=8', async (count, last) => {
      const cursor = last.names.at(-1) ?? ''
      const ahead = PAGED.find((name) => name > cursor && !gone.has(name))
      for (const name of [cursor, ahead]) {
        if (name === undefined || !PAGED.includes(name)) continue
        expect((await remove(server, name, 'global')).status).toBe(200)
        gone.add(name)
      }
      const [global, user] = [`page_added_${count}`, `Page_added_${count}`]
      expect((await put(server, global, tool(global), { layer: 'global' })).status).toBe(201)
      expect((await put(server, user, tool(user))).status).toBe(201)
    })
    const met = pages.flat()
    expect(gone.size).toBeGreaterThan(20)
    expect(new Set(met).size).toBe(met.length)
    expect(PAGED.filter((name) => !gone.has(name) && !met.includes(name))).toEqual([])
  })

  test('of the definitions of a layer are like those of a list', async () => {
    const names = (await walk('/workflows/tools/defs?layer=global&limit=30')).flat()
    expect(names).toEqual(names.toSorted((a, b) => (a < b ? -1 : 1)))
    expect(new Set(names).size).toBe(names.length)
    const count = (await get('?names=[]')).headers.get('x-tools-layers')
    expect(count).toContain(`global=${names.length},`)
  })
})

const roles = ({ layers }: Explanation): unknown =>
  layers.map(({ layer, role, status }) => [layer, role ?? status])

const sealInGlobal = async (text: string, sealed?: boolean): Promise<number> => {
  const body = tool('sealed_in_global', text, sealed === undefined ? {} : { sealed })
  return (await put(server, 'sealed_in_global', body, { layer: 'global' })).status
}
const writeInUser = () => put(server, 'sealed_in_global', tool('sealed_in_global', 'Mine.'))

describe('the layers', () => {
  test('user shadows global shadows file; shadows and explain show it, and each delete brings the next back', async () => {
    expect(await description('everywhere')).toBe('File.')
    const inGlobal = (await (
      await put(server, 'everywhere', tool('everywhere', 'Global.'), { layer: 'global' })
    ).json()) as WriteAnswer
    expect(inGlobal.shadows).toEqual([{ layer: 'file', digest: expect.stringMatching(/^sha256:/) }])
    expect(await description('everywhere')).toBe('Global.')
    const inUser = (await (
      await put(server, 'everywhere', tool('everywhere', 'User.'))
    ).json()) as WriteAnswer
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

  test('a name that nobody defines is explained as one that nobody does', async () => {
    const explanation = await explain('nobody')
    expect(explanation).toMatchObject({ visible: false, winner: null, shadowed: [], callable: null })
    expect(explanation.hidden).toEqual({ reason: 'NOT_DEFINED', message: 'No layer defines this name.' })
    expect(roles(explanation)).toEqual([
      ['user', 'absent'],
      ['global', 'absent'],
      ['file', 'absent'],
    ])
  })

  test('a tool may be explained by its alias, and one that a scope leaves out can be called', async () => {
    await put(server, 'own:echo', tool('own:echo', 'X.', { ...ECHO, category: 'web' }))
    expect(await explain(aliasOf('own:echo'))).toMatchObject({
      name: 'own:echo',
      alias: 'own__echo',
      callable: 'service',
    })
    expect(await explain('own:echo', 'scope=all')).toMatchObject({ visible: true, hidden: null })
    expect(await explain('own:echo', 'scope=@web&scope=!own:*,*')).toMatchObject({
      visible: false,
      hidden: { reason: 'OUT_OF_SCOPE', scope: '*,!own:*' },
    })
    const call = { method: 'POST', body: JSON.stringify({ name: 'own:echo', arguments: { text: 'now' } }) }
    expect(await (await server.fetch('/workflows/tools/invoke', call)).json()).toMatchObject({
      resultType: 'success',
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
    expect(await sealInGlobal('One.', true)).toBe(201)
    const answer = await errorAnswer(await writeInUser())
    expect(answer).toMatchObject({ httpStatus: 409, reason: 'NAME_SEALED', details: [{ layer: 'global' }] })
    expect(await sealInGlobal('Two.', true)).toBe(200)
    await sealInGlobal('Open.')
    expect((await writeInUser()).status).toBe(201)
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
})

describe('a page of another origin', () => {
  /** Every way in which an answer can come about. */
  const ANSWERS = [
    ['a list', '/workflows/tools/list', 200],
    ['a list that is spelled in another way', '/workflows/tools/list/', 200],
    ['a definition that is not there', '/workflows/tools/defs/NOTHING?layer=user', 404],
    ['a query that is refused', '/workflows/tools/list?nmaes=A', 400],
    ['health', '/health', 200],
    ['nothing', '/nothing', 404],
  ] as const

  test.each(ANSWERS)(
    '%s may be read by a page of a listed origin, with what it says in headers',
    async (...answer) => {
      const [, path, status] = answer
      const res = await server.fetch(path, { headers: { Origin: LISTED } })
      expect([res.status, res.headers.get('access-control-allow-origin')]).toEqual([status, LISTED])
      expect(res.headers.get('access-control-expose-headers')).toBe(
        'ETag,Link,Retry-After,Idempotent-Replay,X-Tools-Revision,X-Tools-Layers,X-Tools-Unknown,X-Tools-Quarantined,X-Tools-Omitted,X-Tools-Unavailable,X-Tools-Left-Out,X-Tools-Scope-Unmatched,X-Tools-Changed,X-Tools-Tokens,RateLimit,RateLimit-Policy,Content-Disposition,Content-Range',
      )
      expect(res.headers.get('vary')).toBe('Origin')
    },
  )

  test.each(ANSWERS)('%s may not be read by any other page', async (...answer) => {
    const [, path, status] = answer
    for (const origin of ['https://app.example.evil', 'http://app.example', 'null']) {
      const res = await server.fetch(path, { headers: { Origin: origin } })
      expect([res.status, res.headers.get('access-control-allow-origin')]).toEqual([status, null])
    }
  })

  test('a refusal for want of a token may be read too', async () => {
    const res = await fetch(`${server.url}/workflows/tools/list`, { headers: { Origin: LISTED } })
    expect([res.status, res.headers.get('access-control-allow-origin')]).toEqual([401, LISTED])
  })

  test('a browser that asks first learns what it may send, without a token', async () => {
    const headers = { Origin: LISTED, 'Access-Control-Request-Method': 'PUT' }
    const res = await fetch(`${server.url}/workflows/tools/defs/A`, { method: 'OPTIONS', headers })
    expect([res.status, res.headers.get('access-control-allow-methods')]).toEqual([
      204,
      'GET,PUT,POST,PATCH,DELETE',
    ])
    expect(res.headers.get('access-control-allow-headers')).toBe(
      'Authorization,Content-Type,If-Match,If-None-Match,Idempotency-Key,X-Project-Id,traceparent,Last-Event-ID,Range,If-Range,X-Name',
    )
  })
})
