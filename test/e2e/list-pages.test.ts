import type { ListedTool } from '@toolrack/contract'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { bfclDefinitions, inBulks } from '../support/bfcl-definitions.ts'
import { Server } from '../support/server.ts'
import { listedNames, post, put, remove, tool } from '../support/tool.ts'

const server = await Server.start()
afterAll(() => server[Symbol.asyncDispose]())

const REAL = bfclDefinitions('definitions').map((definition) => definition.function.name)
beforeAll(async () => {
  for (const bulk of inBulks(bfclDefinitions('definitions')))
    expect((await post(server, bulk, 'layer=global')).status).toBe(200)
})

type Page = { readonly names: readonly string[]; readonly next: string | undefined }
async function page(path: string): Promise<Page> {
  const answer = await server.fetch(path)
  expect(answer.status).toBe(200)
  const link = answer.headers.get('link')
  const next = link === null ? undefined : /^<(\/[^>]+)>; rel="next"$/.exec(link)?.[1]
  expect(next === undefined).toBe(link === null)
  const names = ((await answer.json()) as ListedTool[]).map((listed) => listed.function.name)
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

test.each([1_000, 250, 100, 7])(
  'pages of %i hold together what one list holds, in its order',
  async (limit) => {
    const pages = await walk(`/workflows/tools/list?limit=${limit}`)
    expect(pages.flat()).toEqual(await listedNames(server))
    expect(pages.slice(0, -1).every((names) => names.length === limit)).toBe(true)
    expect(pages.at(-1)).not.toHaveLength(0)
  },
)

test('the pages of a filtered list keep the filter, the envelope and the family', async () => {
  const { headers } = await server.fetch('/jobs/tools/list?category=tasks&envelope=items&limit=1')
  const next = /<([^>]+)>/.exec(headers.get('link') ?? '')?.[1] ?? ''
  expect(next).toMatch(/^\/jobs\/tools\/list\?category=tasks&envelope=items&limit=1&cursor=[\w-]+$/)
})

test('the last page has no Link, also when it is full', async () => {
  const names = await listedNames(server, 'category=tasks')
  const answer = await server.fetch(`/workflows/tools/list?category=tasks&limit=${names.length}`)
  expect(answer.headers.get('link')).toBeNull()
})

test('a walk over 753 definitions, with others added and removed between its pages, meets each that stayed once', async () => {
  const gone = new Set<string>()
  const pages = await walk('/workflows/tools/list?limit=40', async (count, last) => {
    const cursor = last.names.at(-1) ?? ''
    const ahead = REAL.find((name) => name > cursor && !gone.has(name))
    for (const name of [cursor, ahead]) {
      if (name === undefined || !REAL.includes(name)) continue
      expect((await remove(server, name, 'global')).status).toBe(200)
      gone.add(name)
    }
    expect((await put(server, `added_${count}`, tool(`added_${count}`), { layer: 'global' })).status).toBe(
      201,
    )
    expect((await put(server, `Z_added_${count}`, tool(`Z_added_${count}`))).status).toBe(201)
  })
  const met = pages.flat()
  expect(gone.size).toBeGreaterThan(20)
  expect(new Set(met).size).toBe(met.length)
  const stayed = REAL.filter((name) => !gone.has(name))
  expect(stayed.filter((name) => !met.includes(name))).toEqual([])
})

test('a cursor stays good after its definition, and everything before it, is gone', async () => {
  const first = await page('/workflows/tools/list?limit=1')
  expect((await remove(server, first.names[0] ?? '')).status).toBe(200)
  const second = await page(first.next ?? '')
  expect(second.names).toEqual((await listedNames(server)).slice(0, 1))
})

test('definitions of a layer are paged the same way', async () => {
  const names: string[] = []
  let path = '/workflows/tools/defs?layer=global&limit=100'
  for (let pages = 0; path !== '' && pages < 20; pages += 1) {
    const answer = await server.fetch(path)
    const body = (await answer.json()) as { items: { name: string }[] }
    names.push(...body.items.map(({ name }) => name))
    path = /<([^>]+)>/.exec(answer.headers.get('link') ?? '')?.[1] ?? ''
  }
  expect(names).toEqual(names.toSorted((a, b) => (a < b ? -1 : 1)))
  expect(new Set(names).size).toBe(names.length)
  const count = (await server.fetch('/workflows/tools/list?names=[]')).headers.get('x-tools-layers')
  expect(count).toContain(`global=${names.length},`)
})
