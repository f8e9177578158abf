import { expect, test } from '@jest/globals'
import { readFileSync } from 'node:fs'
import {
  describeWithEmulators,
  functionUrl,
  HOSTING,
  newName,
  newUser,
  type Person,
} from '../../support/emulators.ts'
import { until } from '../../support/until.ts'

const ALLOWED = 'http://localhost:3000'
const LIST = `${HOSTING}/workflows/tools/list`

describeWithEmulators('what Hosting does to answers', () => {
  test('a preflight as a browser sends it is answered for an origin on the list', async () => {
    const answer = await preflight(ALLOWED)
    expect(answer.status).toBe(204)
    expect(answer.headers.get('access-control-allow-origin')).toBe(ALLOWED)
    expect(answer.headers.get('access-control-allow-methods')?.split(',')).toEqual([
      'GET',
      'PUT',
      'POST',
      'PATCH',
      'DELETE',
    ])
    expect(answer.headers.get('access-control-allow-headers')).toMatch(/(^|,)Authorization(,|$)/)
    expect(answer.headers.get('vary')).toMatch(/\bOrigin\b/)
  })

  test('a preflight and a request of any other origin get no permission', async () => {
    const ann = await newUser()
    const answers = [
      await preflight('https://evil.example'),
      await ann.fetch(LIST, { headers: { Origin: 'https://evil.example' } }),
    ]
    for (const answer of answers) expect(answer.headers.get('access-control-allow-origin')).toBeNull()
  })

  test('a listed origin may read the headers of a list', async () => {
    const ann = await newUser()
    const answer = await wholeList(ann, { Origin: ALLOWED })
    expect(answer.headers.get('access-control-allow-origin')).toBe(ALLOWED)
    const exposed = answer.headers.get('access-control-expose-headers')?.split(',')
    expect(exposed).toEqual(expect.arrayContaining(['ETag', 'Link', 'X-Tools-Revision', 'X-Tools-Layers']))
  })

  test('answers may be kept by their caller only, errors and missing paths by nobody', async () => {
    const ann = await newUser()
    expect(await caching(ann.fetch(LIST))).toBe('private, no-cache')
    expect(await caching(fetch(LIST))).toBe('private, no-store')
    expect(await caching(ann.fetch(`${HOSTING}/workflows/nothing`))).toBe('private, no-store')
    expect(await caching(ann.fetch(`${HOSTING}/api/nothing`))).toBe('private, no-store')
    expect(await caching(ann.fetch(`${LIST}?limit=none`))).toBe('private, no-store')
    expect(await caching(fetch(`${HOSTING}/health`))).toBe('private, no-cache')
  })

  test('a list that has not changed is a 304 without a body, also for a tag that a proxy has weakened', async () => {
    const ann = await newUser()
    const etag = (await wholeList(ann)).headers.get('etag') ?? ''
    expect(etag).toMatch(/^"[\w-]{27}"$/)
    for (const tag of [etag, `W/${etag}`]) {
      const again = await wholeList(ann, { 'If-None-Match': tag })
      expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', etag])
    }
    const anonymous = await fetch(LIST, { headers: { 'If-None-Match': etag } })
    expect(anonymous.status).toBe(401)
  })

  test('names[] arrive percent-encoded, as many as there may be', async () => {
    const ann = await newUser()
    const asked = ['READ_FILE', 'RUN_COMMAND', ...Array.from({ length: 30 }, newName)]
    const search = new URLSearchParams(asked.map((name): [string, string] => ['names[]', name]))
    expect(search.toString()).toContain('names%5B%5D=READ_FILE')
    const answer = await ann.fetch(`${LIST}?${search.toString()}`)
    const tools = (await answer.json()) as { function: { name: string } }[]
    expect(tools.map((tool) => tool.function.name)).toEqual(['READ_FILE', 'RUN_COMMAND'])
    expect(answer.headers.get('x-tools-unknown')).toMatch(/,\+10$/)
  })

  test('a list in a dialect comes through with the name of what it leaves out', async () => {
    const ann = await newUser()
    const unsayable = {
      description: 'U.',
      parameters: { type: 'object', properties: { a: {} }, anyOf: [{ required: ['a'] }] },
    }
    const put = {
      method: 'PUT',
      body: JSON.stringify(unsayable),
      headers: { 'Content-Type': 'application/json' },
    }
    expect((await ann.fetch(`${HOSTING}/workflows/tools/defs/unsayable`, put)).status).toBe(201)
    // Another instance sees the write a moment later.
    const answer = await until(
      () =>
        ann.fetch(`${LIST}?dialect=anthropic&names=unsayable,READ_FILE`, { headers: { Origin: ALLOWED } }),
      ({ headers }) => headers.get('x-tools-quarantined') !== null,
    )
    expect(answer.headers.get('x-tools-quarantined')).toBe('unsayable')
    expect(answer.headers.get('access-control-expose-headers')).toContain('X-Tools-Quarantined')
    expect(await answer.json()).toEqual([
      expect.objectContaining({ name: 'READ_FILE', input_schema: expect.anything() }),
    ])
  })

  test('the front page is the page of the function, for a browser and for curl', async () => {
    const page = await fetch(`${HOSTING}/`, { headers: { Accept: 'text/html,*/*;q=0.8' } })
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(await page.text()).toContain('<strong>It works.</strong>')
    for (const url of [`${HOSTING}/`, `${functionUrl('workflows')}/`, functionUrl('jobs')]) {
      const text = await fetch(url, { headers: { Accept: '*/*' } })
      expect([url, text.headers.get('content-type')]).toEqual([url, 'text/plain; charset=utf-8'])
      expect(await text.text()).toMatch(/^Toolrack \d+\.\d+\.\d+\n[^]*\nIt works\.\n/)
    }
  })

  test('every answer carries the security headers of firebase.json', async () => {
    const { hosting } = JSON.parse(
      readFileSync(new URL('../../../firebase.json', import.meta.url), 'utf8'),
    ) as {
      hosting: { headers: { headers: { key: string; value: string }[] }[] }
    }
    const wanted = hosting.headers.flatMap(({ headers }) => headers)
    expect(wanted.map(({ key }) => key)).toContain('Content-Security-Policy')
    for (const path of ['/workflows/tools/list', '/health', '/', '/nothing', '/robots.txt']) {
      const { headers } = await fetch(HOSTING + path)
      for (const { key, value } of wanted) expect([path, key, headers.get(key)]).toEqual([path, key, value])
    }
  })
})

/** A list with all layers. On a busy machine an instance can be late with a read, and then a list is marked. */
function wholeList(person: Person, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  return until(
    () => person.fetch(LIST, { headers }),
    (answer) => /^user=0,global=\d+,file=\d+$/.test(answer.headers.get('x-tools-layers') ?? ''),
  )
}

async function caching(answer: Promise<Response>): Promise<string | null> {
  return (await answer).headers.get('cache-control')
}

function preflight(origin: string): Promise<Response> {
  return fetch(`${HOSTING}/workflows/tools/defs/A`, {
    method: 'OPTIONS',
    headers: {
      Origin: origin,
      'Access-Control-Request-Method': 'PUT',
      'Access-Control-Request-Headers': 'authorization,content-type',
    },
  })
}
